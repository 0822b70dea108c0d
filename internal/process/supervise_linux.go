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

// remains returns all descendants, or only the group.
func remains(groupOnly, all bool, none <-chan struct{}) processes {
	_, err := os.Stat("/proc/self/stat")
	switch group := unix.Getpgrp(); {
	case err != nil || groupOnly:
		return leaveGroup()
	case all:
		return descendants{group, none}
	default:
		return members{group, none}
	}
}

// members are the processes of the supervisor's group. It ends with them.
type members struct {
	group int
	none  <-chan struct{} // closed when there are no children, and so no descendants
}

func (m members) signal(s unix.Signal) { unix.Kill(-m.group, s) }

func (m members) any() bool { return !closed(m.none) && groupLives(m.group) }

// descendants are those of the supervisor. When one ends, its children become children of the supervisor.
type descendants struct {
	group int
	none  <-chan struct{} // closed when there are no children, and so no descendants
}

// signal sends a signal to each group at one moment: a process that is being made would be missed if its parent were sent one
// alone. It sends SIGKILL to the members of the supervisor's own group one by one.
func (d descendants) signal(signal unix.Signal) {
	found := d.list()
	groups := map[int]bool{d.group: signal != unix.SIGKILL}
	for _, s := range found {
		if s.pid == s.group {
			groups[s.group] = true // its leader is a descendant, so it is no group of others
		}
	}
	for _, s := range found {
		if !groups[s.group] {
			unix.Kill(s.pid, signal)
		}
	}
	for group, whole := range groups {
		if whole {
			unix.Kill(-group, signal)
		}
	}
}

// any does not rely on list, which misses a process whose parent has ended meanwhile.
func (d descendants) any() bool { return !closed(d.none) }

// list returns descendants.
func (d descendants) list() []stat {
	children := map[int][]stat{}
	for _, pid := range processIDs() {
		if s, ok := readStat(pid); ok {
			children[s.parent] = append(children[s.parent], s)
		}
	}
	var found []stat
	for parents := []int{unix.Getpid()}; len(parents) > 0; parents = parents[1:] {
		for _, s := range children[parents[0]] {
			found, parents = append(found, s), append(parents, s.pid)
		}
		delete(children, parents[0]) // process IDs that were used again must not make a cycle
	}
	return found
}

// groupLives reports whether a process of a group lives, apart from this one. Dead processes stay in it until their parent has
// waited for them.
func groupLives(group int) bool {
	if unix.Kill(-group, 0) != nil {
		return false
	}
	for _, pid := range processIDs() {
		if s, ok := readStat(pid); ok && s.group == group && !s.dead && pid != unix.Getpid() {
			return true
		}
	}
	return false
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
