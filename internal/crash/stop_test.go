package crash

import (
	"context"
	"flag"
	"os/exec"
	"strings"
	"testing"
	"time"

	"strata/historystore"
	"strata/internal/binary"
)

var stops = flag.Int("stops", 4, "how often a server is stopped and another one is started")

// whileLocked is the time for which a database stays locked while a command looks for a server.
const whileLocked = time.Second

// startsOffline is a home whose sessions use the offline model.
func startsOffline(t *testing.T) *binary.Home {
	t.Helper()
	return binary.NewHome(t, "listen: 127.0.0.1:0\n")
}

// runs returns the output of a command that must succeed.
func runs(t *testing.T, home *binary.Home, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := home.Command(ctx, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("strata %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The command after `strata stop` starts a server at its first attempt, whichever command it is.
func TestF35StopAndGoOn(t *testing.T) {
	t.Parallel()
	home := startsOffline(t)
	database := ""
	for round := range *stops {
		runs(t, home, "ask", "hello")
		info, err := home.ServerFile()
		if err != nil {
			t.Fatal(err)
		}
		database = info.Database
		runs(t, home, "stop")
		if pid, held := historystore.Holder(database); held {
			t.Fatalf("round %d: process %d has the database after strata stop", round, pid)
		}
		if got := strings.Count(runs(t, home, "sessions", "ls"), "sess_"); got != round+1 {
			t.Fatalf("round %d: %d sessions", round, got)
		}
		runs(t, home, "stop")
		// A server that finds the database locked exits with an error.
		runs(t, home, "serve", "--exit-idle", "1ms")
	}
	if _, held := historystore.Holder(database); held {
		t.Error("the database is locked at the end")
	}
}

// A command that finds the database locked by a process without an address starts a server when the database is free.
func TestF35TheWaitEndsWithTheLock(t *testing.T) {
	t.Parallel()
	home := startsOffline(t)
	runs(t, home, "ask", "hello")
	info, err := home.ServerFile()
	if err != nil {
		t.Fatal(err)
	}
	runs(t, home, "stop")

	store, err := historystore.Open(t.Context(), info.Database, historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listing := home.Command(t.Context(), "sessions", "ls")
	var out strings.Builder
	listing.Stdout, listing.Stderr = &out, &out
	p := begin(t, listing)
	time.Sleep(whileLocked) // the command looks several times; too short a time only makes the test weaker
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := within(t, "strata sessions ls", p); err != nil {
		t.Errorf("strata sessions ls: %v\n%s", err, &out)
	}
	runs(t, home, "stop")
}

// While a server stops, a second `strata stop` waits as well.
func TestF35TwoStops(t *testing.T) {
	t.Parallel()
	w, release := stopping(t)
	second := w.Home.Command(t.Context(), "stop")
	var out strings.Builder
	second.Stdout, second.Stderr = &out, &out
	done := begin(t, second)
	time.Sleep(whileLocked) // as above
	release()
	if err := within(t, "the second stop", done); err != nil && !strings.Contains(out.String(), "no server is running") {
		t.Errorf("strata stop: %v\n%s", err, &out)
	}
	if _, held := historystore.Holder(w.Database); held {
		t.Error("the database is locked after the second strata stop")
	}
}

// A client that finds a server that stops starts the next one when the database is free.
func TestF35AClientWhileAServerStops(t *testing.T) {
	t.Parallel()
	w, release := stopping(t)
	listing := w.Home.Command(t.Context(), "sessions", "ls")
	var out strings.Builder
	listing.Stdout, listing.Stderr = &out, &out
	done := begin(t, listing)
	time.Sleep(whileLocked) // as above
	release()
	if err := within(t, "strata sessions ls", done); err != nil || !strings.Contains(out.String(), "sess_") {
		t.Errorf("strata sessions ls: %v\n%s", err, &out)
	}
	within(t, "the end of the first server", w.Done())
	runs(t, w.Home, "stop")
}

// stopping returns a world whose server accepts no connections any more, but cannot end before release is called: it
// tries to store a turn.
func stopping(t *testing.T) (w *world, release func()) {
	t.Helper()
	w = newWorld(t, "", binary.Options{})
	p := pause(t, w)
	release = lock(t, p.Database)
	stop := begin(t, w.Home.Command(context.Background(), "stop")) // ends after the test
	t.Cleanup(func() {
		if err := within(t, "strata stop", stop); err != nil {
			t.Errorf("strata stop: %v", err)
		}
	})
	eventually(t, "the end of the listener", func() bool {
		_, err := w.connect()
		return err != nil
	})
	return w, release
}

// begin starts a command and returns a channel that receives its result.
func begin(t *testing.T, cmd *exec.Cmd) <-chan error {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return done
}
