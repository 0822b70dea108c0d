// Package binary builds strata and runs it as its users do: in a process of its own, with a home folder of its own.
// Tests of crashes, of the command line and with other people's clients stand on it.
//
// It must never look inside the process: what it knows of a server is what server.json says.
package binary

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// path is where Main has built strata.
var path string

// Main builds strata, runs the tests of m and exits with their status. A package that starts the binary calls it
// from its TestMain. The binary has the race detector where the test has it.
func Main(m Tests) { os.Exit(buildAndRun(m)) }

// Tests are those of a package: a *testing.M, or one that does something before and after them.
type Tests interface{ Run() int }

func buildAndRun(m Tests) int {
	dir, err := os.MkdirTemp("", "strata-binary-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)

	path = filepath.Join(dir, "strata")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", path} // linked without what only debuggers read
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "strata/cmd/strata")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build strata: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
