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

// errNoAccounts is returned on systems without Linux's /proc.
var errNoAccounts = errors.New("the resource use of processes is not available on this system")

// processorTime returns the processor time of all threads of a process. Ended threads are not included; threads of Go
// programs do not end.
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

// memoryOf returns a line of a process's memory status, in bytes: VmRSS is its resident memory, RssAnon the part of it
// that is not backed by files.
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

// loadOfMachine returns the load average of the last minute, or "unknown".
func loadOfMachine() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(content), " ")
	return first
}
