package access

import (
	"strings"
	"testing"
)

// TestTheTokenIsNowhereToBeSeen sends every kind of request, with the token wherever a confused client might put it,
// and looks for it in all that comes back and in the log.
func TestTheTokenIsNowhereToBeSeen(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"own page": nil, "plain text": func(o *Options) { o.EntryPage = nil }, "TLS": func(o *Options) { o.TLS = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, change)
			var seen strings.Builder
			for _, method := range []string{"GET", "HEAD", "POST"} {
				for _, target := range []string{
					"/", "/acp", "/metrics", "/health", "/other/TOKEN", "/?token=TOKEN", "/acp?token=TOKEN", "/?code=TOKEN", "/?code=wrong&x=TOKEN",
					"/?code=" + s.guard.NewCode(),
				} {
					for _, lines := range [][]string{
						nil,
						{"Authorization: Bearer TOKEN"},
						{"Authorization: Basic TOKEN"},
						{"Authorization: Bearer TOKENx"},
						{"Sec-WebSocket-Protocol: acp, bearer.TOKEN"},
						{"Sec-WebSocket-Protocol: bearer.TOKEN"},
						{"Cookie: strata_PORT=TOKEN"},
						{"Origin: http://127.0.0.1:PORT/?TOKEN"},
						{"Origin: TOKEN"},
						{"Host: 127.0.0.1:PORT/TOKEN"},
						{"Referer: http://127.0.0.1:PORT/?token=TOKEN", "Origin: http://evil.example"},
					} {
						seen.WriteString(s.ask(method+" "+s.fill(target), lines...).raw)
					}
				}
			}
			seen.WriteString(s.enter())
			seen.WriteString(s.log.String())
			noSecret(t, seen.String(), s.token)
			if !strings.Contains(s.log.String(), "request refused") {
				t.Error("nothing was logged")
			}
		})
	}
}
