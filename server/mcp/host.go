// Package mcp runs servers of the Model Context Protocol for sessions: over stdin and stdout of a process, and over HTTP. The
// official SDK implements the protocol. This package starts, shares and ends the servers, and bounds everything that they send.
//
// It must never know how a session uses a server, and never trust a message of a server.
package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"strata/session/servers"
)

// closing is the maximum time for the end of all servers.
const closing = 10 * time.Second

// Options configure a Host.
type Options struct {
	Log     *slog.Logger // nil: none
	Version string       // of this program, sent to servers
}

// Host runs all MCP servers that sessions use. It implements servers.Source, and is safe for concurrent use.
type Host struct {
	options Options
	limits  limits
	start   starter

	mu      sync.Mutex
	closed  bool
	running map[identity]*server // with uses
	ending  sync.WaitGroup       // servers whose last use has ended
}

// New returns a host without servers. The caller must close it.
func New(o Options) *Host {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Host{options: o, limits: standard, start: startProcess, running: make(map[identity]*server)}
}

// identity is equal for uses that share a server.
type identity [sha256.Size]byte

// identify returns the identity of a definition in a place. It does not depend on the user's trust
// in the server. Of the environment, it contains only the variables that the process gets.
func identify(d servers.Definition, at servers.Place) identity {
	var variables []string
	if d.Command != "" {
		variables = environment(d, at)
	}
	d.Trusted, d.Env, at.Environment = false, nil, nil
	data, err := json.Marshal([]any{d, at, variables})
	if err != nil {
		panic(err) // texts only
	}
	return sha256.Sum256(data)
}

// Use implements servers.Source. A closed host returns a server that has failed.
func (h *Host) Use(d servers.Definition, at servers.Place, changed func()) servers.Server {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return closedServer{}
	}
	id := identify(d, at)
	s := h.running[id]
	if s == nil {
		s = newServer(d, at, h.options.Log, h.limits, h.options.Version, h.reach(d, at))
		h.running[id] = s
	}
	return h.add(id, s, changed)
}

func (h *Host) add(id identity, s *server, changed func()) *use {
	u := &use{server: s, changed: changed}
	u.release = sync.OnceFunc(func() { h.remove(id, s, u) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses[u] = true
	return u
}

// remove ends a use, and the server with its last one.
func (h *Host) remove(id identity, s *server, u *use) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.mu.Lock()
	delete(s.uses, u)
	last := len(s.uses) == 0
	s.mu.Unlock()
	if !last || h.closed {
		return
	}
	delete(h.running, id)
	s.end()
	h.ending.Go(func() { <-s.done })
}

// reach returns a function that begins a link to a server.
func (h *Host) reach(d servers.Definition, at servers.Place) func(*inbox) (link, error) {
	return func(in *inbox) (link, error) {
		switch {
		case d.Fault != "":
			return nil, errors.New(d.Fault)
		case d.Command != "":
			return startStdio(h.start, commandOf(d, at), in, h.limits)
		case d.URL != "":
			return newHTTP(d, in, h.limits)
		}
		return nil, errors.New("the server has neither a command nor a URL")
	}
}

// Close ends all servers, and waits until they have ended, at most 10 s. Calls of their tools fail.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	for id, s := range h.running {
		delete(h.running, id)
		s.end()
		h.ending.Go(func() { <-s.done })
	}
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() { h.ending.Wait(); close(ended) }()
	patience := time.NewTimer(closing)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		h.options.Log.Warn("MCP servers did not end in time")
	}
}

// closedServer is the server of a closed host.
type closedServer struct{}

var errHostClosed = errors.New("the program is closing, so MCP servers are unavailable")

func (closedServer) State() servers.State {
	return servers.State{Status: servers.Failed, Error: errHostClosed.Error()}
}
func (closedServer) Wake()    {}
func (closedServer) Release() {}
func (closedServer) Call(context.Context, string, json.RawMessage, func(string)) (servers.Result, error) {
	return servers.Result{}, errHostClosed
}
