package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"strata/internal/failpoint"
	"strata/rpc"
	"strata/server/wire"
	"strata/web"
)

// routes returns the HTTP routes. WebSockets are closed when connections ends.
func (s *Server) routes(connections context.Context) http.Handler {
	guard := s.endpoint.guard
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /metrics", s.figures)
	mux.HandleFunc("GET /page", s.authorized)
	mux.HandleFunc("GET /acp", func(w http.ResponseWriter, r *http.Request) { s.accept(connections, w, r) })
	mux.Handle("GET /assets/", web.Assets())
	mux.Handle("GET /", guard.Pages(web.Handler()))
	return guard.Protect(mux)
}

// health reports whether the server runs, its database responds, and changes can be stored. A page of any origin can
// learn that there is a response, but cannot read it: the client library distinguishes a server that refuses the page
// from one that does not run.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	w.Header().Set("Content-Type", "application/json")
	reason := s.storage()
	if _, err := s.store.Stats(r.Context()); err != nil && reason == "" {
		reason = "database does not respond"
	}
	if reason != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		json.NewEncoder(w).Encode(map[string]string{"status": reason})
		return
	}
	json.NewEncoder(w).Encode(map[string]string{"status": "ok", "version": s.Version})
}

// figures serves /metrics to clients with the token.
func (s *Server) figures(w http.ResponseWriter, r *http.Request) {
	if refusal := s.endpoint.guard.AuthorizeMetrics(r); refusal != nil {
		refusal.Write(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	s.Metrics.write(w, s.counts(r.Context()))
}

// authorized tells a page of the HUD whether its secret still opens the server, and why not.
func (s *Server) authorized(w http.ResponseWriter, r *http.Request) {
	if refusal := s.endpoint.guard.AuthorizeSecret(r); refusal != nil {
		refusal.Write(w)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// accept upgrades a request to a WebSocket, if it may, and serves JSON-RPC on it until it ends.
func (s *Server) accept(connections context.Context, w http.ResponseWriter, r *http.Request) {
	grant, refusal := s.endpoint.guard.AuthorizeUpgrade(r)
	if refusal != nil {
		refusal.Write(w)
		return
	}
	if !s.clients.enter() {
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer s.clients.leave()
	id := s.newID("conn_")
	w.Header().Set("Acp-Connection-Id", id)
	opt := rpc.WebSocketOptions{Limits: rpc.Limits{FrameBytes: s.FrameBytes, WriteTimeout: s.Stall, Budget: s.budget}}
	if grant.Subprotocol != "" {
		opt.Subprotocols = []string{grant.Subprotocol}
	}
	stream, err := rpc.AcceptWebSocket(w, r, opt)
	if err != nil {
		s.Log.Debug("no WebSocket", slog.String("connection", id), slog.Any("error", err))
		return
	}

	p := newPeer(s.backend, s.methods)
	p.conn = rpc.NewConn(stream, p, rpc.Options{
		ID: id, Inflight: s.Requests, Sources: s.Memory + endingSubscriptions + 1, PingInterval: s.Heartbeat, MapError: wire.Error, OnReply: failpoint.Hit,
		OnStray: s.Metrics.stray, Log: s.Log,
	})
	s.Log.Debug("connected", slog.String("connection", id))
	done := s.clients.serve(p.conn, grant)
	if !s.endpoint.guard.Holds(grant) { // it ended during the handshake, before anybody could close this connection
		p.conn.Abort(closeUnauthorized, accessEnded)
	}
	err = p.conn.Serve(connections)
	done()
	p.leave()
	s.Log.Debug("disconnected", slog.String("connection", id), slog.Any("reason", err))
}
