package server

import (
	"strata/history"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
)

// prompt starts a turn and responds when it has ended and the client has received its events.
func prompt(p *peer, r *rpc.Request, params wire.PromptParams, blocks []history.Block) {
	declared, err := params.Meta.Strata.Declaration()
	if err != nil {
		r.Fail(err)
		return
	}
	p.withSession(r, params.SessionID, func(s *session.Session) {
		sub, err := p.subscribe(s)
		if err != nil {
			r.Fail(err)
			return
		}
		ended := func(result session.PromptResult, seq uint64, err error) {
			if err != nil {
				r.FailAfter(wire.SessionError(s.ID(), err), sub, seq)
				return
			}
			r.ReplyAfter(wire.NewPromptResult(result), sub, seq)
		}
		asked := session.Prompt{
			ID: params.PromptID(), Blocks: blocks, Meta: params.Attached(), Client: sub, Offer: p.offer(s, declared),
		}
		r.OnCancel(s.Prompt(asked, sub.cursor.Load(), ended))
	})
}

// cancelTurn cancels the running turn. A session that is not in memory has none.
func cancelTurn(p *peer, r *rpc.Request, params wire.CancelParams) {
	if s, ok := p.sessions.get(params.SessionID); ok {
		s.Cancel(params.Meta.Strata.TurnID)
	}
	r.Reply(struct{}{})
}

func cancelRequest(p *peer, r *rpc.Request, params wire.CancelRequestParams) {
	p.conn.Cancel(params.RequestID)
	r.Reply(struct{}{})
}

func setConfigOption(p *peer, r *rpc.Request, params wire.SetConfigParams) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Configure(params.ConfigID, params.Value, p.cursor(s), responder(r, s, func(c session.Configured) any {
			return wire.NewConfigured(c, p.Models.Catalogue())
		}))
	})
}

// setMode selects a phase of the profile.
func setMode(p *peer, r *rpc.Request, params wire.ModeParams) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.SetMode(params.ModeID, p.cursor(s), responder(r, s, wire.NewModeSet))
	})
}
