package access

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// R02: a program on another local port receives the cookie. The cookie alone opens nothing, whatever comes with it.
func TestR02TheCookieAloneOpensNothing(t *testing.T) {
	s := newSite(t, nil)
	cookie, secret := s.enterPage()
	used := s.guard.NewCode()
	s.ask("GET /?code=" + used)
	for _, origin := range []string{"Accept: */*", "Origin: http://127.0.0.1:PORT", "Origin: http://localhost:PORT", "Origin: null"} {
		for _, protocol := range []string{"Accept: */*", "Sec-WebSocket-Protocol: acp", "Sec-WebSocket-Protocol: acp, page.", "Sec-WebSocket-Protocol: acp, page." + strings.Repeat("A", 43)} {
			for _, target := range []string{"/acp", "/acp?page=x", "/metrics", "/page", "/?code=guess"} {
				if a := s.ask("GET "+target, cookie, origin, protocol); a.StatusCode < 400 {
					if target == "/?code=guess" && a.StatusCode == http.StatusSeeOther && a.Header.Get("Location") == "/" && a.body == "" {
						continue // on to the empty page
					}
					t.Errorf("%s with %q and %q: status %d", target, origin, protocol, a.StatusCode)
				}
			}
		}
	}
	for _, target := range []string{"/", "/?code=" + used, "/?code=guess", "/any"} {
		if a := s.ask("GET "+target, cookie); strings.Contains(a.raw, secret) || a.StatusCode == http.StatusOK && a.body != homePage {
			t.Errorf("%s hands out %q", target, a.body)
		}
	}
	if a := s.ask("GET /page", cookie, "Strata-Page: "+secret); a.StatusCode != http.StatusOK {
		t.Errorf("the page with its secret: status %d", a.StatusCode)
	}
}

// R02: the secret of a page ends after a day, and so does what it opened.
func TestR02APageLastsADay(t *testing.T) {
	s := newSite(t, nil)
	cookie, secret := s.enterPage()
	lines := []string{cookie, "Origin: http://127.0.0.1:PORT", "Sec-WebSocket-Protocol: acp, page." + secret}
	grant := s.grant(t, lines...)
	if CookieLife != 24*time.Hour {
		t.Errorf("a cookie lives for %v", CookieLife)
	}
	s.clock.advance(CookieLife - time.Second)
	if a := s.ask("GET /acp", lines...); a.StatusCode != http.StatusSwitchingProtocols || !s.guard.Holds(grant) {
		t.Errorf("it ends early: status %d", a.StatusCode)
	}
	s.clock.advance(time.Second)
	a := s.ask("GET /page", cookie, "Strata-Page: "+secret)
	if a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.body, "24 hours") || !strings.Contains(a.body, "strata hud --open") {
		t.Errorf("a page is told %d: %s", a.StatusCode, a.body)
	}
	if a := s.ask("GET /acp", lines...); a.StatusCode != http.StatusUnauthorized || s.guard.Holds(grant) {
		t.Errorf("it lives too long: status %d, the connection stays: %v", a.StatusCode, s.guard.Holds(grant))
	}
	byToken := s.grant(t, "Authorization: Bearer TOKEN")
	s.clock.advance(1000 * time.Hour)
	if !s.guard.Holds(byToken) {
		t.Error("a connection with the token ends by time")
	}
}

// grant authorizes an upgrade.
func (s *site) grant(t *testing.T, lines ...string) Grant {
	t.Helper()
	r := httptest.NewRequest("GET", s.fill("http://127.0.0.1:PORT/acp"), nil)
	for _, line := range lines {
		name, value, _ := strings.Cut(s.fill(line), ": ")
		r.Header.Add(name, value)
	}
	grant, refusal := s.guard.AuthorizeUpgrade(r)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return grant
}

// R02: a rotation of the token ends tokens, cookies, page secrets, codes and connections at once, without a restart.
func TestR02ARotationEndsEverythingAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	old, err := LoadOrCreateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	var rotated []Token
	s := newSite(t, func(o *Options) {
		o.Token, o.TokenFile, o.Rotated = old, path, func(t Token) { rotated = append(rotated, t) }
	})
	s.token = old
	cookie, secret := s.enterPage()
	code := s.guard.NewCode()
	page := []string{cookie, "Origin: http://127.0.0.1:PORT", "Sec-WebSocket-Protocol: acp, page." + secret}
	bearer := "Authorization: Bearer " + old.Reveal()
	grants := []Grant{s.grant(t, page...), s.grant(t, bearer)}
	if len(rotated) != 0 {
		t.Error("the first look at the file counts as a rotation")
	}
	fresh, err := RotateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]answer{
		"cookie on a page": s.ask("GET /", cookie), "page": s.ask("GET /acp", page...), "secret": s.ask("GET /page", cookie, "Strata-Page: "+secret),
		"token": s.ask("GET /acp", bearer), "metrics": s.ask("GET /metrics", bearer), "code": s.ask("GET /?code=" + code),
	} {
		if a.StatusCode != http.StatusUnauthorized {
			t.Errorf("old %s: status %d", name, a.StatusCode)
		}
	}
	for i, grant := range grants {
		if s.guard.Holds(grant) {
			t.Errorf("connection %d stays", i)
		}
	}
	if len(rotated) != 1 || !rotated[0].Matches(fresh.Reveal()) || !s.guard.Token().Matches(fresh.Reveal()) {
		t.Errorf("%d rotations are told", len(rotated))
	}
	s.token = fresh
	if a := s.ask("GET /acp", "Authorization: Bearer TOKEN"); a.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("new token: status %d", a.StatusCode)
	}
	if a := s.ask("GET /", s.enter()); a.StatusCode != http.StatusOK {
		t.Errorf("new cookie: status %d", a.StatusCode)
	}
	noSecret(t, s.log.String(), fresh)
}

// A token file that is gone or cannot be used changes nothing, and one that comes back counts.
func TestR02AnUnusableTokenFileChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	old, err := LoadOrCreateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(o *Options) { o.Token, o.TokenFile = old, path })
	for name, change := range map[string]func() error{
		"gone":    func() error { return os.Remove(path) },
		"empty":   func() error { return os.WriteFile(path, nil, 0o600) },
		"garbage": func() error { return os.WriteFile(path, []byte("no token"), 0o600) },
		"a link":  func() error { os.Remove(path); return os.Symlink("/dev/zero", path) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if !s.guard.Token().Matches(old.Reveal()) {
			t.Errorf("%s: the token has changed", name)
		}
	}
	os.Remove(path)
	fresh, err := RotateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	if !s.guard.Token().Matches(fresh.Reveal()) {
		t.Error("the new token does not count")
	}
}

// Of a rotation during many requests, each sees the old or the new token, and it is told once.
func TestR02RotationDuringRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	old, err := LoadOrCreateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	s := newSite(t, func(o *Options) { o.Token, o.TokenFile, o.Rotated = old, path, func(Token) { told++ } })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				s.guard.Token()
			}
		})
	}
	fresh, err := RotateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if !s.guard.Token().Matches(fresh.Reveal()) || told != 1 {
		t.Errorf("told %d times", told)
	}
}
