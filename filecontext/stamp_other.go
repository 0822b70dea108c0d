//go:build !linux && !darwin

package filecontext

import "io/fs"

// identify does nothing: without the change time of the inode no stamp is settled, so Refresh reads every file.
func (s *stamp) identify(fs.FileInfo) {}

// hasOneName returns false: the number of names is not known.
func hasOneName(fs.FileInfo) bool { return false }
