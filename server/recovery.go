package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"strata/history"
	"strata/historystore"
)

// A recovery file holds the ending of one turn.
const (
	recoveryPrefix = "recovery-"
	recoverySuffix = ".json"
)

// recoveryName returns the name of the file for a turn of a session.
func recoveryName(session, turn string) string {
	return recoveryPrefix + session + "-" + turn + recoverySuffix
}

// recovery keeps endings of turns that could not be stored before their session ended, each in a file of the state
// folder. They are stored when the session is loaded again, or at the next start.
type recovery struct {
	folder string
	store  *historystore.Store
	log    *slog.Logger
}

// keep writes an ending to a recovery file.
func (r *recovery) keep(ch history.Change) error {
	raw, err := json.Marshal(ch)
	if err != nil {
		return fmt.Errorf("recovery of session %s: %w", ch.Session, err)
	}
	name := filepath.Join(r.folder, recoveryName(ch.Session, ch.End.ID))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("recovery of session %s: %w", ch.Session, err)
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("recovery of session %s: %w", ch.Session, err)
	}
	return nil
}

// restore stores the endings in the recovery files of the session with the given id, or of all sessions if id is empty,
// and returns those that cannot be stored now: a session that went on without them would give their turns other endings,
// and the replies would be lost. An unreadable file is skipped.
func (r *recovery) restore(ctx context.Context, id string) (kept []history.Change, err error) {
	entries, err := os.ReadDir(r.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("recovery: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), recoveryPrefix+id) || !strings.HasSuffix(e.Name(), recoverySuffix) {
			continue
		}
		path := filepath.Join(r.folder, e.Name())
		var ch history.Change
		raw, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(raw, &ch)
		}
		if err != nil {
			r.log.Error("recovery file skipped: it is unreadable", slog.String("file", path), slog.Any("error", err))
			continue
		}
		if err := r.restoreEnding(ctx, path, ch); err != nil {
			r.log.Warn("recovery file not stored yet", slog.String("file", path), slog.Any("error", err))
			kept = append(kept, ch)
		}
	}
	return kept, nil
}

// restoreEnding stores an ending, which may be stored already, and removes its file. It keeps the file if the session is
// not in this database, since servers on several databases share the folder, and if the turn has another ending, for
// the user to compare.
func (r *recovery) restoreEnding(ctx context.Context, path string, ch history.Change) error {
	err := r.store.Commit(ctx, ch)
	switch {
	case errors.Is(err, history.ErrNotFound):
		r.log.Warn("recovery file kept: its session is not in this database", slog.String("file", path))
		return nil
	case errors.Is(err, historystore.ErrDuplicate):
		if !r.taken(ctx, ch) {
			return err
		}
		r.log.Error("recovery file kept: its turn has another ending in the database", slog.String("file", path))
		return nil
	case err != nil:
		return err
	}
	r.log.Info("ending of a turn recovered", slog.String("session", ch.Session))
	return os.Remove(path)
}

// taken reports whether the sequence numbers of an ending's messages are in use.
func (r *recovery) taken(ctx context.Context, ch history.Change) bool {
	seqs := make([]int64, len(ch.Messages))
	for i := range ch.Messages {
		seqs[i] = ch.Messages[i].Seq
	}
	_, err := r.store.Messages(ctx, ch.Session, seqs)
	return err == nil
}
