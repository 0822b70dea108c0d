//go:build !unix

package filecontext

import (
	"io/fs"
	"os"
)

// openFlags is empty: on these systems opening a file does not block.
const openFlags = 0

// list returns up to n entries of a folder.
func list(folder *os.File, _ string, n int) ([]fs.DirEntry, error) { return folder.ReadDir(n) }
