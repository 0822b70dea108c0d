package mcp

import (
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is the way to a server. It is used for one connection.
type link interface {
	sdk.Transport

	// close begins to end the link, and returns at once.
	close()

	// wait ends what is left of a closed link after its connection has ended, and blocks until it has.
	wait()

	// explain returns the reason of an error of the connection, for the user.
	explain(err error) error
}

// limits are the times that a server has.
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

// The pauses between the starts of a server that fails. They double, and begin again after it has been ready for the longest.
const (
	minPause = time.Second
	maxPause = time.Minute
)
