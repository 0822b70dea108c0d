package clients

import "context"

// TerminalRunner runs commands in terminals of a client. Its requests are sent after the event of the session with the sequence
// number after, if the client receives it.
type TerminalRunner interface {
	// CreateTerminal starts a command, and returns the id of its terminal. With any error but ErrBusy the command may run. If
	// ctx ends first, the command is killed and the terminal released when the client has created it.
	CreateTerminal(ctx context.Context, c TerminalCommand, after uint64) (id string, err error)

	// TerminalOutput returns the output of the command so far.
	TerminalOutput(ctx context.Context, id string, after uint64) (TerminalOutput, error)

	// WaitForExit blocks until the command has ended.
	WaitForExit(ctx context.Context, id string, after uint64) (Exit, error)

	// KillTerminal ends the command. ReleaseTerminal also releases the terminal. Both return immediately, and ignore the
	// client's response.
	KillTerminal(id string, after uint64)
	ReleaseTerminal(id string, after uint64)
}

// TerminalCommand is a command for a terminal.
type TerminalCommand struct {
	Program string
	Args    []string
	Env     []Variable // in addition to those of the client
	Dir     string     // absolute
	Limit   int        // size of the newest output that the client keeps, in bytes
}

// Variable is a variable of an environment.
type Variable struct{ Name, Value string }

// TerminalOutput is the output of a command.
type TerminalOutput struct {
	Text      string
	Truncated bool  // Text is only the newest part
	Exit      *Exit // nil: the command is running
}

// Exit is how a command ended.
type Exit struct {
	Code   *int   // nil if a signal ended it, or if the client does not know
	Signal string // name of the signal; empty for none
}
