package process

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

var errSupervisorGone = errors.New("its supervisor was killed")

// ownExecutable returns the path of the executable of this process. It leads to the file that the process was started from
// even if that has been replaced or removed.
func ownExecutable() (string, error) {
	const link = "/proc/self/exe"
	if _, err := os.Lstat(link); err == nil {
		return link, nil
	}
	return os.Executable()
}

// closeOnExec keeps all files from programs but the standard ones: also those that the starting process has inherited.
func closeOnExec() {
	if unix.CloseRange(controlFile, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // before Linux 5.11
		unix.CloseOnExec(controlFile)
		unix.CloseOnExec(reportFile)
	}
}

// adopt makes this process the parent of all descendants whose parents end.
func adopt() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// groupLives reports whether a process of a group lives. Dead processes stay in it until their parent has waited for them.
func groupLives(group int) bool {
	if unix.Kill(-group, 0) != nil {
		return false
	}
	for _, pid := range processIDs() {
		if s, ok := readStat(pid); ok && s.group == group && !s.dead {
			return true
		}
	}
	return false
}

// remains returns all descendants, or only those in the group.
func remains(groupOnly, all bool, none <-chan struct{}) processes {
	if _, err := os.Stat("/proc/self/stat"); err != nil || groupOnly {
		return leaveGroup()
	}
	return &descendants{all: all, group: unix.Getpgrp(), none: none}
}

// descendants are those of this process.
type descendants struct {
	all   bool // not only those in the group
	group int
	none  <-chan struct{} // closed when there are no children, and so no descendants
}

// signal sends a signal to the group at one moment, except for SIGKILL, which the supervisor could not survive. It would miss a
// process that is being made if it sent the signal to one after the other.
func (d *descendants) signal(signal unix.Signal) {
	found := d.list()
	if signal != unix.SIGKILL {
		unix.Kill(-d.group, signal)
	}
	for _, s := range found {
		if s.group != d.group || signal == unix.SIGKILL {
			unix.Kill(s.pid, signal)
		}
	}
}

func (d *descendants) any() bool { return len(d.list()) > 0 }

// list returns the descendants that live and may be signalled.
func (d *descendants) list() []stat {
	select {
	case <-d.none:
		return nil
	default:
	}
	children := map[int][]stat{}
	for _, pid := range processIDs() {
		if s, ok := readStat(pid); ok {
			children[s.parent] = append(children[s.parent], s)
		}
	}
	var found []stat
	for parents := []int{unix.Getpid()}; len(parents) > 0; parents = parents[1:] {
		for _, s := range children[parents[0]] {
			parents = append(parents, s.pid)
			if (d.all || s.group == d.group) && !s.dead && unix.Kill(s.pid, 0) == nil {
				found = append(found, s)
			}
		}
	}
	return found
}

func processIDs() (ids []int) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			ids = append(ids, pid)
		}
	}
	return ids
}

// stat is a part of /proc/PID/stat.
type stat struct {
	pid, parent, group int
	dead               bool
}

func readStat(pid int) (stat, bool) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, content)
}

// parseStat parses "PID (NAME) STATE PARENT GROUP …". The name can contain blanks and parentheses.
func parseStat(pid int, content []byte) (stat, bool) {
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 3 {
		return stat{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	group, err2 := strconv.Atoi(string(fields[2]))
	state := fields[0][0]
	return stat{pid, parent, group, state == 'Z' || state == 'X'}, err == nil && err2 == nil
}
