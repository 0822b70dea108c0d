//go:build unix && !linux

package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var errSupervisorGone = errors.New("its supervisor did not start: if Strata was updated, restart the server")

// ownExecutable returns the path that this process was started from.
func ownExecutable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", errors.New("the file " + path + " was removed: restart the server")
	}
	return path, nil
}

// closeOnExec keeps the supervisor's files from programs.
func closeOnExec() {
	unix.CloseOnExec(controlFile)
	unix.CloseOnExec(reportFile)
}

func adopt() {}

// groupLives reports whether a process is in a group, which it is until its parent has waited for it.
func groupLives(group int) bool { return unix.Kill(-group, 0) == nil }

// remains returns the group: these systems do not tell which processes have left it.
func remains(_, _ bool, _ <-chan struct{}) processes { return leaveGroup() }
