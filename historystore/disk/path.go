// Package disk finds and measures the files of a database, and makes their names durable.
package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Resolve returns the canonical path by which a database is opened and locked, with links resolved.
// The folder must exist; the file need not.
func Resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		return target, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// Head returns the first n bytes of a file, or all of a shorter one.
func Head(path string, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(n)))
}

// Unwritable returns the first of the files that exists and cannot be opened for writing, and why.
func Unwritable(names ...string) (name string, err error) {
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return name, err
		}
		if err := f.Close(); err != nil {
			return name, err
		}
	}
	return "", nil
}

// Size returns the size of a file in bytes, 0 if it does not exist.
func Size(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
