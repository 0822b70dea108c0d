package historystore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
)

// ErrMoved means that the file at the path of the database is not the open one any more: it was moved, deleted or
// replaced. Nothing was stored. Writes succeed again when the file is back.
var ErrMoved error = refusal("database file was moved, deleted or replaced")

// errReplaced, wrapped in an ErrMoved, means that another file is at the path. Reads may return its content.
var errReplaced = errors.New("there is another file at")

// presence compares the files at the paths of an open database with the open files. SQLite would go on writing to files
// that have no name any more. Safe for concurrent use.
type presence struct {
	log   *slog.Logger
	files map[string]fs.FileInfo // when the database was opened, by path
	gone  atomic.Bool            // was reported
}

// newPresence remembers the files of a database that was just opened. The write-ahead log is created by the first
// transaction.
func newPresence(path string, log *slog.Logger) (*presence, error) {
	p := &presence{log: log, files: make(map[string]fs.FileInfo)}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && name != path {
			continue
		}
		if err != nil {
			return nil, err
		}
		p.files[name] = info
	}
	return p, nil
}

// check returns ErrMoved if a file is not there any more. The change is logged once.
func (p *presence) check() error {
	for name, then := range p.files {
		now, err := os.Stat(name)
		switch {
		case err == nil && os.SameFile(now, then):
			continue
		case err == nil:
			err = fmt.Errorf("%w: %w %s", ErrMoved, errReplaced, name)
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%w: there is no file at %s", ErrMoved, name)
		default:
			err = fmt.Errorf("%w: %w", ErrMoved, err)
		}
		if !p.gone.Swap(true) {
			p.log.Error("database not writable", "err", err)
		}
		return err
	}
	if p.gone.Swap(false) {
		p.log.Info("database file is back")
	}
	return nil
}

// Present returns ErrMoved if the database file was moved, deleted or replaced. It looks at the file each time.
func (s *Store) Present() error { return s.present.check() }
