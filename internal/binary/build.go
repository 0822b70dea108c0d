// Package binary builds strata and runs it as its users do: in its own process, with its own home folder. It is used by
// tests of crashes, of the command line and with third-party clients.
//
// It must never look inside the process: it knows only the content of server.json.
package binary

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// path is the path of the binary that Main built or was given.
var path string

// The variables by which a Makefile that runs many packages gives all of them one binary, instead of one build and link
// for each. It must be built from these sources without the race detector.
const (
	givenBinary = "STRATA_TEST_BINARY"       // its absolute path
	givenBuild  = "STRATA_TEST_BINARY_BUILD" // its build ID: `go test` repeats the tests if this value changes
)

// Main builds strata, runs the tests of m and exits with their status. A package that starts the binary calls it
// from its TestMain. The binary is built with the race detector if the test is.
func Main(m Tests) { os.Exit(buildAndRun(m)) }

// Tests are the tests of a package: a *testing.M, or a wrapper that does something before and after them.
type Tests interface{ Run() int }

func buildAndRun(m Tests) int {
	if given := os.Getenv(givenBinary); given != "" && os.Getenv(givenBuild) != "" && !raceEnabled {
		path = given
		return m.Run()
	}
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
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", path} // without debug information
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "strata/cmd/strata")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build strata: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
