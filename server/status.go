package server

import (
	"net/http"

	"strata/web"
)

// status is what the status page shows.
func (s *Server) status() web.Status {
	return web.Status{
		Version: s.opt.Version, Started: s.started, WebSocketURL: s.address.socket(), ServerFile: s.opt.ServerFile,
		TokenFile: s.opt.TokenFile, Database: s.store.Path(), Sessions: s.sessions.count(), Connections: s.connected(),
	}
}

// entryPage says how to get in.
func (s *Server) entryPage(w http.ResponseWriter, status int, reason string) {
	web.WriteEntry(w, status, reason)
}
