package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/internal/leak"
	"strata/internal/process"
	"strata/session/servers"
)

// actorVariable makes the test program a server that acts as its value says.
const actorVariable = "STRATA_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	process.Supervise()
	if script := os.Getenv(actorVariable); script != "" {
		if script == "parent" {
			actParent()
		}
		act(script)
		return
	}
	leak.Main(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// hasAll checks that a text contains all parts.
func hasAll(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%.2000s", part, text)
		}
	}
}

// patience is the longest time for anything that happens for sure. Only a fault reaches it.
const patience = time.Minute

// hostOf returns a host with limits that a test has changed.
func hostOf(t testing.TB, change func(*limits)) *Host {
	t.Helper()
	h := New(Options{Version: "1.2.3"})
	if change != nil {
		change(&h.limits)
	}
	t.Cleanup(h.Close)
	return h
}

// used is a server in use, whose changes a test can wait for.
type used struct {
	servers.Server
	t       testing.TB
	changes chan struct{}
}

func take(t testing.TB, h *Host, d servers.Definition, at servers.Place) *used {
	t.Helper()
	if at.Folder == "" {
		at.Folder = t.TempDir()
	}
	u := &used{t: t, changes: make(chan struct{}, 1)}
	u.Server = h.Use(d, at, func() {
		select {
		case u.changes <- struct{}{}:
		default:
		}
	})
	t.Cleanup(u.Release)
	return u
}

// actor returns the definition of the test program as a server.
func actor(t testing.TB, script string) servers.Definition {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	return servers.Definition{Name: "actor", Command: self, Env: []string{actorVariable + "=" + script}}
}

// until waits for a state.
func (u *used) until(what string, ok func(servers.State) bool) servers.State {
	u.t.Helper()
	giveUp := time.After(patience)
	for {
		state := u.State()
		if ok(state) {
			return state
		}
		select {
		case <-u.changes:
		case <-giveUp:
			u.t.Fatalf("the server is not %s: %s, %d tools, %s", what, state.Status, len(state.Tools), state.Error)
		}
	}
}

func (u *used) ready() servers.State {
	u.t.Helper()
	state := u.until("ready or failed", func(s servers.State) bool { return s.Status != servers.Starting })
	if state.Status != servers.Ready {
		u.t.Fatalf("the server failed: %s", state.Error)
	}
	return state
}

// untilReady starts the server again until it is ready.
func (u *used) untilReady() {
	u.t.Helper()
	for u.until("ready or failed", func(s servers.State) bool { return s.Status != servers.Starting }).Status != servers.Ready {
		u.Wake()
	}
}

func (u *used) failed() servers.State {
	u.t.Helper()
	return u.until("failed", func(s servers.State) bool { return s.Status == servers.Failed })
}

// call runs a tool and returns the text of its result.
func (u *used) call(tool string, input any) (string, error) {
	u.t.Helper()
	r, err := u.run(u.t.Context(), tool, input, func(string) {})
	return textOf(r.Content), err
}

func (u *used) run(ctx context.Context, tool string, input any, progress func(string)) (servers.Result, error) {
	u.t.Helper()
	data, err := json.Marshal(input)
	must(u.t, err)
	return u.Call(ctx, tool, data, progress)
}

func textOf(blocks []history.Block) string {
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}

func names(tools []servers.Tool) []string {
	names := []string{}
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

type members = map[string]any

// realFolder returns a temporary folder without links in its path.
func realFolder(t testing.TB) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return folder
}
