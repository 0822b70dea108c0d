package mcp

import (
	"fmt"
	"sync"
	"testing"

	"strata/session/servers"
)

func TestAServerStartsAndItsToolsCanBeCalled(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{})
	state := u.ready()
	equal(t, "tools", state.Tools, []servers.Tool{{Name: "echo", Description: "does echo", Schema: []byte(`{"type":"object"}`)}})
	text, err := u.call("echo", members{"text": "hello"})
	must(t, err)
	equal(t, "result", text, "hello")
}

// uses returns the number of uses of each server.
func (h *Host) uses() (all []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.running {
		s.mu.Lock()
		all = append(all, len(s.uses))
		s.mu.Unlock()
	}
	return all
}

func TestEqualUsesShareAServerThatEndsWithTheLast(t *testing.T) {
	h := hostOf(t, nil)
	d, at := actor(t, "in-order"), servers.Place{Folder: realFolder(t), Environment: []string{"PATH=/bin", "SECRET=1"}}
	first := take(t, h, d, at)
	first.ready()
	trusted, other := d, at
	trusted.Trusted = true
	other.Environment = []string{"SECRET=2", "PATH=/bin"}
	second := take(t, h, trusted, other)
	equal(t, "uses", h.uses(), []int{2})
	second.ready()
	first.Release()
	first.Release()
	text, err := second.call("echo", members{"text": "still here"})
	must(t, err)
	equal(t, "result", text, "still here")
	s := second.Server.(*use).server
	second.Release()
	<-s.done
	equal(t, "servers", len(h.uses()), 0)
	if _, err := second.call("echo", nil); err == nil {
		t.Error("a call after the end has a result")
	}
}

func TestUsesThatDifferDoNotShareAServer(t *testing.T) {
	d, at := servers.Definition{Name: "a", Command: "c"}, servers.Place{Folder: "/f", Environment: []string{"PATH=/bin"}}
	base := identify(d, at)
	for name, change := range map[string]func(d *servers.Definition, at *servers.Place){
		"name":        func(d *servers.Definition, _ *servers.Place) { d.Name = "b" },
		"command":     func(d *servers.Definition, _ *servers.Place) { d.Command = "d" },
		"arguments":   func(d *servers.Definition, _ *servers.Place) { d.Args = []string{"x"} },
		"variables":   func(d *servers.Definition, _ *servers.Place) { d.Env = []string{"X=1"} },
		"folder":      func(_ *servers.Definition, at *servers.Place) { at.Folder = "/g" },
		"roots":       func(_ *servers.Definition, at *servers.Place) { at.Roots = []string{"/g"} },
		"environment": func(_ *servers.Definition, at *servers.Place) { at.Environment = []string{"PATH=/usr/bin"} },
		"URL":         func(d *servers.Definition, _ *servers.Place) { d.URL = "http://x" },
		"headers":     func(d *servers.Definition, _ *servers.Place) { d.Headers = []servers.Header{{Name: "a"}} },
	} {
		d, at := d, at
		change(&d, &at)
		if identify(d, at) == base {
			t.Errorf("%s changes nothing", name)
		}
	}
	d.Trusted = true
	equal(t, "identity of a trusted server", identify(d, at), base)
	web := servers.Definition{Name: "a", URL: "http://x"}
	equal(t, "identity of one over HTTP", identify(web, at), identify(web, servers.Place{Folder: "/f"}))
}

func TestServersEndWithTheirHost(t *testing.T) {
	h := New(Options{})
	h.limits.stop = standard.stop / 20
	u := take(t, h, actor(t, "in-order stays"), servers.Place{})
	u.ready()
	calls := make(chan error, 1)
	go func() { _, err := u.call("hang", members{}); calls <- err }()
	h.Close()
	if err := <-calls; err == nil {
		t.Error("a call has a result")
	}
	equal(t, "status", u.failed().Status, servers.Failed)
	late := h.Use(actor(t, "in-order"), servers.Place{Folder: t.TempDir()}, func() {})
	hasAll(t, late.State().Error, "closing")
	if _, err := late.Call(t.Context(), "echo", nil, nil); err == nil {
		t.Error("a call of a closed host has a result")
	}
	late.Wake()
	late.Release()
	h.Close()
}

func TestManySessionsUseServersAtTheSameTime(t *testing.T) {
	h := hostOf(t, nil)
	at := servers.Place{Folder: realFolder(t)}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 3 {
				u := h.Use(actor(t, fmt.Sprint("in-order ", i%2)), at, func() {})
				r, err := u.Call(t.Context(), "echo", []byte(`{"text":"hello"}`), func(string) {})
				if err != nil || textOf(r.Content) != "hello" {
					t.Errorf("%v, %v", r, err)
				}
				u.State()
				u.Wake()
				u.Release()
			}
		})
	}
	group.Wait()
	equal(t, "servers", len(h.uses()), 0)
}
