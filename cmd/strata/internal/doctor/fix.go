package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/unit"
	"strata/historystore"
	"strata/historystore/backup"
	"strata/historystore/mend"
	"strata/internal/shellword"
	"strata/server/access"
)

// mend runs a fix with --fix, and prints it before and after. It reports whether the fault is fixed.
func (d *doctor) mend(subject, fix string, do func() error) bool {
	if !d.fixes {
		return false
	}
	d.line("fix", subject, "%s", []any{fix})
	if err := do(); err != nil {
		d.fail(subject, "not fixed: %v", err)
		return false
	}
	d.line("done", subject, "%s", []any{fix})
	return true
}

// private are the files and folders that only their owner may read. The mode of a folder with other content is not
// Strata's to judge.
func (d *doctor) private(ctx context.Context) (files []string) {
	c := d.config
	if c.IsDefault("db") {
		files = append(files, filepath.Dir(c.DB))
	}
	files = append(files, c.Folders.State, c.TokenFile, filepath.Join(c.Folders.Config, unit.EnvFileName))
	if _, err := backup.VersionOf(ctx, c.DB); err == nil { // else the file may be another program's
		files = append(files, c.DB, c.DB+"-wal", c.DB+"-shm", c.DB+".lock")
	}
	if copies, err := backup.Copies(c.DB); err == nil {
		for _, one := range copies {
			files = append(files, one.Path)
		}
	}
	files = append(files, access.ServerFilePath(d.Getenv, c.Folders.State))
	keys := keysFolder(c)
	files = append(files, keys)
	if stored, err := os.ReadDir(keys); err == nil {
		for _, one := range stored {
			files = append(files, filepath.Join(keys, one.Name()))
		}
	}
	return files
}

// keysFolder returns the folder of stored API keys.
func keysFolder(c *config.Config) string { return access.KeysIn(c.Folders.State, nil).Folder() }

// exposed reports whether other users have rights to a file.
func exposed(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// needed returns the rights that the owner of a file needs and that its mode might lack: those to a folder of Strata, and to
// the database with its log. Any other file may be read-only.
func (d *doctor) needed(path string, info fs.FileInfo) fs.FileMode {
	db := d.config.DB
	switch {
	case runtime.GOOS == "windows":
		return 0
	case info.IsDir():
		return 0o700
	case path == db || path == db+"-wal" || path == db+"-shm" || path == db+".lock":
		return 0o600
	}
	return 0
}

// checkPermissions checks that only this user can read Strata's files, and that their owner can write those that change. The
// error about a file that cannot be looked at is that of another check.
func (d *doctor) checkPermissions(ctx context.Context) {
	for _, path := range d.private(ctx) {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		mode, needed := info.Mode().Perm(), d.needed(path, info)
		isExposed, isReadOnly := exposed(info), mode&needed != needed
		if !isExposed && !isReadOnly {
			continue
		}
		wanted := mode&^0o077 | needed
		command := fmt.Sprintf("chmod %o %s", wanted, shellword.Quote(path))
		fixed := d.mend(d.subject(path), command, func() error { return os.Chmod(path, wanted) })
		switch {
		case fixed && isExposed:
			d.warnOfReaders(path)
		case fixed:
		case isExposed:
			d.warn(d.subject(path), "other users can read %s (mode %04o): run `%s`", path, mode, command)
		default:
			d.warn(d.subject(path), "the owner of %s cannot write it (mode %04o): run `%s`", path, mode, command)
		}
	}
}

// warnOfReaders says how to replace a secret that other users may have read.
func (d *doctor) warnOfReaders(path string) {
	switch {
	case path == d.config.TokenFile:
		d.warn("token", "another user may have read it: `strata token rotate` replaces it")
	case filepath.Base(path) == unit.EnvFileName:
		d.warn("service", "another user may have read %s: replace the keys that it contains", path)
	case filepath.Dir(path) == keysFolder(d.config):
		d.warn("provider", "another user may have read the key of %s: replace it at the provider, and run `strata login %s`", filepath.Base(path), filepath.Base(path))
	}
}

// subject returns the name of the check to which a private file belongs.
func (d *doctor) subject(path string) string {
	switch {
	case path == filepath.Dir(d.config.DB):
		return "data"
	case path == d.config.Folders.State:
		return "state"
	case path == d.config.TokenFile:
		return "token"
	case filepath.Base(path) == unit.EnvFileName:
		return "service"
	case strings.HasPrefix(path, d.config.DB):
		return "database"
	case strings.HasPrefix(path, keysFolder(d.config)):
		return "provider"
	}
	return "server"
}

// staleServer handles a server.json whose server does not run any more.
func (d *doctor) staleServer(stale error) {
	for _, path := range []string{
		access.ServerFilePath(d.Getenv, d.config.Folders.State), access.ServerFilePath(func(string) string { return "" }, d.config.Folders.State),
	} {
		file, err := access.ReadServerFile(path)
		if err != nil {
			continue
		}
		if _, err := access.FindServer(path, historystore.Holder); !errors.Is(err, access.ErrStale) {
			continue
		}
		if d.mend("server", fmt.Sprintf("remove %s, which names the ended process %d", path, file.PID), func() error {
			return access.RemoveServerFile(path, file.PID) // keeps the file of a server that has started meanwhile
		}) {
			d.ok("server", "not running; serve, stdio and ask start a server")
			return
		}
	}
	if !d.fixes {
		d.warn("server", "%v; the next server replaces the file", stale)
	}
}

// unfinishedRestore completes a restore that was interrupted after its backup was copied.
func (d *doctor) unfinishedRestore(path string) {
	if !backup.Unfinished(path) {
		return
	}
	if !d.mend("database", "complete the restore of "+path+", which was interrupted", func() error {
		_, err := backup.Complete(path)
		return err
	}) {
		d.warn("database", "a restore of %s was interrupted; the next start completes it", path)
	}
}

// damagedIndexes handles a database whose damage is only in indexes. It reports whether it has mended them.
func (d *doctor) damagedIndexes(ctx context.Context, path string) bool {
	names, err := mend.Faults(ctx, path)
	if err != nil || len(names) == 0 {
		return false // the check of the database says more
	}
	fix := fmt.Sprintf("rebuild the damaged indexes of %s: %s", path, strings.Join(names, ", "))
	if d.mend("database", fix, func() error {
		_, err := mend.Indexes(ctx, path)
		return err
	}) {
		return true
	}
	if !d.fixes {
		d.warn("database", "only indexes are damaged (%s): stop the server, and `strata doctor --fix` rebuilds them", strings.Join(names, ", "))
	}
	return false
}

// leftLog writes the log that a crash left into the database.
func (d *doctor) leftLog(ctx context.Context, path string) {
	bytes, err := mend.LogBytes(path)
	if err != nil || bytes == 0 || !d.fixes {
		return // the next start reads it
	}
	d.mend("database", fmt.Sprintf("write the log of %d bytes into %s", bytes, path), func() error { return mend.EmptyLog(ctx, path) })
}
