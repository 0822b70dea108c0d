// Package process runs a program with everything that it starts, and ends all of that together: on request, and when the process
// that started it dies, however it dies.
//
// On Unix the program runs below a supervisor: the same executable again, started by Supervise. Both are in a process group of
// their own, without a terminal. The supervisor watches a pipe whose other end only the starting process has, and ends the group
// when that closes. Linux lets the supervisor end processes that left the group, too. On Windows a job object does this.
//
// It must never leave a process behind that its user did not detach.
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

// Command is a program to run. Nil files stand for the null device. The process keeps duplicates of the files.
type Command struct {
	Path                  string   // of the executable: absolute, or a name that is looked up in the PATH of Env
	Args                  []string // without the name of the program
	Verbatim              string   // on Windows, what follows the name of the program, instead of Args: for programs that do not split it as others do
	Dir                   string   // absolute; the program gets it as PWD, too
	Env                   []string // as os.Environ has it; the last value of a name counts
	Stdin, Stdout, Stderr *os.File
}

// Exit is how a program ended.
type Exit struct {
	Code   int    // if no signal ended it
	Signal string // name of the signal that ended it, such as "SIGKILL"; empty for none
}

// Process is a program that was started. It is safe for concurrent use.
type Process struct {
	done chan struct{}
	exit Exit // written before done is closed
	running
}

// Done is closed when the program has ended and nothing of its process group lives. Processes that the program has left in the
// group are ended by then: by SIGTERM, and half a second later by SIGKILL. So Done does not wait for them to close their
// output, and a reader of their pipes reaches the end after Done.
//
// If the program ended by itself, a process that left the group lives on, such as a daemon. After Stop and Kill, and on Linux,
// it is ended as well. Done does not wait longer than some seconds for processes that SIGKILL does not end, such as
// those of other users.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the program ended. It must only be called after Done. If that is unknown because the supervisor was killed,
// it is SIGKILL.
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
