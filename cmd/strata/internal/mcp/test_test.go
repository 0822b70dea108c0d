package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/session/servers"
)

// scripted is a source of one server, whose states follow each other one second apart.
type scripted struct {
	states   []servers.State
	released int

	mu sync.Mutex
	at int
}

func (s *scripted) Use(_ servers.Definition, _ servers.Place, changed func()) servers.Server {
	var next func()
	next = func() {
		if s.advance() {
			changed()
			changed() // once more than there is to see
			time.AfterFunc(time.Second, next)
		}
	}
	time.AfterFunc(time.Second, next)
	return s
}

// advance reports whether there is a further state.
func (s *scripted) advance() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at+1 == len(s.states) {
		return false
	}
	s.at++
	return true
}

func (s *scripted) State() servers.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[s.at]
}

func (s *scripted) Release() { s.released++ }
func (s *scripted) Wake()    {}

func (s *scripted) Call(context.Context, string, json.RawMessage, func(string)) (servers.Result, error) {
	return servers.Result{}, errors.New("no calls")
}

func TestAServerIsTried(t *testing.T) {
	starting := servers.State{Status: servers.Starting}
	ready := servers.State{Status: servers.Ready, Tools: []servers.Tool{
		{Name: "read", Description: "\nReads a \x1b[31mfile.\nAnd more."}, {Name: "titled", Title: "The title"}, {Name: "plain"},
	}}
	for name, c := range map[string]struct {
		states []servers.State
		out    string
		fault  string
	}{
		"ready":            {[]servers.State{starting, starting, ready}, "s: ready after 2s, 3 tools\n read Reads a [31mfile.\n titled The title\n plain \n", ""},
		"without tools":    {[]servers.State{starting, {Status: servers.Ready}}, "s: ready after 1s, 0 tools\n", ""},
		"failed":           {[]servers.State{starting, {Status: servers.Failed, Error: "exit code 1: stderr"}}, "", "s: failed after 1s: exit code 1: stderr"},
		"not in time":      {[]servers.State{starting}, "", "s: not ready after 5s"},
		"neither, a fault": {[]servers.State{starting, {Status: servers.Starting, Error: "no response"}}, "", "s: not ready after 5s: no response"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			s := &scripted{states: c.states}
			err := test(t.Context(), &out, s, servers.Definition{Name: "s"}, 5*time.Second)
			if got := collapse(out.String()); got != c.out {
				t.Errorf("%s: %q, want %q", name, got, c.out)
			}
			if (err != nil) != (c.fault != "") || err != nil && err.Error() != c.fault {
				t.Errorf("%s: %v, want %s", name, err, c.fault)
			}
			if s.released != 1 {
				t.Errorf("%s: released %d times", name, s.released)
			}
		})
	}
}

// Ctrl-C ends the wait, and the server.
func TestATestIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		s := &scripted{states: []servers.State{{Status: servers.Starting}}}
		err := test(ctx, new(strings.Builder), s, servers.Definition{Name: "s"}, time.Minute)
		if !errors.Is(err, context.Canceled) || s.released != 1 {
			t.Errorf("%v, released %d times", err, s.released)
		}
	})
}
