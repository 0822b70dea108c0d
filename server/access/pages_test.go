package access

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestUsedCodeLeavesTheAddress(t *testing.T) {
	s := newSite(t, nil)
	cookie := s.enter()
	code := s.guard.NewCode()
	s.ask("GET /?code=" + code)
	for query, location := range map[string]string{
		"":                        "/",
		"&session=sess_1&tab=a+b": "/?session=sess_1&tab=a+b",
		"&code=again":             "/",
		"&next=//evil.example":    "/?next=%2F%2Fevil.example",
		"&%0d%0aSet-Cookie:x=y":   "/?%0D%0ASet-Cookie%3Ax=y",
	} {
		a := s.ask("GET /?code="+code+query, cookie)
		if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != location {
			t.Errorf("%q: status %d to %q", query, a.StatusCode, a.Header.Get("Location"))
		}
	}
}

func TestCookieAttributes(t *testing.T) {
	const life = "Max-Age=86400"
	for name, test := range map[string]struct {
		change func(*Options)
		lines  []string
		secure bool
	}{
		"plain":                  {nil, nil, false},
		"TLS":                    {func(o *Options) { o.TLS = true }, nil, true},
		"proxy with https":       {behindProxy, []string{"Host: strata.example", "X-Forwarded-Proto: https"}, true},
		"proxy that is silent":   {behindProxy, []string{"Host: strata.example"}, true},
		"proxy with http":        {behindProxy, []string{"Host: strata.example", "X-Forwarded-Proto: http"}, false},
		"past the proxy":         {behindProxy, nil, false},
		"https without a proxy":  {nil, []string{"X-Forwarded-Proto: https"}, false},
		"own origin on the page": {nil, []string{"Origin: http://127.0.0.1:PORT"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, test.change)
			a := s.ask("GET /?code="+s.guard.NewCode(), test.lines...)
			line := a.Header.Get("Set-Cookie")
			if !strings.HasPrefix(line, s.fill("strata_PORT=")) {
				t.Fatalf("status %d, Set-Cookie %q", a.StatusCode, line)
			}
			for _, part := range []string{"; Path=/", "; HttpOnly", "; SameSite=Strict", "; " + life} {
				if !strings.Contains(line, part) {
					t.Errorf("Set-Cookie %q without %q", line, part)
				}
			}
			if strings.Contains(line, "; Secure") != test.secure || strings.Contains(line, "Domain") {
				t.Errorf("Set-Cookie %q, want Secure: %v and no Domain", line, test.secure)
			}
		})
	}
}

func behindProxy(o *Options) { o.BehindProxy, o.Hosts = true, []string{"strata.example"} }

func TestCodeIsUsedUpOnce(t *testing.T) {
	s := newSite(t, nil)
	target := "GET /?code=" + s.guard.NewCode()
	first := s.ask(target)
	if len(first.Cookies()) != 1 {
		t.Fatalf("status %d", first.StatusCode)
	}
	second := s.ask(target)
	if second.StatusCode != http.StatusUnauthorized || len(second.Cookies()) != 0 {
		t.Errorf("second use: status %d, cookies %v", second.StatusCode, second.Cookies())
	}
	if !strings.Contains(second.body, entryPage) || !strings.Contains(second.body, "strata hud --open") {
		t.Errorf("the page does not say how to get in: %s", second.body)
	}
	cookie := first.Cookies()[0]
	third := s.ask(target, "Cookie: "+cookie.Name+"="+cookie.Value)
	if third.StatusCode != http.StatusSeeOther || third.Header.Get("Location") != "/" || len(third.Cookies()) != 0 {
		t.Errorf("the old address in a browser that is in: status %d", third.StatusCode)
	}
}

func TestOldCodeIsRefused(t *testing.T) {
	s := newSite(t, nil)
	target := "GET /?code=" + s.guard.NewCode()
	s.clock.advance(CodeLife)
	if a := s.ask(target); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d", a.StatusCode)
	}
}

func TestLookingAheadDoesNotUseACodeUp(t *testing.T) {
	s := newSite(t, nil)
	target := "/?code=" + s.guard.NewCode()
	for name, test := range map[string]struct {
		method string
		lines  []string
		want   int
	}{
		"HEAD":            {"HEAD", nil, 403},
		"Chrome prefetch": {"GET", []string{"Sec-Purpose: prefetch"}, 403},
		"prerendering":    {"GET", []string{"Sec-Purpose: prefetch;prerender"}, 403},
		"older prefetch":  {"GET", []string{"Purpose: prefetch"}, 403},
		"Firefox":         {"GET", []string{"X-Moz: prefetch"}, 403},
		"Safari preview":  {"GET", []string{"X-Purpose: preview"}, 403},
		"an image":        {"GET", []string{"Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, 403},
		"a frame":         {"GET", []string{"Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
		"a script":        {"GET", []string{"Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, 403},
		"foreign origin":  {"GET", []string{"Origin: http://evil.example"}, 403},
		"foreign host":    {"GET", []string{"Host: evil.example"}, 403},
		"POST":            {"POST", nil, 405},
	} {
		a := s.ask(test.method+" "+target, test.lines...)
		if a.StatusCode != test.want || len(a.Cookies()) != 0 {
			t.Errorf("%s: status %d, cookies %v", name, a.StatusCode, a.Cookies())
		}
	}
	for _, other := range []string{"/acp", "/health", "/metrics", "/page"} {
		if a := s.ask("GET " + other + strings.TrimPrefix(target, "/")); len(a.Cookies()) != 0 {
			t.Errorf("%s accepts codes", other)
		}
	}
	if a := s.ask("GET "+target, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"); len(a.Cookies()) != 1 {
		t.Errorf("the code is not valid any more: status %d", a.StatusCode)
	}
}

func TestPageNeedsTheCookie(t *testing.T) {
	s := newSite(t, nil)
	cookie := s.enter()
	name, value, _ := strings.Cut(strings.TrimPrefix(cookie, "Cookie: "), "=")
	flipped := []byte(value)
	flipped[len(flipped)-2] ^= 1
	for label, test := range map[string]struct {
		line string
		in   bool
	}{
		"cookie":                 {cookie, true},
		"among others":           {"Cookie: a=b; " + name + "=" + value + "; c=d", true},
		"behind a planted one":   {"Cookie: " + name + "=1.2.3; " + name + "=" + value, true},
		"behind too many":        {"Cookie: " + strings.Repeat(name+"=x; ", maxCookies) + name + "=" + value, false},
		"no cookie":              {"Accept: text/html", false},
		"another port's name":    {"Cookie: strata_1=" + value, false},
		"empty":                  {"Cookie: " + name + "=", false},
		"changed seal":           {"Cookie: " + name + "=" + string(flipped), false},
		"changed time":           {"Cookie: " + name + "=" + strings.Replace(value, ".1", ".2", 1), false},
		"cut off":                {"Cookie: " + name + "=" + value[:len(value)-1], false},
		"longer":                 {"Cookie: " + name + "=" + value + "A", false},
		"the token in the query": {"Accept: text/html", false},
		"the token as a header":  {"Authorization: Bearer TOKEN", false},
	} {
		t.Run(label, func(t *testing.T) {
			for _, target := range []string{"/", "/sessions/1?x=y"} {
				a := s.ask("GET "+target, test.line)
				if test.in && (a.StatusCode != http.StatusOK || a.body != homePage) {
					t.Errorf("%s: status %d", target, a.StatusCode)
				}
				if !test.in && (a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.body, entryPage) || a.Header.Get("WWW-Authenticate") == "") {
					t.Errorf("%s: status %d: %s", target, a.StatusCode, a.body)
				}
			}
		})
	}
}

func TestCookieEnds(t *testing.T) {
	s := newSite(t, nil)
	cookie := s.enter()
	s.clock.advance(CookieLife - time.Second)
	if a := s.ask("GET /", cookie); a.StatusCode != http.StatusOK {
		t.Errorf("ends early: status %d", a.StatusCode)
	}
	s.clock.advance(time.Second)
	if a := s.ask("GET /", cookie); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("lives too long: status %d", a.StatusCode)
	}
}

func TestANewTokenEndsTokenCookiesAndCodes(t *testing.T) {
	s := newSite(t, nil)
	cookie := s.enter()
	code := s.guard.NewCode()
	old := s.token
	s.restart()
	for name, a := range map[string]answer{
		"cookie on a page":     s.ask("GET /", cookie),
		"cookie on an upgrade": s.ask("GET /acp", cookie, "Origin: http://127.0.0.1:PORT"),
		"token":                s.ask("GET /acp", "Authorization: Bearer "+old.Reveal()),
		"code":                 s.ask("GET /?code=" + code),
	} {
		if a.StatusCode != http.StatusUnauthorized {
			t.Errorf("old %s: status %d", name, a.StatusCode)
		}
	}
	if a := s.ask("GET /acp", "Authorization: Bearer TOKEN"); a.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("new token: status %d", a.StatusCode)
	}
	if a := s.ask("GET /", s.enter()); a.StatusCode != http.StatusOK {
		t.Errorf("new cookie: status %d", a.StatusCode)
	}
}

func TestCookieIsOfOneServerOnly(t *testing.T) {
	token := NewToken()
	same := func(o *Options) { o.Token = token }
	a, b := newSite(t, same), newSite(t, same)
	_, value, _ := strings.Cut(a.enter(), "=")
	if answer := b.ask("GET /", "Cookie: strata_PORT="+value); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie of another port opens it: status %d", answer.StatusCode)
	}
}
