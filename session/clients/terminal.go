package clients

import "context"

// TerminalRunner runs commands in terminals of a client. Its requests are sent after the event of the session with the sequence
// number after, if the client receives it.
type TerminalRunner interface {
	// CreateTerminal starts a command, and returns the id of its terminal. With any error but ErrBusy the command may run. If
	// ctx ends first, the command is killed and the terminal released when the client has created it.
	CreateTerminal(ctx context.Context, c TerminalCommand, after uint64) (id string, err error)

	// TerminalOutput returns what the command has put out so far.
	TerminalOutput(ctx context.Context, id string, after uint64) (TerminalOutput, error)

	// WaitForExit blocks until the command has ended.
	WaitForExit(ctx context.Context, id string, after uint64) (Exit, error)

	// KillTerminal ends the command, and ReleaseTerminal gives the terminal up: the client ends a command that still runs. Both
	// return at once; what the client responds is dropped.
	KillTerminal(id string, after uint64)
	ReleaseTerminal(id string, after uint64)
}

// TerminalCommand is a command for a terminal.
type TerminalCommand struct {
	Program string
	Args    []string
	Env     []Variable // beside those of the client
	Dir     string     // absolute
	Limit   int        // bytes of output that the client keeps: the newest
}

// Variable is a variable of an environment.
type Variable struct{ Name, Value string }

// TerminalOutput is the output of a command.
type TerminalOutput struct {
	Text      string
	Truncated bool  // only the newest part is there
	Exit      *Exit // nil: the command runs
}

// Exit is how a command ended.
type Exit struct {
	Code   *int   // nil if a signal ended it, or if the client does not know
	Signal string // name of the signal; empty for none
}
