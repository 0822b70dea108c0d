package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// errNoAccounts is for systems that do not tell what a process uses in /proc, as Linux does.
var errNoAccounts = errors.New("this system does not tell what a process uses")

// processorTime is what all threads of a process have computed so far. A thread that has ended is not in it any more;
// those of Go programs stay.
func processorTime(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, errNoAccounts
	}
	var sum time.Duration
	for _, thread := range threads {
		content, err := os.ReadFile(thread)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		first, _, _ := strings.Cut(string(content), " ")
		ran, parseErr := strconv.ParseInt(first, 10, 64)
		if err := errors.Join(err, parseErr); err != nil {
			return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
		}
		sum += time.Duration(ran)
	}
	return sum, nil
}

// memoryOf is a line of a process's memory status, in bytes: VmRSS for what it holds of the machine's memory,
// RssAnon for what of that is no page of a file, which the system could read again.
func memoryOf(pid int, line string) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, errNoAccounts
	}
	for text := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(text, line+":"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s", pid, line)
}

// loadOfMachine is the load average of the last minute, or "unknown".
func loadOfMachine() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(content), " ")
	return first
}
