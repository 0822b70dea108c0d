package server

import (
	"context"

	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/permissions"
)

func listRules(s *session.Session, _ wire.SessionParams, reply func([]permissions.Listed, error)) {
	s.Permissions().List(reply)
}

func revokeRule(s *session.Session, params wire.RuleParams, reply func(struct{}, error)) {
	s.Permissions().Revoke(params.Rule, reply)
}

// keepRule copies a rule of a session to the user's configuration, where it counts for all sessions.
func keepRule(p *peer, r *rpc.Request, params wire.RuleParams) {
	r.Go(func(ctx context.Context) (any, error) {
		s, release, err := p.open(params.SessionID)
		if err != nil {
			return nil, err
		}
		defer release()
		rule, err := wait(ctx, func(reply func(permissions.Rule, error)) { s.Permissions().Find(params.Rule, reply) })
		if err == nil {
			err = p.Sessions.Tools.Rules.Keep(ctx, rule)
		}
		if err != nil {
			return nil, wire.SessionError(s.ID(), err)
		}
		for _, loaded := range p.sessions.all() {
			loaded.Permissions().ConfigurationChanged()
		}
		return struct{}{}, nil
	})
}
