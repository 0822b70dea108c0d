package access

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// allRoutes are one route of each kind, with what opens it.
var allRoutes = map[string]string{
	"/acp":      "Authorization: Bearer TOKEN",
	"/metrics":  "Authorization: Bearer TOKEN",
	"/health":   "Accept: */*",
	"/":         "", // the cookie
	"/anything": "", // the cookie
}

// opener returns the header line that opens route.
func (s *site) opener(route string) string {
	if line := allRoutes[route]; line != "" {
		return line
	}
	return s.enter()
}

func success(a answer) bool {
	return a.StatusCode == http.StatusOK || a.StatusCode == http.StatusSwitchingProtocols
}

func TestK7_07_OnlyLoopbackAndConfiguredHostsAreServed(t *testing.T) {
	s := newSite(t, func(opt *Options) { opt.Hosts = []string{"Strata.Example", "other.example:8443"} })
	hosts := map[string]int{ // 0: served
		"127.0.0.1:PORT":             0,
		"127.1.2.3:PORT":             0,
		"localhost:PORT":             0,
		"LOCALHOST:PORT":             0,
		"[::1]:PORT":                 0,
		"[0:0:0:0:0:0:0:1]:PORT":     0,
		"strata.example:PORT":        0,
		"STRATA.example":             0,
		"strata.example:80":          0,
		"other.example:8443":         0,
		"other.example:PORT":         403,
		"other.example":              403,
		"strata.example:81":          403,
		"attacker.example:PORT":      403,
		"attacker.example":           403,
		"127.0.0.1.nip.example":      403,
		"127.0.0.1.nip.example:PORT": 403,
		"localhost.evil.example":     403,
		"evil.localhost:PORT":        403,
		"sub.strata.example:PORT":    403,
		"127.0.0.1":                  403,
		"localhost":                  403,
		"localhost:1":                403,
		"[::1]":                      403,
		"192.0.2.7:PORT":             403,
		"0.0.0.0:PORT":               403,
		"[::]:PORT":                  403,
		"[fe80::1]:PORT":             403,
		"127.1:PORT":                 403,
		"0x7f000001:PORT":            403,
		"2130706433:PORT":            403,
		"0177.0.0.1:PORT":            403,
		"":                           400,
		"localhost:":                 400,
		"localhost:0PORT":            400,
		"localhost:99999":            400,
		"localhost:PORT:PORT":        400,
		"localhost.:PORT":            400,
		".localhost:PORT":            400,
		"user@localhost:PORT":        400,
		"[127.0.0.1]:PORT":           400,
		"[::1:PORT":                  400,
		"::1:PORT":                   400,
		"[::1]PORT":                  400,
		"[::1%25lo]:PORT":            400,
		"127.0.0.1%2eevil:PORT":      400,
		"localhost:PORT, evil":       400,
		"localhost:PORT/evil":        400,
		"localhost\\evil:PORT":       400,
		strings.Repeat("a", 300):     400,
	}
	for route := range allRoutes {
		opener := s.opener(route)
		for host, want := range hosts {
			t.Run(route+" "+host, func(t *testing.T) {
				a := s.ask("GET "+route, "Host: "+host, opener)
				if want == 0 && !success(a) || want != 0 && a.StatusCode != want {
					t.Errorf("status %d, want %d: %s", a.StatusCode, want, a.body)
				}
				a.noCORS(t)
			})
		}
	}
}

func TestLettersBeyondASCIIAreNotFolded(t *testing.T) {
	const kelvin = "\u212A" // its lower case is the letter k
	if a, ok := parseAuthority("des" + kelvin + ".example"); ok {
		t.Errorf("read as %+v", a)
	}
	if o, ok := parseOrigin("vs" + kelvin + "://abc"); ok {
		t.Errorf("read as %+v", o)
	}
}

func TestK7_07_AnOriginEqualToTheBadHostDoesNotHelp(t *testing.T) {
	s := newSite(t, nil)
	for route := range allRoutes {
		opener := s.opener(route)
		for _, host := range []string{"attacker.example:PORT", "attacker.example", "127.0.0.1.nip.example:PORT"} {
			a := s.ask("GET "+route, "Host: "+host, "Origin: http://"+host, opener)
			if a.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %s: status %d", route, host, a.StatusCode)
			}
		}
	}
}

func TestK7_07_MissingAndRepeatedHosts(t *testing.T) {
	s := newSite(t, nil)
	for route := range allRoutes {
		opener := s.opener(route)
		for name, lines := range map[string][]string{
			"two hosts":           {"Host: 127.0.0.1:PORT", "Host: attacker.example:PORT", opener},
			"two hosts, reversed": {"Host: attacker.example:PORT", "Host: 127.0.0.1:PORT", opener},
			"the same host twice": {"Host: 127.0.0.1:PORT", "Host: 127.0.0.1:PORT", opener},
			"empty host":          {"Host:", opener},
			"blank host":          {"Host:   ", opener},
			"no host":             {"-host", opener},
		} {
			if a := s.ask("GET "+route, lines...); a.StatusCode != http.StatusBadRequest {
				t.Errorf("%s with %s: status %d, want 400", route, name, a.StatusCode)
			}
		}
		old := s.send(s.fill("GET "+route+" HTTP/1.0\r\n"+opener+"\r\n\r\n"), false)
		if old.StatusCode != http.StatusBadRequest {
			t.Errorf("%s in HTTP/1.0 without a host: status %d, want 400", route, old.StatusCode)
		}
	}
}

func TestK7_07_TheHostOfAnAbsoluteTargetCounts(t *testing.T) {
	s := newSite(t, nil)
	for target, want := range map[string]int{
		"http://attacker.example:PORT/health": http.StatusForbidden,
		"http://attacker.example/health":      http.StatusForbidden,
		"http://127.0.0.1:PORT/health":        http.StatusOK,
	} {
		request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n", target)
		if a := s.send(s.fill(request), false); a.StatusCode != want {
			t.Errorf("%s: status %d, want %d", target, a.StatusCode, want)
		}
	}
}

func TestForwardedHostIsNotBelieved(t *testing.T) {
	s := newSite(t, func(opt *Options) { opt.BehindProxy = true; opt.Hosts = []string{"strata.example"} })
	for _, name := range []string{"X-Forwarded-Host", "X-Host", "X-Original-Host"} {
		if a := s.ask("GET /health", "Host: attacker.example", name+": strata.example"); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", name, a.StatusCode)
		}
	}
}

func TestOnlyReadingMethodsAreServed(t *testing.T) {
	s := newSite(t, nil)
	for route := range allRoutes {
		opener := s.opener(route)
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "PROPFIND"} {
			target := route
			if method == "CONNECT" {
				target = "127.0.0.1:PORT"
			}
			a := s.ask(method+" "+s.fill(target), opener, "Access-Control-Request-Method: GET")
			if a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: status %d, Allow %q", method, route, a.StatusCode, a.Header.Get("Allow"))
			}
			a.noCORS(t)
		}
	}
	if a := s.ask("HEAD /health"); a.StatusCode != http.StatusOK || a.body != "" {
		t.Errorf("HEAD: status %d, body %q", a.StatusCode, a.body)
	}
}

func TestEveryAnswerHasTheSafeHeaders(t *testing.T) {
	s := newSite(t, nil)
	want := map[string]string{
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
			"img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
		"Cache-Control": "no-store",
	}
	cookie := s.enter()
	for name, a := range map[string]answer{
		"page":           s.ask("GET /", cookie),
		"entry page":     s.ask("GET /"),
		"wrong code":     s.ask("GET /?code=wrong"),
		"good code":      s.ask("GET /?code=" + s.guard.NewCode()),
		"health":         s.ask("GET /health"),
		"metrics":        s.ask("GET /metrics", "Authorization: Bearer TOKEN"),
		"no token":       s.ask("GET /acp"),
		"upgraded":       s.ask("GET /acp", "Authorization: Bearer TOKEN"),
		"foreign host":   s.ask("GET /", "Host: evil.example"),
		"foreign origin": s.ask("GET /", "Origin: http://evil.example"),
		"method":         s.ask("POST /"),
	} {
		for header, value := range want {
			if got := a.Header.Values(header); len(got) != 1 || got[0] != value {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
		a.noCORS(t)
	}
}

func TestLogOfRefusalsIsBoundedAndUseful(t *testing.T) {
	s := newSite(t, nil)
	for range logBurst + 10 {
		s.ask("GET /acp", "Origin: https://editor.example", "Authorization: Bearer TOKEN")
	}
	if n := strings.Count(s.log.String(), "\n"); n != logBurst {
		t.Errorf("%d lines, want %d", n, logBurst)
	}
	for _, part := range []string{"status=403", "origin=https://editor.example", "host=127.0.0.1:"} {
		if !strings.Contains(s.log.String(), part) {
			t.Errorf("log does not say %q: %s", part, s.log)
		}
	}
	s.clock.advance(logInterval)
	s.ask("GET /acp", "Origin: https://editor.example")
	if n := strings.Count(s.log.String(), "\n"); n != logBurst+1 {
		t.Errorf("%d lines after a while, want %d", n, logBurst+1)
	}
}

func TestGuardRefusesImpossibleOptions(t *testing.T) {
	token := NewToken()
	for name, opt := range map[string]Options{
		"no token":     {Port: 7717},
		"no port":      {Token: token},
		"bad port":     {Token: token, Port: 65536},
		"bad origin":   {Token: token, Port: 7717, Origins: []string{"https://*"}},
		"bad host":     {Token: token, Port: 7717, Hosts: []string{"http://strata.example"}},
		"host pattern": {Token: token, Port: 7717, Hosts: []string{"*.strata.example"}},
	} {
		if _, err := NewGuard(opt); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if CheckHost("strata.example:7717") != nil || CheckHost("[::1]") != nil || CheckHost("") == nil {
		t.Error("CheckHost is wrong")
	}
}

func TestGuardWithoutOptionalParts(t *testing.T) {
	s := newSite(t, func(opt *Options) { opt.EntryPage, opt.Log, opt.Now = nil, nil, nil })
	a := s.ask("GET /")
	if a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.body, "strata hud --open") {
		t.Errorf("status %d: %s", a.StatusCode, a.body)
	}
	if s.ask("GET /", s.enter()).body != homePage {
		t.Error("the cookie opens nothing")
	}
	s.ask("GET /", "Host: evil.example")
	if s.log.String() != "" {
		t.Errorf("logged %q", s.log)
	}
}
