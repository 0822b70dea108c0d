//go:build !unix

package change

import (
	"errors"
	"io/fs"
	"os"
)

// openFlags is empty: on these systems opening a file does not block.
const openFlags = 0

// own does nothing: a new file belongs to who made it.
func own(*os.File, fs.FileInfo) bool { return false }

// isUnsupported reports whether a file system cannot do what was asked: any error but those that say why not.
func isUnsupported(err error) bool {
	return !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist)
}

// syncFolder does nothing: folders cannot be synced.
func syncFolder(*os.Root) error { return nil }

// link does nothing: a second name would be made by the paths of the folders, which can lead elsewhere by now.
func link(*os.Root, string, *os.Root, string) error { return errors.ErrUnsupported }
