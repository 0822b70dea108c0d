//go:build !unix

package access

import "io/fs"

const openFlags = 0

// Where there are no permission bits (Windows) a file is as private as the access list that its folder hands down:
// in the user's profile that is the user, the system and the administrators.

func checkFile(string, fs.FileInfo) error { return nil }

func checkFolderInfo(string, fs.FileInfo) error { return nil }

// syncFolder does nothing: a folder cannot be synced there, and a rename is durable with its journal.
func syncFolder(string) error { return nil }
