//go:build unix

package access

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"strata/internal/shellword"
)

// openFlags prevent opening a named pipe from waiting for a writer.
const openFlags = syscall.O_NONBLOCK

const (
	othersAny   fs.FileMode = 0o077
	othersWrite fs.FileMode = 0o022
)

func checkFile(path string, info fs.FileInfo) error {
	if uid, foreign := foreignOwner(info); foreign {
		return fmt.Errorf("%s is %w: it belongs to user %d; remove it or run `chown %d %s`", path, ErrExposed, uid, os.Geteuid(), shellword.Quote(path))
	}
	if mode := info.Mode().Perm(); mode&othersAny != 0 {
		return fmt.Errorf("%s is %w: its mode is %04o; run `chmod 600 %s`, and `strata token rotate` if another user may have read it",
			path, ErrExposed, mode, shellword.Quote(path))
	}
	return nil
}

func checkFolderInfo(folder string, info fs.FileInfo) error {
	if uid, foreign := foreignOwner(info); foreign && uid != 0 {
		return fmt.Errorf("folder %s is %w: it belongs to user %d; run as that user or choose another folder", folder, ErrExposed, uid)
	}
	// In a folder with the sticky bit, such as /tmp, others can add files but not replace ours.
	if mode := info.Mode(); mode&othersWrite != 0 && mode&fs.ModeSticky == 0 {
		return fmt.Errorf("folder %s is %w: its mode is %04o; run `chmod 700 %s`", folder, ErrExposed, mode.Perm(), shellword.Quote(folder))
	}
	return nil
}

// foreignOwner returns the owner of a file, and whether it is another user than this process's.
func foreignOwner(info fs.FileInfo) (uid uint32, foreign bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, int(stat.Uid) != os.Geteuid()
}

// syncFolder makes the entries of a folder durable.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
