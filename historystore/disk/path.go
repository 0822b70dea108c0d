// Package disk finds the file of a database, and makes its name durable.
package disk

import (
	"errors"
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
