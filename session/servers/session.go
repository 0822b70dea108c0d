package servers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"strata/internal/clip"
	"strata/session/mailbox"
	"strata/session/tools"
)

// Services are the parts of the session and of the Strata server that the servers of a session need. The functions are called
// on the mailbox.
type Services struct {
	Directory *Directory           // nil: there are no servers
	Place     func() (Place, bool) // the folder and the roots of the session; false: they cannot be opened
	Notify    func(text string)    // sends the session's subscribers a notice for their user
}

// Servers are the MCP servers of one session. They belong to the session's mailbox, except for Open.
//
// They start when a client opens the session or sends a prompt. A client that only reads the session starts none.
type Servers struct {
	mailbox  *mailbox.Mailbox
	services Services

	opening Opening // the newest
	open    bool    // the session needs the servers
	closed  bool
	uses    []*use // by name of the definition; none unless open

	told    map[fault]bool // faults of tools of which the user knows
	waiting chan struct{}  // closed when the first start of each server has ended; nil: nobody waits
	posted  atomic.Bool    // a look at the servers is in the mailbox
}

// Opening contains the servers and the environment of a client that opens a session.
type Opening struct {
	Named       []Definition // servers that the client names; they replace all named before, unless there are none
	Environment []string     // for programs that run on the client's behalf; nil: the previous one remains
}

// In returns the opening with the environment of a client; nil does not change it.
func (o Opening) In(environment []string) Opening {
	if environment != nil {
		o.Environment = environment
	}
	return o
}

// use is the session's use of one server.
type use struct {
	definition Definition
	at         Place
	server     Server

	offer   *offer // of the newest list; nil: none was ever listed
	tried   bool   // the first start has ended
	trouble string // that the user was told of: the error of the newest state after a start; empty for none
}

// New returns the servers of a session that nobody has opened.
func New(m *mailbox.Mailbox, services Services) *Servers {
	return &Servers{mailbox: m, services: services, told: make(map[fault]bool)}
}

// Open records, from any goroutine, that a client opens the session, and starts the servers.
func (s *Servers) Open(o Opening) {
	s.mailbox.Tell(func() { s.need(o) }, nil)
}

// Prompted records that a prompt needs the servers. environment returns the environment of its client. It is used only if no
// client has opened the session.
func (s *Servers) Prompted(environment func() []string) {
	switch {
	case s.services.Directory == nil:
	case s.open:
		s.wake()
	default:
		s.need(Opening{Environment: environment()})
	}
}

// need starts the servers that are not running.
func (s *Servers) need(o Opening) {
	if len(o.Named) > 0 {
		s.opening.Named = o.Named
	}
	s.opening = s.opening.In(o.Environment)
	s.open = true
	s.wake()
	s.use()
}

// wake restarts the servers that have failed.
func (s *Servers) wake() {
	for _, u := range s.uses {
		if u.server.State().Status == Failed {
			u.server.Wake()
		}
	}
}

// Moved records that the folders of the session have changed.
func (s *Servers) Moved() {
	if s.open {
		s.use()
	}
}

// Opening returns the servers and the environment of the clients that opened the session, for a fork.
func (s *Servers) Opening() Opening { return s.opening }

// use replaces the uses by those of the current definitions, folders and environment. It starts servers before it releases
// others, so that a shared server does not end.
func (s *Servers) use() {
	if s.closed || s.services.Directory == nil {
		return
	}
	before := s.uses
	s.uses = nil
	at, ok := s.services.Place()
	at.Environment = s.opening.Environment
	if ok {
		for _, d := range s.definitions() {
			s.uses = append(s.uses, s.useOf(before, d, at))
		}
	}
	for _, u := range before {
		if !slices.Contains(s.uses, u) {
			u.server.Release()
		}
	}
	s.look()
}

// useOf returns the use of a definition: the previous one if nothing has changed. A new use has the tools of the previous one
// until its server has listed its tools.
func (s *Servers) useOf(before []*use, d Definition, at Place) *use {
	next := &use{definition: d, at: at}
	for _, u := range before {
		if u.definition.Name != d.Name {
			continue
		}
		if u.definition.Equal(&d) && u.at.equal(&at) {
			return u
		}
		next.offer = u.offer
	}
	next.server = s.services.Directory.Use(d, at, s.changed)
	return next
}

// definitions returns the definitions of the configuration and of the editor, sorted by name. Those of the editor replace
// others of the same name.
func (s *Servers) definitions() []Definition {
	all := slices.Clone(s.opening.Named)
	for _, d := range s.services.Directory.configured {
		if !slices.ContainsFunc(s.opening.Named, func(named Definition) bool { return named.Name == d.Name }) {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// find returns the use of the server with a name, nil for none.
func (s *Servers) find(name string) *use {
	for _, u := range s.uses {
		if u.definition.Name == name {
			return u
		}
	}
	return nil
}

// changed reports, from any goroutine, that the state of a server has changed.
func (s *Servers) changed() {
	if s.posted.Swap(true) {
		return
	}
	s.mailbox.Tell(func() {
		s.posted.Store(false)
		s.look()
	}, nil)
}

// look reads the states of the servers.
func (s *Servers) look() {
	for _, u := range s.uses {
		s.take(u, u.server.State())
	}
	if s.waiting != nil && !s.starting() {
		close(s.waiting)
		s.waiting = nil
	}
}

// take applies the state of a server. A server that is not running keeps the tools that it has listed.
func (s *Servers) take(u *use, state State) {
	if state.Status == Ready || len(state.Tools) > 0 {
		if u.offer == nil || !u.offer.lists(state.Tools) {
			u.offer = newOffer(u.definition.Name, state.Tools)
			s.tell(u.definition.Name, u.offer.faults)
		}
	}
	if state.Status == Starting {
		return
	}
	u.tried = true
	trouble := clip.Line(state.Error, maxError)
	if state.Status == Failed {
		trouble = "failed: " + cmp.Or(trouble, "unknown error")
	}
	if trouble != "" && trouble != u.trouble {
		s.services.Notify(fmt.Sprintf("MCP server %s: %s", clip.Name(u.definition.Name), trouble))
	}
	u.trouble = trouble
}

// maxError is the maximum length of a server's error in a notice or a result, in characters.
const maxError = 500

// starting reports whether a server starts for the first time.
func (s *Servers) starting() bool {
	return slices.ContainsFunc(s.uses, func(u *use) bool { return !u.tried })
}

// Starting returns a channel that is closed when the first start of each server of the session has ended; nil if all have
// ended.
func (s *Servers) Starting() <-chan struct{} {
	s.look()
	if !s.starting() {
		return nil
	}
	if s.waiting == nil {
		s.waiting = make(chan struct{})
	}
	return s.waiting
}

// startTime is how long a prompt waits for servers that start.
const startTime = 5 * time.Second

// Await waits until the channel of Starting is closed, the time of a prompt has passed, or ctx ends.
func Await(ctx context.Context, started <-chan struct{}) {
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	select {
	case <-started:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// MaxDefinitions is the maximum total size of the tool definitions of a session's servers, in bytes.
const MaxDefinitions = 512 << 10

// Tools implements toolbox.Servers.
func (s *Servers) Tools(room int, taken func(name string) bool) (all []tools.Tool) {
	s.look()
	bytes := MaxDefinitions
	used := make(map[string]bool)
	for _, u := range s.uses {
		if u.offer == nil {
			continue
		}
		server := &tools.Server{Name: u.definition.Name, Trusted: u.definition.Trusted}
		var full []fault
		for _, t := range u.offer.tools {
			d := t.definition
			if len(all) >= room || d.Size() > bytes {
				full = append(full, fault{t.name, "too many tools"})
				continue
			}
			d.Name = free(d.Name, func(name string) bool { return used[name] || taken(name) })
			used[d.Name] = true
			bytes -= d.Size()
			all = append(all, tools.Tool{Definition: d, Kind: tools.KindOther, Server: server, Run: s.runner(server, t.name, d.Name)})
		}
		s.tell(u.definition.Name, full)
	}
	return all
}

// The bounds of notices about omitted tools.
const (
	maxTold    = 4096 // faults that are remembered
	maxToldOne = 8    // tools in a notice
)

// tell notifies the user once of each tool of a server that is not offered to the model.
func (s *Servers) tell(server string, faults []fault) {
	var news []string
	for _, f := range faults {
		of := fault{server + "\x00" + f.tool, f.why}
		if s.told[of] {
			continue
		}
		if len(s.told) >= maxTold {
			clear(s.told)
		}
		s.told[of] = true
		news = append(news, fmt.Sprintf("%s (%s)", clip.Name(f.tool), f.why))
	}
	if len(news) == 0 {
		return
	}
	more := ""
	if n := len(news) - maxToldOne; n > 0 {
		news, more = news[:maxToldOne], fmt.Sprintf(" and %d more", n)
	}
	s.services.Notify(fmt.Sprintf("MCP server %s: omitted tools: %s%s", clip.Name(server), strings.Join(news, ", "), more))
}

// Close releases all servers. Later calls start none.
func (s *Servers) Close() {
	s.closed = true
	for _, u := range s.uses {
		u.server.Release()
	}
	s.uses = nil
}
