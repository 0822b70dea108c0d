//go:build !unix

package access

import "io/fs"

const openFlags = 0

// Without permission bits (Windows) a file inherits the access list of its folder: in the user's profile that is the
// user, the system and the administrators.

func checkFile(string, fs.FileInfo) error { return nil }

func checkFolderInfo(string, fs.FileInfo) error { return nil }

// syncFolder does nothing: a folder cannot be synced, and the journal makes a rename durable.
func syncFolder(string) error { return nil }
