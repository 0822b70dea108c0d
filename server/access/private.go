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

// ErrExposed means that other users of the machine can read or replace a private file.
// The message names the file and the command that fixes it.
var ErrExposed = errors.New("open to other users")

// readPrivate returns the content of a file of at most limit bytes that only this user can read. Errors wrap
// fs.ErrNotExist or ErrExposed.
func readPrivate(path string, limit int64) ([]byte, error) {
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Check the open file, not the path, which could be replaced in between.
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

// replacePrivate writes a private file durably and atomically: a reader sees the old content or the new.
func replacePrivate(path string, data []byte) error {
	return placePrivate(path, data, os.Rename)
}

// createPrivate is replacePrivate for a new file. If the file exists, the error wraps fs.ErrExist.
func createPrivate(path string, data []byte) error {
	return placePrivate(path, data, func(staged, path string) error {
		err := os.Link(staged, path)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		// Some file systems have no hard links. The race between two first starts is accepted there.
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
	defer os.Remove(staged) // fails harmlessly after a rename
	if err := place(staged, path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// stagePrivate writes data to a new, synced file in the folder of path, and returns its name.
func stagePrivate(path string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp") // has mode 0600
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

// checkFolder returns an error if other users can replace files in a folder. A missing folder is no error.
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
