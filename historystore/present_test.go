package historystore

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/history"
)

// After the database file is moved, deleted or replaced, nothing is stored, and the log says so once.
func TestR08AMovedDatabase(t *testing.T) {
	for name, take := range map[string]func(path string) (back func()){
		"moved": func(path string) func() {
			rename(t, path, path+".moved")
			return func() { rename(t, path+".moved", path) }
		},
		"deleted": func(path string) func() {
			if err := os.Link(path, path+".link"); err != nil { // the same file can come back
				t.Skip(err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return func() { rename(t, path+".link", path) }
		},
		"replaced": func(path string) func() {
			rename(t, path, path+".moved")
			if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { rename(t, path+".moved", path) }
		},
		"replaced by a copy": func(path string) func() {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rename(t, path, path+".moved")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { rename(t, path+".moved", path) }
		},
		"its log deleted": func(path string) func() {
			rename(t, path+"-wal", path+"-wal.moved")
			return func() { rename(t, path+"-wal.moved", path+"-wal") }
		},
		"its folder moved": func(path string) func() {
			dir := filepath.Dir(path)
			rename(t, dir, dir+".moved")
			return func() { rename(t, dir+".moved", dir) }
		},
	} {
		path := filepath.Join(t.TempDir(), "folder", "strata.db")
		var log bytes.Buffer
		s := openTest(t, path, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		commit(t, s, createSession("sess_a"), appendText("sess_a", 1, "stored"))
		if err := s.Present(); err != nil {
			t.Errorf("%s: before: %v", name, err)
		}
		back := take(path)
		for range 3 {
			if err := s.Present(); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", name, err)
			}
			err := s.Commit(ctx, appendText("sess_a", 2, "lost"))
			wantError(t, err, ErrMoved)
			wantError(t, err, history.ErrUnchanged)
			wantError(t, s.Delete(ctx, "sess_a", epoch), ErrMoved)
			if _, err := s.Purge(ctx, epoch); !errors.Is(err, ErrMoved) && err != nil {
				t.Errorf("%s: purge: %v", name, err)
			}
		}
		switch l, err := s.Load(ctx, "sess_a"); {
		case strings.HasPrefix(name, "replaced"):
			wantError(t, err, ErrMoved)
		case err == nil && len(l.Heads) == 1 || errors.Is(err, ErrMoved): // a connection is open, or a new one is needed
		default:
			t.Errorf("%s: read %d messages, error %v", name, len(l.Heads), err)
		}
		back()
		commit(t, s, appendText("sess_a", 2, "stored again"))
		if n := strings.Count(log.String(), "database not writable"); n != 1 {
			t.Errorf("%s: logged %d times:\n%s", name, n, log.String())
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
		equal(t, name+": after a restart", len(load(t, openTest(t, path, Options{}), "sess_a").Heads), 2)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
