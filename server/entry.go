package server

import (
	"net/http"

	"strata/web"
)

// entryPage says how to get in.
func (s *Server) entryPage(w http.ResponseWriter, status int, reason string) {
	web.WriteEntry(w, status, reason)
}
