package access

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	privateFile   fs.FileMode = 0o600
	privateFolder fs.FileMode = 0o700
)

// ErrExposed says that other users of the machine can read or replace a private file.
// The message names the file and the command that repairs it.
var ErrExposed = errors.New("open to other users")

// readPrivate reads a file of at most limit bytes that only this user can read. Errors wrap fs.ErrNotExist or ErrExposed.
func readPrivate(path string, limit int64) ([]byte, error) {
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The open file is examined, not the path: nobody can put another one there in between.
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := checkFile(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return data, nil
}

// replacePrivate writes a private file durably and in one step: a reader sees the old content or the new.
func replacePrivate(path string, data []byte) error {
	return placePrivate(path, data, os.Rename)
}

// createPrivate is replacePrivate for a file that must not exist yet; if it does the error wraps fs.ErrExist.
func createPrivate(path string, data []byte) error {
	return placePrivate(path, data, func(staged, path string) error {
		err := os.Link(staged, path)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		// Some file systems have no hard links. Two first starts at the same moment are rare enough there.
		return os.Rename(staged, path)
	})
}

func placePrivate(path string, data []byte, place func(staged, path string) error) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, privateFolder); err != nil {
		return err
	}
	if err := checkFolder(folder); err != nil {
		return err
	}
	staged, err := stagePrivate(path, data)
	if err != nil {
		return err
	}
	defer os.Remove(staged) // gone already where it was renamed
	if err := place(staged, path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// stagePrivate writes data to a new file beside path, synced, and returns its name.
func stagePrivate(path string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp") // made with mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// checkFolder refuses a folder in which other users could replace files. One that is missing is for the caller to find.
func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return checkFolderInfo(folder, info)
}
