package server

import (
	"context"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/compacting"
	"strata/session/finding"
	"strata/session/restoring"
)

func listHistory(p *peer, r *rpc.Request, params wire.HistoryParams, page wire.SeqPage) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.List(page.Before, page.Size, responder(r, s, wire.NewHistoryPage))
	})
}

func searchHistory(p *peer, r *rpc.Request, params wire.SearchParams, query historystore.SearchQuery) {
	r.Go(func(ctx context.Context) (any, error) {
		var err error
		if query.Folders, err = p.sessionFolders(ctx, params.FolderScope); err != nil {
			return nil, err
		}
		found, err := p.store.Search(ctx, query)
		if err != nil {
			return nil, err
		}
		return wire.NewSearchPage(found), nil
	})
}

func searchSessions(p *peer, r *rpc.Request, params wire.SessionSearchParams, query historystore.SessionSearch) {
	r.Go(func(ctx context.Context) (any, error) {
		var err error
		if query.Folders, err = p.sessionFolders(ctx, params.FolderScope); err != nil {
			return nil, err
		}
		found, err := historystore.NewFinder(p.store).Sessions(ctx, query)
		return wire.NewFoundSessions(found), err
	})
}

// findInHistory finds a text in the stored messages of a session.
func findInHistory(p *peer, r *rpc.Request, params wire.PhraseParams, query historystore.PhraseQuery) {
	r.Go(func(ctx context.Context) (any, error) {
		places, next, err := historystore.NewFinder(p.store).Text(ctx, query)
		return wire.NewFindPage(places, next), wire.SessionError(params.SessionID, err)
	})
}

func appendHistory(p *peer, r *rpc.Request, params wire.AppendParams, messages []history.Message) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Append(messages, p.cursor(s), responder(r, s, under[[]string]("messageIds")))
	})
}

// replaceHistory makes the given messages the whole working history.
func replaceHistory(p *peer, r *rpc.Request, params wire.ReplaceParams, messages []history.Message) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Replace(messages, p.cursor(s), responder(r, s, wire.NewReplaced))
	})
}

// compactHistory compacts now. Cancelling the request cancels the compaction.
func compactHistory(p *peer, r *rpc.Request, params wire.CompactParams) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		request := compacting.Request{Strategy: params.Strategy, Keep: params.Keep}
		r.OnCancel(s.Compact(request, responder[compacting.Result](r, s, nil)))
	})
}

// arrange keeps, releases or takes out a message.
func arrange(p *peer, r *rpc.Request, params wire.ArrangeParams, action finding.Action) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Finding().Arrange(params.MessageID, action, responder[finding.Arranged](r, s, nil))
	})
}

func listEdits(p *peer, r *rpc.Request, params wire.HistoryParams, page wire.SeqPage) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		respond := responder[wire.EditPage](r, s, nil)
		s.Edits(page.Before, page.Size, func(edits []session.EditInfo, older int64, err error) {
			respond(wire.EditPage{Edits: edits, NextCursor: wire.SeqCursor(older)}, err)
		})
	})
}

func createCheckpoint(s *session.Session, params wire.NewCheckpointParams, reply func(history.Checkpoint, error)) {
	s.CreateCheckpoint(params.Name, reply)
}

func deleteCheckpoint(s *session.Session, params wire.CheckpointParams, reply func(bool, error)) {
	s.DeleteCheckpoint(params.CheckpointID, reply)
}

func restoreCheckpoint(s *session.Session, params wire.RestoreParams, reply func(session.Restored, error)) {
	s.Restore(params.Request(), reply)
}

func undoEdit(s *session.Session, params wire.UndoParams, reply func(session.Restored, error)) {
	s.UndoEdit(params.Seq, reply)
}

// turnChanges lists the changes of files by tools, of one turn or of the newest turns.
func turnChanges(p *peer, r *rpc.Request, params wire.ChangesParams, page wire.SeqPage) {
	r.Go(func(ctx context.Context) (any, error) {
		store := p.store.FileChangeStore()
		var changes restoring.Page
		var err error
		if params.TurnID != "" {
			changes, err = restoring.Changes(ctx, store, params.SessionID, params.TurnID)
		} else {
			changes, err = restoring.Latest(ctx, store, params.SessionID, page.Before, page.Size)
		}
		if err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		return wire.NewChangesPage(changes), nil
	})
}

func revertChanges(s *session.Session, params wire.RevertParams, reply func(*restoring.Done, error)) {
	s.Revert(params.Request(), reply)
}
