package historystore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"sync/atomic"

	"strata/historystore/database"
)

// ErrMoved means that the file at the path of the database is not the open one any more: it was moved, deleted or
// replaced. Nothing was stored. Writes succeed again when the file is back.
var ErrMoved error = database.Refusal("database file was moved, deleted or replaced")

// errReplaced, wrapped in an ErrMoved, means that another file is at the path. Reads may return its content.
var errReplaced = errors.New("there is another file at")

// presence compares the files at the paths of an open database with the open files. SQLite would go on writing to files
// that have no name any more. Safe for concurrent use.
type presence struct {
	path  string
	log   *slog.Logger
	files atomic.Pointer[map[string]fs.FileInfo] // when they were remembered, by path
	gone  atomic.Bool                            // was reported
}

// newPresence remembers the files of a database that is being opened.
func newPresence(path string, log *slog.Logger) (*presence, error) {
	p := &presence{path: path, log: log}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	p.files.Store(&map[string]fs.FileInfo{path: info})
	return p, p.rememberLog()
}

// rememberLog remembers the write-ahead log, which the first transaction creates.
func (p *presence) rememberLog() error {
	name := p.path + "-wal"
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	files := maps.Clone(*p.files.Load())
	files[name] = info
	p.files.Store(&files)
	return nil
}

// check returns ErrMoved if a file is not there any more. The change is logged once.
func (p *presence) check() error {
	for name, then := range *p.files.Load() {
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
