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

// Env is the environment variable that arms one failpoint: NAME, or NAME:N for the Nth hit, kills; NAME=200ms delays each hit.
const Env = "STRATA_FAILPOINT"

type armed struct {
	name  string
	left  atomic.Int64
	delay time.Duration // 0: kill
}

var current atomic.Pointer[armed]

// Arm selects the failpoint that kills the process, in the format of Env. An empty spec disarms.
func Arm(spec string) error {
	if spec == "" {
		current.Store(nil)
		return nil
	}
	if name, delay, found := strings.Cut(spec, "="); found {
		d, err := time.ParseDuration(delay)
		if err != nil || d <= 0 {
			return fmt.Errorf("%s: %q is not a delay", Env, delay)
		}
		current.Store(&armed{name: name, delay: d})
		return nil
	}
	name, count, found := strings.Cut(spec, ":")
	n := int64(1)
	if found {
		var err error
		if n, err = strconv.ParseInt(count, 10, 64); err != nil || n < 1 {
			return fmt.Errorf("%s: %q is not a count", Env, count)
		}
	}
	a := &armed{name: name}
	a.left.Store(n)
	current.Store(a)
	return nil
}

// Hit kills the process with SIGKILL if name is armed and this is the selected hit, or sleeps if name has a delay.
func Hit(name string) {
	a := current.Load()
	switch {
	case a == nil || a.name != name:
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
