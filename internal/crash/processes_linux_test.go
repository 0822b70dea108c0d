package crash

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// supervisorMark is an argument of the supervisors of commands.
const supervisorMark = "supervise-process"

// processes returns the processes of this world that live, but for the server, each by its id and command line: those that have
// its folder in their environment or arguments, and the supervisors that the server has started.
func (w *world) processes() (all []string) {
	w.t.Helper()
	folder, child := []byte(filepath.Dir(w.Home.Project)), fmt.Appendf(nil, "\nPPid:\t%d\n", w.PID)
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, process := range found {
		line, _ := os.ReadFile(process + "/cmdline") // a process may end meanwhile
		environment, _ := os.ReadFile(process + "/environ")
		status, _ := os.ReadFile(process + "/status")
		isSupervisor := bytes.Contains(line, []byte(supervisorMark)) && bytes.Contains(status, child)
		id := filepath.Base(process)
		if id != strconv.Itoa(w.PID) && (isSupervisor || bytes.Contains(line, folder) || bytes.Contains(environment, folder)) {
			all = append(all, id+" "+spaced(line))
		}
	}
	return all
}

func spaced(cmdline []byte) string { return string(bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))) }

// lives reports whether a process lives that processes has returned.
func lives(process string) bool {
	id, line, _ := strings.Cut(process, " ")
	now, _ := os.ReadFile("/proc/" + id + "/cmdline")
	return len(now) > 0 && spaced(now) == line
}

// running returns the number of commands among processes.
func running(processes []string) (commands int) {
	for _, process := range processes {
		if strings.Contains(process, supervisorMark) {
			commands++
		}
	}
	return commands
}

// noProcesses waits until no process of this world lives but the server, nor one of those before. Processes that ignore SIGTERM
// live some seconds.
func (w *world) noProcesses(before []string) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	eventually(w.t, "the end of all processes", func() bool {
		before = slices.DeleteFunc(before, func(process string) bool { return !lives(process) })
		left := append(w.processes(), before...)
		if len(left) > 0 && time.Now().After(deadline) {
			kill(left)
			w.t.Fatalf("these processes live: %q", left)
		}
		return len(left) == 0
	})
}

// kill ends processes, so that a failed test leaves none.
func kill(processes []string) {
	for _, process := range processes {
		id, _, _ := strings.Cut(process, " ")
		if n, err := strconv.Atoi(id); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
}
