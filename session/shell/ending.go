package shell

import (
	"errors"
	"fmt"
	"time"

	"strata/filecontext"
	"strata/internal/clip"
	"strata/internal/process"
	"strata/session/clients"
)

// errLimit reports that a command has reached its time limit.
var errLimit = errors.New("the time limit has passed")

// exited returns the first line of the result of a command that has ended. A call with a code other than 0 has not failed: many
// programs use it to report that they found something, or nothing.
func exited(e process.Exit) string {
	if e.Signal != "" {
		return "Ended by " + filecontext.Printable(clip.Name(e.Signal))
	}
	return fmt.Sprintf("Exit code %d", e.Code)
}

// exitedThere is exited for a command in an editor's terminal.
func exitedThere(e clients.Exit) string {
	if e.Signal == "" && e.Code == nil {
		return "Ended; the editor did not report the exit code"
	}
	there := process.Exit{Signal: e.Signal}
	if e.Code != nil {
		there.Code = *e.Code
	}
	return exited(there)
}

// endedAfter returns the first line of the result of a command that was ended by its time limit.
func endedAfter(limit time.Duration) string {
	return fmt.Sprintf("Ended after %d s, its time limit. Its output so far:", limit/time.Second)
}
