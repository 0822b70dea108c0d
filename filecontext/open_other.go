//go:build !unix

package filecontext

// openFlags is empty: these systems have no files that make opening wait.
const openFlags = 0
