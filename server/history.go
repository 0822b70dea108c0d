package server

import (
	"context"

	"strata/history"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
)

func listHistory(p *peer, r *rpc.Request, params wire.HistoryParams) {
	before, size, err := params.SeqPage()
	if err != nil {
		r.Fail(err)
		return
	}
	p.withSession(r, params.SessionID, func(s *session.Session) { s.List(before, size, responder(r, s, wire.NewHistoryPage)) })
}

func searchHistory(p *peer, r *rpc.Request, params wire.SearchParams) {
	query, err := params.SearchQuery()
	if err != nil {
		r.Fail(err)
		return
	}
	r.Go(func(ctx context.Context) (any, error) {
		hits, next, err := p.store.Search(ctx, query)
		if err != nil {
			return nil, err
		}
		return wire.NewSearchPage(hits, next), nil
	})
}

func appendHistory(p *peer, r *rpc.Request, params wire.AppendParams) {
	messages, err := params.History()
	if err != nil {
		r.Fail(err)
		return
	}
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Append(messages, p.cursor(s), responder(r, s, under[[]string]("messageIds")))
	})
}

// replaceHistory makes the given messages the whole working history.
func replaceHistory(p *peer, r *rpc.Request, params wire.AppendParams) {
	messages, err := params.History()
	if err != nil {
		r.Fail(err)
		return
	}
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Replace(messages, p.cursor(s), responder(r, s, wire.NewReplaced))
	})
}

// compactHistory compacts now. Cancelling the request cancels the compaction.
func compactHistory(p *peer, r *rpc.Request, params wire.CompactParams) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		request := session.CompactRequest{Strategy: params.Strategy, Keep: params.Keep}
		r.OnCancel(s.Compact(request, responder[session.Compacted](r, s, nil)))
	})
}

func listEdits(p *peer, r *rpc.Request, params wire.HistoryParams) {
	before, size, err := params.SeqPage()
	if err != nil {
		r.Fail(err)
		return
	}
	p.withSession(r, params.SessionID, func(s *session.Session) {
		respond := responder[wire.EditPage](r, s, nil)
		s.Edits(before, size, func(edits []session.EditInfo, older int64, err error) {
			respond(wire.EditPage{Edits: edits, NextCursor: wire.SeqCursor(older)}, err)
		})
	})
}

func createCheckpoint(s *session.Session, params wire.CheckpointParams, reply func(history.Checkpoint, error)) {
	s.CreateCheckpoint(params.Name, reply)
}

func deleteCheckpoint(s *session.Session, params wire.CheckpointParams, reply func(bool, error)) {
	s.DeleteCheckpoint(params.CheckpointID, reply)
}

func restoreCheckpoint(s *session.Session, params wire.RestoreParams, reply func(session.Restored, error)) {
	s.Restore(params.Request(), reply)
}
