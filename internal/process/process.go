// Package process runs a program, and ends it together with all processes that it starts: on request, and when this process
// dies, even if it was killed.
//
// On Unix the program runs below a supervisor: the same executable again, started by Supervise. Both are in a process group of
// their own, without a terminal. The supervisor watches a pipe whose other end only the starting process has, and ends the group
// when that end closes. Linux lets the supervisor end processes that left the group, too. On Windows a job object does this.
//
// It must never leave a process behind, except for one that has left its group before the program ended by itself.
package process

import (
	"os"
	"time"
)

// Grace is the time between SIGTERM and SIGKILL when a program is stopped.
const Grace = 2 * time.Second

// The other limits of ends and starts.
const (
	leftGrace  = 500 * time.Millisecond // instead of Grace, for processes that a program leaves in its group
	killLimit  = 2 * time.Second        // to wait for processes after SIGKILL; some system calls delay it
	startLimit = 30 * time.Second       // of Start, whose folder or program may be on a disk that does not respond
)

// Command is a program to run. A nil file is the null device. The program gets duplicates of the files.
type Command struct {
	Path                  string   // of the executable: absolute, or a name that is looked up in the PATH of Env
	Args                  []string // without the name of the program
	Verbatim              string   // on Windows, what follows the name of the program, instead of Args: for programs that do not split it as others do
	Dir                   string   // absolute; the program gets it as PWD, too
	Env                   []string // in the form of os.Environ; the last value of a name counts
	Stdin, Stdout, Stderr *os.File
}

// Exit is how a program ended.
type Exit struct {
	Code   int    // if no signal ended it
	Signal string // name of the signal that ended it, such as "SIGKILL"; empty for none
}

// Process is a started program. It is safe for concurrent use.
type Process struct {
	done chan struct{}
	exit Exit // written before done is closed
	running
}

// Done returns a channel that is closed when the program and all processes of its group have ended. Processes that the program
// leaves in the group receive SIGTERM, and half a second later SIGKILL, so a reader of their output reaches the end after Done.
//
// If the program ends by itself, a process that has left the group, such as a daemon, continues to run. On Linux, Stop and Kill
// end such a process, too. Done waits at most some seconds for processes that SIGKILL does not end, such as those of other
// users.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the program ended, and blocks until it has. The result is SIGKILL if it is unknown because the supervisor was
// killed.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// poll calls a function until it returns true, or for some time. It reports which.
func poll(limit time.Duration, reached func() bool) bool {
	pause := time.Millisecond
	for giveUp := time.Now().Add(limit); !reached(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(giveUp) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}
