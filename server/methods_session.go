package server

import (
	"context"
	"time"

	"strata/history"
	"strata/rpc"
	"strata/session"
)

type attachParams struct {
	sessionParams
	Epoch string `json:"epoch"`
	After uint64 `json:"after"`
}

type attachResult struct {
	Epoch    string        `json:"epoch"`
	Seq      uint64        `json:"seq"`
	Running  *string       `json:"running"`
	Complete bool          `json:"complete"`
	Snapshot *wireSnapshot `json:"snapshot,omitempty"`
}

// wireSnapshot is the present state of a session. Older messages are had from _strata/history/list with
// the cursor; what of a long running text is missing follows as updates.
type wireSnapshot struct {
	Session    sessionInfo    `json:"session"`
	Config     history.Config `json:"config"`
	Totals     history.Totals `json:"totals"`
	Messages   []wireMessage  `json:"messages"`
	Summary    *wireSummary   `json:"summary,omitempty"`
	NextCursor string         `json:"nextCursor,omitempty"`
	Running    any            `json:"running,omitempty"`
	Unsaved    bool           `json:"unsaved,omitempty"`
	Notices    []string       `json:"notices,omitempty"`
}

func attach(p *peer, r *rpc.Request, params attachParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		f, err := p.feed(s)
		if err != nil {
			r.Fail(err)
			return
		}
		since := session.Since{Epoch: params.Epoch, After: params.After}
		s.Attach(f.cursor.Load(), since, answer(r, s.ID(), func(a session.Attached) any { return wireAttached(a) }))
	})
}

func wireAttached(a session.Attached) attachResult {
	result := attachResult{Epoch: a.Epoch, Seq: a.Seq, Complete: a.Complete}
	if a.Running != "" {
		result.Running = &a.Running
	}
	if snap := a.Snapshot; snap != nil {
		result.Snapshot = &wireSnapshot{
			Session: wireSession(snap.Session), Config: snap.Config, Totals: snap.Totals, Messages: wireMessages(snap.Messages, snap.Fates),
			Summary: summaryInView(snap.Summary), NextCursor: seqCursor(snap.Older), Unsaved: snap.Unsaved, Notices: snap.Notices,
		}
		if snap.Running != nil {
			result.Snapshot.Running = snap.Running
		}
	}
	return result
}

type detachParams struct {
	sessionParams
	Unsubscribe bool `json:"unsubscribe"` // from session/update as well
}

func detach(p *peer, r *rpc.Request, params detachParams) {
	s, ok := p.server.sessions.loaded(params.SessionID)
	if !ok {
		r.Reply(struct{}{})
		return
	}
	cursor := p.subscribed(s)
	if cursor == nil {
		r.Reply(struct{}{})
		return
	}
	if params.Unsubscribe {
		p.unsubscribe(s)
		r.Reply(struct{}{})
		return
	}
	s.Detach(cursor, func(err error) {
		if err != nil {
			r.Fail(sessionError(s.ID(), err))
			return
		}
		r.Reply(struct{}{})
	})
}

// wireDetails is the answer to _strata/session/info.
type wireDetails struct {
	Session   sessionInfo    `json:"session"`
	CreatedAt time.Time      `json:"createdAt"`
	DeletedAt time.Time      `json:"deletedAt,omitzero"`
	State     string         `json:"state"` // loading, idle, running, compacting, closed, deleted
	Running   string         `json:"running,omitempty"`
	Unsaved   bool           `json:"unsaved,omitempty"`
	Config    history.Config `json:"config"`
	Window    int            `json:"window"` // tokens
	Epoch     string         `json:"epoch"`
	Seq       uint64         `json:"seq"`
	Messages  int            `json:"messages"`
	InView    int            `json:"inView"`
	Tokens    int            `json:"historyTokens"`
	Files     int            `json:"files"`
	Totals    history.Totals `json:"totals"`
	Notices   []string       `json:"notices,omitempty"`
}

func sessionDetails(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) { s.Info(answer(r, s.ID(), wireInfo)) })
}

func wireInfo(i session.Info) any {
	return wireDetails{
		Session: wireSession(i.Session), CreatedAt: i.Session.CreatedAt.UTC(), DeletedAt: i.Session.DeletedAt,
		State: string(i.State), Running: i.Running, Unsaved: i.Unsaved, Config: i.Config, Window: i.Model.Window,
		Epoch: i.Epoch, Seq: i.Seq, Messages: i.Messages, InView: i.InView, Tokens: i.Tokens, Files: i.Files,
		Totals: i.Totals, Notices: i.Notices,
	}
}

type renameParams struct {
	sessionParams
	Title string `json:"title"`
}

func rename(p *peer, r *rpc.Request, params renameParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Rename(params.Title, answer(r, s.ID(), func(i session.Info) any {
			p.server.monitors.renamed(i.Session)
			return wireSession(i.Session)
		}))
	})
}

func undelete(p *peer, r *rpc.Request, params sessionParams) {
	r.Go(func(ctx context.Context) (any, error) {
		if err := p.server.store.Undelete(ctx, params.SessionID); err != nil {
			return nil, sessionError(clip(params.SessionID), err)
		}
		record, err := p.server.store.Session(ctx, params.SessionID)
		if err != nil {
			return nil, sessionError(clip(params.SessionID), err)
		}
		p.server.monitors.created(record)
		return wireSession(record), nil
	})
}
