//go:build unix

package mcpcheck

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// ends waits for the end of a process.
func ends(t *testing.T, p place) {
	t.Helper()
	eventually(t, "the end of a process", func() bool { return syscall.Kill(p.PID, 0) != nil })
}

func (e *editor) hasNot(session, server string) {
	e.t.Helper()
	if c := e.uses(session, server+"__where", "{}"); c.Status != "failed" || !strings.Contains(c.Text, "there is no tool") {
		e.t.Errorf("the tool of a server that is not used: %s", c)
	}
}

func (e *editor) isListed(want ...string) {
	e.t.Helper()
	if got := e.lists(); !slices.Equal(got, want) {
		e.t.Errorf("the servers are %q, want %q", got, want)
	}
}

// The servers that an opened session names replace those named before. None leaves them, and a fork has them.
func TestWhichServersASessionHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	e := w.editor()
	folder := w.Home.Project
	session := e.open("session/new", "", folder, named(t, "one", orderly))
	one := e.finds(session, "one")
	for _, method := range []string{"session/load", "session/resume"} {
		e.open(method, session, folder)
		if again := e.finds(session, "one"); again.PID != one.PID {
			t.Errorf("%s without servers: process %d, before %d", method, again.PID, one.PID)
		}
	}
	fork := e.open("session/fork", session, folder)
	if shared := e.finds(fork, "one"); shared.PID != one.PID {
		t.Errorf("the fork has process %d, its source %d", shared.PID, one.PID)
	}
	e.isListed("one ready 2")
	e.end("session/close", fork)

	e.open("session/load", session, folder, named(t, "two", orderly))
	two := e.finds(session, "two")
	e.hasNot(session, "one")
	ends(t, one)
	e.open("session/resume", session, folder, named(t, "one", orderly))
	e.finds(session, "one")
	e.hasNot(session, "two")
	ends(t, two)
	other := e.open("session/fork", session, folder, named(t, "two", orderly))
	e.finds(other, "two")
	e.hasNot(other, "one")
	e.isListed("one ready 1", "two ready 1")
	w.Stop()
}

// Sessions share the process of a server if definition, folder and environment are equal. It ends with the last of them.
func TestSessionsShareAServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, configured(t, "own", orderly)+trusted)
	e := w.editor()
	folder, elsewhere := w.Home.Project, realFolder(t)
	open := func(e *editor, folder string, args ...string) (session string, p place) {
		session = e.open("session/new", "", folder, named(t, "shop", orderly, args...))
		return session, e.finds(session, "shop")
	}
	first, shared := open(e, folder)
	second, alike := open(w.editor(), folder)
	apart, distant := open(e, elsewhere)
	_, different := open(e, folder, "--other")
	if alike.PID != shared.PID {
		t.Errorf("equal sessions have the processes %d and %d", shared.PID, alike.PID)
	}
	if distant.PID == shared.PID || different.PID == shared.PID {
		t.Errorf("process %d is shared with another folder (%d) or definition (%d)", shared.PID, distant.PID, different.PID)
	}
	for _, p := range []struct {
		place
		folder string
	}{{shared, folder}, {distant, elsewhere}} {
		if p.Folder != p.folder || !slices.Equal(p.Roots, []string{"file://" + p.folder}) {
			t.Errorf("the server of %s works in %s, with the roots %q", p.folder, p.Folder, p.Roots)
		}
	}
	e.isListed("own ready 4", "shop ready 3", "shop ready 1")

	e.end("session/close", first)
	if still := e.finds(second, "shop"); still.PID != shared.PID {
		t.Errorf("after the end of one session: process %d, before %d", still.PID, shared.PID)
	}
	own := e.finds(apart, "own")
	e.end("session/delete", second)
	ends(t, shared)
	e.end("session/close", apart)
	ends(t, distant)
	ends(t, own)
	e.finds(e.open("session/load", first, folder), "own")
	e.hasNot(first, "shop")
	w.Stop()
}

// A server has the usual variables of the client that opened the session, and not its others.
func TestAServerHasTheEnvironmentOfItsClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	places := make(map[string]place)
	for _, zone := range []string{"Asia/Tokyo", "Africa/Lagos", ""} {
		e := w.editor()
		if zone != "" {
			env := map[string]string{"TZ": zone, "SHOP_TOKEN": "secret"}
			must(t, e.Call("_strata/environment/offer", map[string]any{"env": env}, nil))
		}
		session := e.open("session/new", "", w.Home.Project, named(t, "shop", orderly))
		places[zone] = e.finds(session, "shop")
		if p := places[zone]; p.Zone != zone || p.Token != "" {
			t.Errorf("the client with TZ %q has the server %+v", zone, p)
		}
	}
	w.Stop()
	for _, p := range places {
		if syscall.Kill(p.PID, 0) == nil {
			t.Errorf("process %d outlives a stopped program", p.PID)
		}
	}
}

func realFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return folder
}
