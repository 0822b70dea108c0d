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

// Endings of turns that could not be stored before their session ended are kept in files of their own in the
// state folder, one a turn, until they are stored: when the session is loaded again, or at the next start.
const (
	recoveryPrefix = "recovery-"
	recoverySuffix = ".json"
)

// recoveryName is the name of the file for one turn of a session.
func recoveryName(session, turn string) string {
	return recoveryPrefix + session + "-" + turn + recoverySuffix
}

// writeRecovery puts a change into a recovery file.
func writeRecovery(dir string, ch history.Change) error {
	raw, err := json.Marshal(ch)
	if err != nil {
		return fmt.Errorf("recovery of session %s: %w", ch.Session, err)
	}
	name := filepath.Join(dir, recoveryName(ch.Session, ch.End.ID))
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

// recoverEndings stores what recovery files hold of the session with the given id, or of all where it is empty. A file
// that cannot be read stays where it is. One that cannot be stored now is an error: who went on would give its turn
// another end, and the answer would have no place.
func (s *Server) recoverEndings(ctx context.Context, session string) error {
	entries, err := os.ReadDir(s.opt.StateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("recovery: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), recoveryPrefix+session) || !strings.HasSuffix(e.Name(), recoverySuffix) {
			continue
		}
		path := filepath.Join(s.opt.StateDir, e.Name())
		ch, err := readRecovery(path)
		if err != nil {
			s.opt.Log.Error("recovery file kept: it cannot be read", slog.String("file", path), slog.Any("error", err))
			continue
		}
		if err := s.recoverEnding(ctx, path, ch); err != nil {
			return fmt.Errorf("recovery of the answer in %s: %w", path, err)
		}
	}
	return nil
}

func readRecovery(path string) (ch history.Change, err error) {
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &ch)
	}
	return ch, err
}

// recoverEnding stores an ending, unless it is stored already, and removes its file. The file of a session that is not
// here stays: servers on several databases share the folder. So does one whose turn has got another end, for its user
// to look at.
func (s *Server) recoverEnding(ctx context.Context, path string, ch history.Change) error {
	err := s.store.Commit(ctx, ch)
	switch {
	case errors.Is(err, history.ErrNotFound):
		s.opt.Log.Warn("recovery file kept: its session is not in this database", slog.String("file", path))
		return nil
	case errors.Is(err, historystore.ErrDuplicate):
		stored, taken := s.holds(ctx, ch)
		if !taken {
			return err
		}
		if !stored {
			s.opt.Log.Error("recovery file kept: its turn has another end in the database", slog.String("file", path))
			return nil
		}
	case err != nil:
		return err
	}
	s.opt.Log.Info("ending of a turn recovered", slog.String("session", ch.Session))
	return os.Remove(path)
}

// holds reports whether the messages of an ending are stored as they are, and whether their places are taken at all.
func (s *Server) holds(ctx context.Context, ch history.Change) (stored, taken bool) {
	seqs := make([]int64, len(ch.Messages))
	for i := range ch.Messages {
		seqs[i] = ch.Messages[i].Seq
	}
	found, err := s.store.Messages(ctx, ch.Session, seqs)
	if err != nil {
		return false, false
	}
	stored = true
	for i := range found {
		stored = stored && found[i].ID == ch.Messages[i].ID && found[i].PlainText() == ch.Messages[i].PlainText()
	}
	return stored, true
}
