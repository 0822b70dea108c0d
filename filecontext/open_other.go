//go:build !unix

package filecontext

// openFlags is empty: on these systems opening a file does not block.
const openFlags = 0
