package main

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/historystore"
	"strata/server/access"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"strata": main, "mcpserver": mcpServer, "activator": activator})
}

// TestScripts runs the command line as a user does: real processes in a home folder per script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"awaitserver": awaitServer,
			"stopserver":  stopServer,
		},
	})
}

// setup makes the home folder of a script. Servers use a free port and end with the script.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	for _, name := range []string{"HOME", "APPDATA", "LOCALAPPDATA"} {
		env.Setenv(name, home)
	}
	env.Setenv("STRATA_LISTEN", "127.0.0.1:0")
	env.Setenv("STRATA_KEY_STORE", "file") // not the keyring of who runs the tests
	env.Defer(func() {
		if running, err := scriptServer(env.Getenv); err == nil {
			terminate(running.PID)
		}
	})
	return os.MkdirAll(home, 0o700)
}

func scriptServer(getenv func(string) string) (access.ServerFile, error) {
	return connect.FindServer(&cli.Process{Getenv: getenv})
}

// awaitServer waits until clients can find a server, and sets $SERVER to its process ID.
func awaitServer(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("SERVER", strconv.Itoa(eventually(ts, func() (int, bool) {
		running, err := scriptServer(ts.Getenv)
		return running.PID, err == nil
	})))
}

// stopServer ends the server as a service manager does, and waits until the database is free.
func stopServer(ts *testscript.TestScript, _ bool, _ []string) {
	running, err := scriptServer(ts.Getenv)
	ts.Check(err)
	ts.Check(terminate(running.PID))
	eventually(ts, func() (int, bool) {
		_, held := historystore.Holder(running.Database)
		return 0, !held
	})
}

func terminate(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(syscall.SIGTERM)
}

// patience is the time after which a step counts as hung. It measures nothing.
const patience = 2 * time.Minute

func eventually(ts *testscript.TestScript, try func() (int, bool)) int {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for giveUp := time.Now().Add(patience); time.Now().Before(giveUp); <-tick.C {
		if n, ok := try(); ok {
			return n
		}
	}
	ts.Fatalf("the expected state was not reached")
	return 0
}
