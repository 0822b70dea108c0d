// Package process runs a program with everything that it starts, and ends all of that together: on request, and when the process
// that started it dies, however it dies.
//
// On Unix the program runs below a supervisor: the same executable again, started by Supervise. Both are in a process group of
// their own. The supervisor watches a pipe whose other end only the starting process has, and ends the group when that closes.
// Linux lets the supervisor end processes that left the group, too. On Windows a job object does this.
package process

import "os"

// Command is a program to run. Nil files stand for the null device. The process keeps duplicates of the files.
type Command struct {
	Path                  string   // of the executable: absolute, or a name that is looked up in the PATH of Env
	Args                  []string // without the name of the program
	Dir                   string   // absolute
	Env                   []string // as os.Environ has it
	Stdin, Stdout, Stderr *os.File
}

// Exit is how a program ended.
type Exit struct {
	Code   int    // if no signal ended it
	Signal string // name of the signal that ended it, such as "SIGKILL"; empty for none
}
