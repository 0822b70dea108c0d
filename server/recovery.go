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

// Endings of turns that could not be stored before the server had to stop are kept in files of their
// own in the state folder, one a turn, until the next start has stored them.
const (
	recoveryPrefix = "recovery-"
	recoverySuffix = ".json"
)

// writeRecovery puts a change into a recovery file.
func writeRecovery(dir string, ch history.Change) error {
	raw, err := json.Marshal(ch)
	if err != nil {
		return fmt.Errorf("recovery of session %s: %w", ch.Session, err)
	}
	name := filepath.Join(dir, recoveryPrefix+ch.End.ID+recoverySuffix)
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

// recoverEndings stores what recovery files hold. A file that cannot be read stays where it is. One that cannot be
// stored now is an error: a server that went on would give its turn another end, and the answer would have no place.
func (s *Server) recoverEndings(ctx context.Context) error {
	entries, err := os.ReadDir(s.opt.StateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("recovery: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), recoveryPrefix) || !strings.HasSuffix(e.Name(), recoverySuffix) {
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
// here stays: servers on several databases share the folder.
func (s *Server) recoverEnding(ctx context.Context, path string, ch history.Change) error {
	err := s.store.Commit(ctx, ch)
	switch {
	case errors.Is(err, history.ErrNotFound):
		s.opt.Log.Warn("recovery file kept: its session is not in this database", slog.String("file", path))
		return nil
	case err != nil && !errors.Is(err, historystore.ErrDuplicate):
		return err
	}
	s.opt.Log.Info("ending of a turn recovered", slog.String("session", ch.Session))
	return os.Remove(path)
}
