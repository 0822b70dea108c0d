package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"strata/history"
	"strata/session/mailbox"
	"strata/session/tools"
)

// source is a Source whose servers do what a test says.
type source struct {
	mu   sync.Mutex
	uses []*server
}

func (s *source) Use(d Definition, at Place, changed func()) Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &server{definition: d, place: at, changed: changed, state: State{Status: Starting}}
	s.uses = append(s.uses, one)
	return one
}

// all returns the servers, in the order of their uses.
func (s *source) all() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.uses)
}

// running returns the names of the servers that are in use, by use, with their folders.
func (s *source) running() (names []string) {
	for _, one := range s.all() {
		if one.count(&one.released) == 0 {
			names = append(names, one.definition.Name+" in "+one.place.Folder)
		}
	}
	return names
}

// server is a use of a server.
type server struct {
	definition Definition
	place      Place
	changed    func()

	mu       sync.Mutex
	state    State
	looks    int
	woken    int
	released int
	call     func(ctx context.Context, tool string, input json.RawMessage, progress func(string)) (Result, error)
}

func (s *server) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.state
}

func (s *server) Wake() { s.add(&s.woken) }

func (s *server) Release() { s.add(&s.released) }

func (s *server) add(to *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*to++
}

func (s *server) count(of *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *of
}

func (s *server) Call(ctx context.Context, tool string, input json.RawMessage, progress func(string)) (Result, error) {
	return s.call(ctx, tool, input, progress)
}

// is sets the state, and reports the change.
func (s *server) is(state State) {
	s.mu.Lock()
	s.state = state
	s.mu.Unlock()
	s.changed()
}

func (s *server) ready(names ...string) { s.is(State{Status: Ready, Tools: toolsNamed(names...)}) }

func (s *server) fails(why string) {
	s.is(State{Status: Failed, Error: why, Tools: s.State().Tools})
}

func toolsNamed(names ...string) (all []Tool) {
	for _, name := range names {
		all = append(all, Tool{Name: name, Description: "Does " + name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return all
}

// session is the servers of one session, with its mailbox.
type session struct {
	*Servers
	box    *mailbox.Mailbox
	source *source

	mu      sync.Mutex
	folder  string // empty: it cannot be opened
	notices []string
}

func newSession(t *testing.T, configured ...Definition) *session {
	t.Helper()
	src := &source{}
	return sessionIn(t, src, NewDirectory(src, configured, func() {}))
}

// sessionIn returns a session of a directory.
func sessionIn(t *testing.T, src *source, d *Directory) *session {
	t.Helper()
	s := &session{source: src, folder: "/work", box: mailbox.New("session", slog.New(slog.DiscardHandler), func() {})}
	s.Servers = New(s.box, Services{Directory: d, Place: s.place, Notify: s.notify})
	s.box.Open()
	done := make(chan struct{})
	s.box.Start(func() { close(done) })
	t.Cleanup(func() {
		s.box.Tell(func() {
			s.Close()
			s.box.End(mailbox.ErrClosed)
		}, nil)
		<-done
	})
	return s
}

func (s *session) place() (Place, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Place{Folder: s.folder}, s.folder != ""
}

func (s *session) notify(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, text)
}

// does runs a job on the mailbox, after those that were posted before.
func (s *session) does(job func()) {
	done := make(chan struct{})
	s.box.Tell(func() {
		defer close(done)
		job()
	}, nil)
	<-done
}

// told returns the notices since the last call.
func (s *session) told() []string {
	s.does(func() {})
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.notices
	s.notices = nil
	return told
}

func (s *session) tools(room int, taken ...string) (all []tools.Tool) {
	s.does(func() { all = s.Tools(room, func(name string) bool { return slices.Contains(taken, name) }) })
	return all
}

func (s *session) names() (names []string) {
	for _, t := range s.tools(tools.MaxTools) {
		names = append(names, t.Name)
	}
	return names
}

func command(name string, args ...string) Definition {
	return Definition{Name: name, Command: "/bin/" + name, Args: args}
}

func want[T any](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", wanted); a != b {
		t.Errorf("%s: got %s, want %s", what, a, b)
	}
}

func textOf(r tools.Result) string {
	var all string
	for _, b := range r.Content {
		all += b.Text
	}
	return all
}

func words(text string) []history.Block {
	return []history.Block{{Type: history.BlockText, Text: text}}
}
