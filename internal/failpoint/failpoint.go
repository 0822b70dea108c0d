// Package failpoint kills or delays the process at named points, so that tests can check the state after a crash, and the
// work on a slow disk.
//
// A point calls Hit with its name. Nothing happens unless the name was given to Arm, which is done only through the
// hidden environment variable STRATA_FAILPOINT of a process under test.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Env is the environment variable that arms failpoints, separated by commas: NAME, or NAME:N for the Nth hit, kills;
// NAME=200ms delays each hit.
const Env = "STRATA_FAILPOINT"

type armed struct {
	left  atomic.Int64
	delay time.Duration // 0: kill
}

var current atomic.Pointer[map[string]*armed] // by name

// Arm selects the failpoints, in the format of Env. An empty spec disarms.
func Arm(spec string) error {
	points := make(map[string]*armed)
	for one := range strings.SplitSeq(spec, ",") {
		if one == "" {
			continue
		}
		name, a, err := parse(one)
		if err != nil {
			return err
		}
		points[name] = a
	}
	current.Store(&points)
	return nil
}

// parse reads one failpoint.
func parse(spec string) (name string, a *armed, err error) {
	a = new(armed)
	if name, delay, found := strings.Cut(spec, "="); found {
		a.delay, err = time.ParseDuration(delay)
		if err != nil || a.delay <= 0 {
			return "", nil, fmt.Errorf("%s: %q is not a delay", Env, delay)
		}
		return name, a, nil
	}
	name, count, found := strings.Cut(spec, ":")
	n := int64(1)
	if found {
		if n, err = strconv.ParseInt(count, 10, 64); err != nil || n < 1 {
			return "", nil, fmt.Errorf("%s: %q is not a count", Env, count)
		}
	}
	a.left.Store(n)
	return name, a, nil
}

// Hit kills the process with SIGKILL if name is armed and this is the selected hit, or sleeps if name has a delay.
func Hit(name string) {
	points := current.Load()
	if points == nil {
		return
	}
	a := (*points)[name]
	switch {
	case a == nil:
		return
	case a.delay > 0:
		time.Sleep(a.delay)
		return
	case a.left.Add(-1) != 0:
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGKILL)
	}
	if err != nil {
		os.Exit(137)
	}
	select {}
}
