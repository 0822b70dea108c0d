package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"strata/historystore/database"
	"strata/historystore/disk"
	"strata/historystore/schema"
	"strata/internal/shellword"
)

// The bounds of the copies that are kept before migrations. A copy contains the sessions that were deleted later, so it does
// not stay forever.
const (
	MaxCopies    = 2
	MaxCopyAge   = 30 * 24 * time.Hour
	MaxCopyBytes = 2 << 30 // size of a database that is copied; a larger one would delay the start too long
)

// copyName is between the name of a database and the schema of its copy.
const copyName = ".schema-"

// Copy is a copy of a database that was made before its schema was migrated.
type Copy struct {
	Path   string
	Schema int
	Made   time.Time
	Bytes  int64
}

// Copies returns the copies of a database, newest schema first.
func Copies(path string) ([]Copy, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	folder, prefix := filepath.Split(path + copyName)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []Copy
	for _, e := range entries {
		number, found := strings.CutPrefix(e.Name(), prefix)
		version, err := strconv.Atoi(number)
		if !found || err != nil || number != strconv.Itoa(version) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		all = append(all, Copy{filepath.Join(folder, e.Name()), version, info.ModTime(), info.Size()})
	}
	slices.SortFunc(all, func(a, b Copy) int { return b.Schema - a.Schema })
	return all, nil
}

// Keep copies a database before its schema is migrated, unless it is larger than MaxCopyBytes. The caller has the lock of
// the database. An error leaves no copy, and the caller must not migrate.
func Keep(ctx context.Context, path string, version int, log *slog.Logger) error {
	size, err := bytesOf(path)
	if err != nil {
		return err
	}
	if size > MaxCopyBytes {
		log.Warn("no copy of the database is kept before its migration: it is too large; strata backup makes one",
			slog.String("path", path), slog.Int64("bytes", size), slog.Int64("limit", MaxCopyBytes))
		return nil
	}
	file := path + copyName + strconv.Itoa(version)
	if _, err := place(ctx, path, file, true, size <= database.QuickCheckBytes, nil); err != nil {
		return fmt.Errorf("copy of the database before its migration (%d bytes): %w; nothing was changed", size, err)
	}
	log.Info("a copy of the database is kept before its migration", slog.String("path", file), slog.Int64("bytes", size))
	return nil
}

// bytesOf returns the size of a database with its log.
func bytesOf(path string) (all int64, err error) {
	for _, name := range []string{path, path + "-wal"} {
		size, err := disk.Size(name)
		if err != nil {
			return 0, err
		}
		all += size
	}
	return all, nil
}

// Prune removes the copies that are beyond the bounds. The caller has the lock of the database.
func Prune(path string, now time.Time, log *slog.Logger) {
	all, err := Copies(path)
	if err != nil {
		log.Warn("old copies of the database are not removed", slog.Any("err", err))
		return
	}
	for i, c := range all {
		if i < MaxCopies && now.Sub(c.Made) < MaxCopyAge {
			continue
		}
		if err := os.Remove(c.Path); err != nil {
			log.Warn("an old copy of the database is not removed", slog.Any("err", err))
			continue
		}
		log.Info("an old copy of the database is removed", slog.String("path", c.Path))
	}
	removeUnfinished(path)
}

// removeUnfinished removes what a crash left of a copy. The caller has the lock, so none is being made.
func removeUnfinished(path string) {
	folder, base := filepath.Split(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if name, found := strings.CutPrefix(e.Name(), "."+base); found && (strings.HasPrefix(name, copyName) || strings.HasPrefix(name, ready+"-")) {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// Advise adds to an error that wraps database.ErrNewer how to go back to this program.
func Advise(path string, err error) error {
	if !errors.Is(err, database.ErrNewer) {
		return err
	}
	return fmt.Errorf("%w; install that version or a newer one, or go back with %s; the newer database is kept", err, WayBack(path))
}

// WayBack returns the command that replaces a database, which is newer than this program, by the newest copy that the
// program supports. Without one, the user must have a backup.
func WayBack(path string) string {
	if all, err := Copies(path); err == nil {
		for _, c := range all {
			if c.Schema <= schema.Newest() {
				return "`strata restore " + shellword.Quote(c.Path) + "`"
			}
		}
	}
	return "a backup (`strata restore FILE`)"
}

// Original returns the path of the database of which file is a copy that was kept before a migration; empty if it is not
// one, or the database is not beside it.
func Original(file string) string {
	path, number, found := cutLast(file, copyName)
	if _, err := strconv.Atoi(number); !found || err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
