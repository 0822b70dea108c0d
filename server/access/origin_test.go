package access

import (
	"net/http"
	"testing"
)

func TestK7_06_ForeignOriginsAreRefusedBeforeTheUpgrade(t *testing.T) {
	s := newSite(t, nil)
	origins := map[string]bool{ // true: ours
		"http://127.0.0.1:PORT":              true,
		"HTTP://127.0.0.1:PORT":              true,
		"http://evil.example":                false,
		"null":                               false,
		"":                                   false,
		"http://localhost.evil.example":      false,
		"http://localhost.evil.example:PORT": false,
		"http://127.0.0.1.evil.example":      false,
		"http://127.0.0.1.evil.example:PORT": false,
		"http://192.0.2.7":                   false,
		"http://192.0.2.7:PORT":              false,
		"https://localhost:1":                false,
		"http://localhost:1":                 false,
		"http://127.0.0.1:1":                 false,
		"http://127.0.0.1":                   false,
		"https://127.0.0.1:PORT":             false,
		"http://localhost:PORT":              false, // not the Host of the request: may be another program on ::1
		"http://127.0.0.2:PORT":              false,
		"ws://127.0.0.1:PORT":                false,
		"vscode-webview://abc":               false,
		"file://":                            false,
		"http://127.0.0.1:PORT/":             false,
		"http://127.0.0.1:PORT@evil.example": false,
		"http://evil.example#127.0.0.1:PORT": false,
		"http://127.0.0.1:PORT evil":         false,
		"127.0.0.1:PORT":                     false,
		"*":                                  false,
	}
	for route := range allRoutes {
		opener := s.opener(route)
		for o, ours := range origins {
			t.Run(route+" "+o, func(t *testing.T) {
				a := s.ask("GET "+route, "Origin: "+o, opener)
				if ours && !success(a) || !ours && a.StatusCode != http.StatusForbidden {
					t.Errorf("status %d, ours: %v", a.StatusCode, ours)
				}
				a.noCORS(t)
				post := s.ask("POST "+route, "Origin: "+o, opener)
				if post.StatusCode != http.StatusMethodNotAllowed {
					t.Errorf("POST: status %d", post.StatusCode)
				}
				post.noCORS(t)
			})
		}
	}
}

func TestK7_06_AnAbsentOriginNeedsTheToken(t *testing.T) {
	s := newSite(t, nil)
	if a := s.ask("GET /acp"); a.StatusCode != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without the token: status %d", a.StatusCode)
	}
	if a := s.ask("GET /acp", s.enter()); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("with the cookie only: status %d", a.StatusCode)
	}
	if a := s.ask("GET /acp", "Authorization: Bearer TOKEN"); a.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("with the token: status %d", a.StatusCode)
	}
}

func TestK7_06_OurOwnOriginDoesNotReplaceTheToken(t *testing.T) {
	s := newSite(t, nil)
	for route, want := range map[string]int{"/acp": 401, "/metrics": 401, "/": 401, "/health": 200} {
		if a := s.ask("GET "+route, "Origin: http://127.0.0.1:PORT"); a.StatusCode != want {
			t.Errorf("%s: status %d, want %d", route, a.StatusCode, want)
		}
	}
}

func TestK7_06_ConfiguredOriginsPass(t *testing.T) {
	s := newSite(t, func(opt *Options) {
		opt.Origins = []string{"vscode-webview://*", "https://App.Example", "https://*.cdn.example", "http://tool.example:8080"}
	})
	for o, want := range map[string]int{
		"vscode-webview://abc":                 101,
		"vscode-webview://0n3-4f:77":           101,
		"https://app.example":                  101,
		"https://app.example:443":              101,
		"https://a.cdn.example":                101,
		"https://a.b.cdn.example":              101,
		"http://tool.example:8080":             101,
		"vscode-webviewer://abc":               403,
		"vscode-webview://":                    403,
		"vscode-webview:abc":                   403,
		"http://app.example":                   403,
		"https://app.example:444":              403,
		"https://sub.app.example":              403,
		"https://app.example.evil.example":     403,
		"https://cdn.example":                  403,
		"https://evilcdn.example":              403,
		"https://a.cdn.example:8443":           403,
		"http://a.cdn.example":                 403,
		"http://tool.example":                  403,
		"https://evil.example":                 403,
		"null":                                 403,
		"vscode-webview://abc, https://a.test": 403,
	} {
		if a := s.ask("GET /acp", "Origin: "+o, "Authorization: Bearer TOKEN"); a.StatusCode != want {
			t.Errorf("%s: status %d, want %d", o, a.StatusCode, want)
		}
		a := s.ask("GET /acp", "Origin: "+o)
		if a.StatusCode == http.StatusSwitchingProtocols {
			t.Errorf("%s passes without the token", o)
		}
		a.noCORS(t)
	}
}

func TestTwoOriginsAreRefused(t *testing.T) {
	s := newSite(t, nil)
	own := "Origin: http://127.0.0.1:PORT"
	for _, second := range []string{own, "Origin: http://evil.example"} {
		if a := s.ask("GET /acp", own, second, "Authorization: Bearer TOKEN"); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", second, a.StatusCode)
		}
	}
}

func TestOwnOriginFollowsTheHost(t *testing.T) {
	s := newSite(t, func(opt *Options) { opt.Hosts = []string{"strata.example"} })
	for host, o := range map[string]string{
		"localhost:PORT": "http://localhost:PORT", "LOCALHOST:PORT": "http://localhost:PORT", "[::1]:PORT": "http://[::1]:PORT",
		"strata.example": "http://strata.example", "strata.example:80": "http://strata.example", "strata.example:PORT": "http://strata.example:PORT",
	} {
		if a := s.ask("GET /health", "Host: "+host, "Origin: "+o); a.StatusCode != http.StatusOK {
			t.Errorf("%s on %s: status %d", o, host, a.StatusCode)
		}
		if a := s.ask("GET /health", "Host: "+host, "Origin: http://127.0.0.1:PORT"); a.StatusCode != http.StatusForbidden {
			t.Errorf("another origin on %s: status %d", host, a.StatusCode)
		}
	}
}

func TestOwnOriginWithTLS(t *testing.T) {
	s := newSite(t, func(opt *Options) { opt.TLS = true })
	for o, want := range map[string]int{"https://127.0.0.1:PORT": 200, "http://127.0.0.1:PORT": 403} {
		if a := s.ask("GET /health", "Origin: "+o); a.StatusCode != want {
			t.Errorf("%s: status %d, want %d", o, a.StatusCode, want)
		}
	}
}

func TestOwnOriginBehindAProxy(t *testing.T) {
	s := newSite(t, func(opt *Options) { opt.BehindProxy = true; opt.Hosts = []string{"strata.example"} })
	for _, test := range []struct {
		host, proto, origin string
		want                int
	}{
		{"strata.example", "", "https://strata.example", 200},
		{"strata.example", "https", "https://strata.example", 200},
		{"strata.example", "http", "http://strata.example", 200},
		{"strata.example", "https", "http://strata.example", 403},
		{"strata.example", "", "http://strata.example", 403},
		{"strata.example", "https, http", "https://strata.example", 200}, // not believed: the default
		{"strata.example", "gopher", "gopher://strata.example", 403},
		{"127.0.0.1:PORT", "", "http://127.0.0.1:PORT", 200},
		{"127.0.0.1:PORT", "", "https://127.0.0.1:PORT", 403},
	} {
		lines := []string{"Host: " + test.host, "Origin: " + test.origin}
		if test.proto != "" {
			lines = append(lines, "X-Forwarded-Proto: "+test.proto)
		}
		if a := s.ask("GET /health", lines...); a.StatusCode != test.want {
			t.Errorf("%+v: status %d", test, a.StatusCode)
		}
	}
	direct := newSite(t, nil)
	if a := direct.ask("GET /health", "Origin: https://127.0.0.1:PORT", "X-Forwarded-Proto: https"); a.StatusCode != http.StatusForbidden {
		t.Errorf("without a proxy X-Forwarded-Proto is believed: status %d", a.StatusCode)
	}
}

func TestCheckOriginPattern(t *testing.T) {
	for _, good := range []string{
		"vscode-webview://*", "VSCode-Webview://*", "https://app.example", "http://127.0.0.1:3000", "http://[::1]:3000",
		"https://*.cdn.example", "tauri://localhost", "chrome-extension://abcdef",
	} {
		if err := CheckOriginPattern(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"", "*", "null", "*://*", "https://*", "HTTP://*", "http://*:80", "https://*.com", "https://*.", "https://a.*", "https://*a.example",
		"app.example", "https://", "://app.example", "https://app.example/", "https://app.example:0", "https://user@app.example",
		"vscode-webview:", "vscode-webview://*/x", "1a://*", "a b://*",
	} {
		if err := CheckOriginPattern(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
