package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"strata/history"
	"strata/rpc"
	"strata/session"
)

type forkParams struct {
	sessionParams
	At forkPlace `json:"at"`
}

// forkPlace is the id of a checkpoint or a sequence number; the zero value is neither.
type forkPlace session.ForkRequest

// UnmarshalJSON takes a string for a checkpoint and a whole number for a sequence number.
func (f *forkPlace) UnmarshalJSON(raw []byte) error {
	switch {
	case bytes.Equal(raw, []byte("null")):
		return nil
	case raw[0] == '"':
		return json.Unmarshal(raw, &f.Checkpoint)
	}
	if err := json.Unmarshal(raw, &f.Seq); err != nil {
		return &json.UnmarshalTypeError{Field: "at", Value: "value that is no id and no whole number"}
	}
	return nil
}

type forkResult struct {
	newSessionResult
	Seq int64 `json:"seq"` // of the state that was forked
}

// forkSession is ACP's: the newest state, in the folder that the client names.
func forkSession(p *peer, r *rpc.Request, params openSessionParams) {
	p.fork(r, params.SessionID, session.ForkRequest{}, func(stored history.Session) (history.Session, error) {
		record, err := p.server.folders(params.folderParams)
		switch {
		case err != nil:
			return record, err
		case filepath.Clean(stored.CWD) != record.CWD:
			return record, invalidParams("cwd: the session belongs to %s", stored.CWD)
		case len(record.Roots) == 0:
			record.Roots = stored.Roots
		}
		return record, nil
	}, func(s *session.Session, i session.Info, _ int64) any {
		p.mcpNotice(s, params.MCPServers)
		return p.opened(s, i)
	})
}

// forkAt forks any state, in the session's folders.
func forkAt(p *peer, r *rpc.Request, params forkParams) {
	p.fork(r, params.SessionID, session.ForkRequest(params.At), func(stored history.Session) (history.Session, error) {
		return p.server.folders(folderParams{CWD: &stored.CWD, Further: stored.Roots})
	}, func(s *session.Session, i session.Info, seq int64) any {
		return forkResult{newSessionResult: p.opened(s, i), Seq: seq}
	})
}

// fork makes a session of a state of another one and subscribes the connection to it. folders returns the
// fork's folders, checked, and result the answer.
func (p *peer) fork(
	r *rpc.Request, id string, at session.ForkRequest, folders func(stored history.Session) (history.Session, error),
	result func(fork *session.Session, i session.Info, seq int64) any,
) {
	r.Go(func(ctx context.Context) (any, error) {
		source, err := p.server.sessions.open(id)
		if err != nil {
			return nil, err
		}
		state, err := wait(ctx, func(reply func(session.Fork, error)) { source.Fork(at, reply) })
		if err != nil {
			return nil, sessionError(id, err)
		}
		checked, err := folders(state.Session)
		if err != nil {
			return nil, err
		}
		state.Session.CWD, state.Session.Roots = checked.CWD, checked.Roots
		record, err := p.server.imports.fork(ctx, state)
		if err != nil {
			return nil, fmt.Errorf("fork session %s: %w", id, err)
		}
		s, err := p.server.sessions.open(record.ID)
		if err != nil {
			return nil, err
		}
		f, err := p.feed(s)
		if err != nil {
			return nil, err
		}
		s.Subscribe(f.cursor.Load(), answer(r, s.ID(), func(i session.Info) any {
			p.server.monitors.created(record)
			return result(s, i, state.Seq)
		}))
		return rpc.Later, nil
	})
}

// fork stores a session that starts with a state of another one, and returns its record. Until it is complete it is
// hidden, as an import is; one that fails is dropped.
func (in *imports) fork(ctx context.Context, state session.Fork) (history.Session, error) {
	record, source := state.Session, state.Session.ID
	record.ID = in.server.sessions.deps.NewID("sess_")
	record.CreatedAt = in.server.now()
	record.UpdatedAt, record.DeletedAt = record.CreatedAt, time.Time{}
	record.Hidden, record.Messages = true, 0
	if err := in.open(record.ID); err != nil {
		return record, err
	}
	defer in.close(record.ID)
	err := in.copy(ctx, source, record, state.Loaded)
	if err == nil {
		err = in.server.store.ImportShow(ctx, record.ID)
	}
	if err != nil {
		in.drop(context.WithoutCancel(ctx), record.ID)
		return record, err
	}
	return in.server.store.Session(ctx, record.ID)
}

// copy stores a hidden session and what it starts with, 500 messages or edits in one transaction at most.
func (in *imports) copy(ctx context.Context, source string, record history.Session, l history.Loaded) error {
	own := func(id string) string { return ownID(record.ID, id) }
	first := history.Change{Session: record.ID, Create: &record, PutFiles: l.Files, PutDocuments: l.Documents}
	for _, c := range l.Checkpoints {
		c.ID = own(c.ID)
		first.PutCheckpoints = append(first.PutCheckpoints, c)
	}
	if err := in.server.store.Commit(ctx, first); err != nil {
		return err
	}
	for edits := range slices.Chunk(l.Edits, transferLines) {
		ch := history.Change{Session: record.ID}
		for _, e := range edits {
			ch.Edits = append(ch.Edits, e.WithIDs(own))
		}
		if err := in.server.store.Commit(ctx, ch); err != nil {
			return err
		}
	}
	for rest := l.Heads; len(rest) > 0; {
		var seqs []int64
		seqs, rest = transferPage(rest)
		if err := in.copyMessages(ctx, source, record.ID, seqs); err != nil {
			return err
		}
	}
	return nil
}

func (in *imports) copyMessages(ctx context.Context, source, to string, seqs []int64) error {
	messages, err := in.server.store.Messages(ctx, source, seqs)
	if err != nil {
		return err
	}
	ch := history.Change{Session: to}
	for _, m := range messages {
		ch.Messages = append(ch.Messages, m.WithIDs(func(id string) string { return ownID(to, id) }))
	}
	return in.server.store.Commit(ctx, ch)
}

// drop gives up a hidden session. Where that fails the next start of the server does it.
func (in *imports) drop(ctx context.Context, id string) {
	if err := in.server.store.ImportDrop(ctx, id, in.server.now()); err != nil {
		in.server.opt.Log.Warn("an unfinished session stays until the server starts anew", "session", id, "error", err)
	}
}
