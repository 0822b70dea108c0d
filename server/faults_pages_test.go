package server

import (
	"net/http"
	"testing"
)

// A page of any origin can tell a server that refuses it from one that does not run: of all routes, only /healthz may be
// fetched by it, and no route may be read.
func TestF32APageLearnsThatTheServerRuns(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	for route, want := range map[string]string{"/healthz": "cross-origin", "/metrics": "same-origin", "/": "same-origin", "/page": "same-origin"} {
		// A browser sends no Origin with a request whose response the page cannot read.
		resp := handshake(t, ts, "GET "+route+" HTTP/1.1", "Host: 127.0.0.1:PORT", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors")
		if got := resp.Header.Get("Cross-Origin-Resource-Policy"); got != want {
			t.Errorf("%s: %q, want %q", route, got, want)
		}
	}
	if resp := handshake(t, ts, "GET /healthz HTTP/1.1", "Host: 127.0.0.1:PORT", "Origin: https://elsewhere.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a page that wants to read: status %d", resp.StatusCode)
	}
}
