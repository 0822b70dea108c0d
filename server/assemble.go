package server

import (
	"context"

	"strata/history"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/assembly"
	"strata/session/cachetime"
)

// assemble builds a request for a client that calls a model itself.
func assemble(p *peer, r *rpc.Request, params wire.AssembleParams, tools []session.Tool) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		respond := responder[assembly.Assembled](r, s, nil)
		if params.Preview {
			s.Preview(tools, respond)
			return
		}
		s.Assemble(tools, respond)
	})
}

// commitCall stores the outcome of a client's own call.
func commitCall(p *peer, r *rpc.Request, params wire.CommitParams, request session.CommitRequest) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Commit(request, p.cursor(s), responder[session.Committed](r, s, nil))
	})
}

// countTokens counts the tokens of a text, of messages, or of both.
func countTokens(p *peer, r *rpc.Request, params wire.CountParams, messages []history.Message) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Accounts().Count(params.Text, messages, responder(r, s, under[int]("tokens")))
	})
}

func report(s *session.Session, params wire.ReportParams, reply func(assembly.Report, error)) {
	s.Accounts().Report(params.Columns, reply)
}

// cacheTime tells how long the provider's cache keeps what the next request reads, and what that costs.
func cacheTime(p *peer, r *rpc.Request, params wire.SessionParams) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Accounts().Cache(func(ctx context.Context) ([]history.Call, error) {
			calls, _, err := p.store.NewestCalls(ctx, params.SessionID, "", cachetime.MaxCalls)
			return calls, err
		}, responder[cachetime.Outlook](r, s, nil))
	})
}

func budget(s *session.Session, reply func(assembly.Budget, error)) { s.Accounts().Budget(reply) }

func breakdown(s *session.Session, reply func(assembly.Breakdown, error)) {
	s.Accounts().Breakdown(reply)
}
