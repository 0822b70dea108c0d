package mcp

import (
	"fmt"
	"runtime/debug"
)

// protected calls f, and returns a panic in it as an error. It is for code of the SDK that processes what a server sent.
func protected(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("process a message of an MCP server: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
