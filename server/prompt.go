package server

import (
	"strata/history"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/commands"
	"strata/session/toolbox"
)

// prompt starts a turn and responds when it has ended and the client has received its events.
func prompt(p *peer, r *rpc.Request, params wire.PromptParams, blocks []history.Block) {
	declared, err := params.Meta.Strata.Declaration()
	if err != nil {
		r.Fail(err)
		return
	}
	asked := session.Prompt{ID: params.PromptID(), Blocks: blocks, Meta: params.Attached()}
	if call, ok := commands.Parse(blocks); ok {
		p.command(r, params.SessionID, asked, declared, call)
		return
	}
	p.withSession(r, params.SessionID, func(s *session.Session) {
		sub, err := p.subscribe(s)
		if err != nil {
			r.Fail(err)
			return
		}
		r.OnCancel(p.turn(r, sub, asked, declared))
		sub.commands.Update(false)
	})
}

// turn starts the turn of a prompt, or joins it. Its end is the response. cancel cancels it.
func (p *peer) turn(r *rpc.Request, sub *subscription, asked session.Prompt, declared *toolbox.Declaration) (cancel func()) {
	s := sub.session
	asked.Client, asked.Offer = sub, p.offer(s, declared)
	defer p.warn(s) // when the prompt has subscribed its client
	return s.Prompt(asked, sub.cursor.Load(), func(result session.PromptResult, seq uint64, err error) {
		if err != nil {
			r.FailAfter(wire.SessionError(s.ID(), err), sub, seq)
			return
		}
		r.ReplyAfter(wire.NewPromptResult(result), sub, seq)
	})
}

// cancelTurn cancels the running turn, and the commands of this connection. A session that is not in memory has none.
func cancelTurn(p *peer, r *rpc.Request, params wire.CancelParams) {
	if params.Meta.Strata.TurnID == "" {
		p.runs.Cancel(params.SessionID)
	}
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
