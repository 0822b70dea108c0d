package mcp

import (
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is the transport to a server. It is used for one connection.
type link interface {
	sdk.Transport

	// close begins to end the link, and returns immediately.
	close()

	// wait ends the rest of a closed link after the end of its connection, and blocks until it has ended.
	wait()

	// explain returns the reason of an error of the connection, for the user.
	explain(err error) error
}

// limits are the time limits of a server.
type limits struct {
	start  time.Duration // from the start of its process until its tools are known
	list   time.Duration // to list its tools again
	relist time.Duration // between two lists
	idle   time.Duration // of a call, without progress
	call   time.Duration // of a call
	write  time.Duration // to read a message
	stop   time.Duration // to end after its stdin was closed
	exit   time.Duration // to end after it closed its stdout
}

var standard = limits{
	start:  30 * time.Second,
	list:   30 * time.Second,
	relist: time.Second,
	idle:   30 * time.Second,
	call:   10 * time.Minute,
	write:  30 * time.Second,
	stop:   2 * time.Second,
	exit:   3 * time.Second,
}

// The bounds of the backoff of a server that fails. It doubles with each failure, and starts again after a server was ready for
// maxPause.
const (
	minPause = time.Second
	maxPause = time.Minute
)
