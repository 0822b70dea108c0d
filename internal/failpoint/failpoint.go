// Package failpoint kills the process at named points, so that tests can check the state after a crash.
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
)

// Env is the environment variable that arms one failpoint: NAME, or NAME:N for the Nth hit.
const Env = "STRATA_FAILPOINT"

type armed struct {
	name string
	left atomic.Int64
}

var current atomic.Pointer[armed]

// Arm selects the failpoint that kills the process, in the format of Env. An empty spec disarms.
func Arm(spec string) error {
	if spec == "" {
		current.Store(nil)
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

// Hit kills the process with SIGKILL if name is armed and this is the selected hit.
func Hit(name string) {
	a := current.Load()
	if a == nil || a.name != name || a.left.Add(-1) != 0 {
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
