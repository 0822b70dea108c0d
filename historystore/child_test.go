package historystore

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"strata/historystore/database"
	"strata/internal/failpoint"
)

// A test that needs a second process runs its own binary again, with the child's role in childEnv.
const (
	childEnv = "STRATA_TEST_CHILD"
	pathEnv  = "STRATA_TEST_DB"
)

// The roles of a child.
const (
	childWrites = "write" // runs the script of crash_test.go and prints the name of each completed step
	childHolds  = "hold"  // holds a write transaction, prints "held", and exits when its input is closed
	childPacks  = "pack"  // stores a long session and packs its heads
	childOpens  = "open"  // opens the store, prints "opened", and closes it when its input is closed
)

func runChild(role string) int {
	var err error
	path := os.Getenv(pathEnv)
	switch role {
	case childWrites:
		err = armed(path, runSteps)
	case childPacks:
		err = armed(path, packUntilKilled)
	case childHolds:
		err = holdLock(path)
	case childOpens:
		err = openUntilEOF(path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// armed opens a store with the failpoints of the environment, and runs do.
func armed(path string, do func(s *Store) error) error {
	if err := failpoint.Arm(os.Getenv(failpoint.Env)); err != nil {
		return err
	}
	s, err := Open(context.Background(), path, Options{Now: testNow})
	if err != nil {
		return err
	}
	if err := do(s); err != nil {
		return err
	}
	return s.Close()
}

func runSteps(s *Store) error {
	for _, step := range script {
		if err := step.run(s); err != nil {
			return err
		}
		fmt.Println(step.name)
	}
	return nil
}

func holdLock(path string) error {
	db, err := sql.Open("sqlite", database.Name(path, "rw"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func openUntilEOF(path string) error {
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return s.Close()
}

func childCommand(t *testing.T, role, path string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+role, pathEnv+"="+path)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// startChild returns when the child has printed its first line. stop ends the child cleanly and waits for it; it can be
// called from any goroutine and more than once.
func startChild(t *testing.T, role, path string) (pid int, stop func()) {
	t.Helper()
	cmd := childCommand(t, role, path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		stdin.Close()
		cmd.Wait()
	})
	t.Cleanup(stop)
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal("child: ", err)
	}
	return cmd.Process.Pid, stop
}

// runScript runs the script in a child that is killed at the failpoint, and returns the steps reported as completed.
func runScript(t *testing.T, path, point string) []string {
	t.Helper()
	cmd := childCommand(t, childWrites, path, failpoint.Env+"="+point)
	out, err := cmd.Output()
	if err == nil {
		t.Fatalf("failpoint %s was never reached", point)
	}
	return strings.Fields(string(out))
}
