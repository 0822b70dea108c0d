package server

import (
	"context"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/assembly"
	"strata/session/cachetime"
	"strata/session/finding"
	"strata/session/prompts"
)

// draft measures a prompt that is not sent.
func draft(p *peer, r *rpc.Request, params wire.DraftParams, blocks []history.Block) {
	ctx := p.drafts.Next(r.Context())
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Drafts().Measure(ctx, blocks, params.Request, responder[prompts.Draft](r, s, nil))
	})
}

// locate finds something in the next request, and the first call that contained it so.
func locate(p *peer, r *rpc.Request, params wire.LocateParams, subject finding.Subject) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Finding().Find(subject, func(found finding.Found, err error) {
			if err != nil {
				r.Fail(wire.SessionError(s.ID(), err))
				return
			}
			r.Go(func(ctx context.Context) (any, error) {
				return wire.NewLocated(ctx, historystore.NewCallLog(p.store), s.ID(), found)
			})
		})
	})
}

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

// cacheTime reports how long the provider's cache keeps the prefix of the next request, and the cost of that request.
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
