package mcp

import "fmt"

// protected calls f, and returns a panic in it as an error. It is for code of the SDK that processes what a server sent. The
// error is for the user: it has no stack.
func protected(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("process a message of an MCP server: %v", p)
		}
	}()
	return f()
}
