package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"strata/rpc"
	"strata/session"
	"strata/web"
)

// routes are the server's HTTP routes. connections ends when WebSockets have to go.
func (s *Server) routes(connections context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /metrics", s.figures)
	mux.HandleFunc("GET /acp", func(w http.ResponseWriter, r *http.Request) { s.accept(connections, w, r) })
	mux.Handle("GET /assets/", web.Assets())
	mux.Handle("GET /", s.guard.Pages(web.Handler()))
	return s.guard.Protect(mux)
}

// health tells that the server runs and its database answers.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if _, err := s.store.Stats(r.Context()); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		json.NewEncoder(w).Encode(map[string]string{"status": "database does not answer"})
		return
	}
	json.NewEncoder(w).Encode(map[string]string{"status": "ok", "version": s.opt.Version})
}

// figures serves the metrics to who has the token.
func (s *Server) figures(w http.ResponseWriter, r *http.Request) {
	if refusal := s.guard.AuthorizeMetrics(r); refusal != nil {
		refusal.Write(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	s.metrics.write(w, s.gauges(r.Context()))
}

// accept makes a WebSocket of a request that may become one, and serves it to its end.
func (s *Server) accept(connections context.Context, w http.ResponseWriter, r *http.Request) {
	chosen, refusal := s.guard.AuthorizeUpgrade(r)
	if refusal != nil {
		refusal.Write(w)
		return
	}
	if !s.enter() {
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer s.exit()
	id := s.sessions.deps.NewID("conn_")
	w.Header().Set("Acp-Connection-Id", id)
	stream, err := rpc.AcceptWebSocket(w, r, s.socketOptions(chosen))
	if err != nil {
		s.opt.Log.Debug("no WebSocket", slog.String("connection", id), slog.Any("error", err))
		return
	}
	s.serve(connections, stream, id)
}

func (s *Server) socketOptions(chosen string) rpc.WebSocketOptions {
	opt := rpc.WebSocketOptions{Limits: rpc.Limits{FrameBytes: s.opt.FrameBytes, WriteTimeout: s.opt.Stall, Budget: s.budget}}
	if chosen != "" {
		opt.Subprotocols = []string{chosen}
	}
	return opt
}

// serve speaks JSON-RPC on a stream until it ends.
func (s *Server) serve(ctx context.Context, stream rpc.Stream, id string) {
	p := &peer{server: s, feeds: make(map[*session.Session]*feed)}
	p.conn = rpc.NewConn(stream, p, rpc.Options{
		ID: id, Inflight: s.opt.Requests, PingInterval: s.opt.Heartbeat, MapError: wireError, OnReply: onReply, Log: s.opt.Log,
	})
	s.opt.Log.Debug("connected", slog.String("connection", id))
	leave := s.join(p)
	err := p.conn.Serve(ctx)
	leave()
	p.leave()
	s.opt.Log.Debug("disconnected", slog.String("connection", id), slog.Any("reason", err))
}
