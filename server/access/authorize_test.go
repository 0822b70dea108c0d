package access

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAuthorizeUpgrade(t *testing.T) {
	s := newSite(t, nil)
	const own = "Origin: http://127.0.0.1:PORT"
	cookie, secret := s.enterPage()
	_, other := s.enterPage()
	page := "Sec-WebSocket-Protocol: acp, page." + secret
	for name, test := range map[string]struct {
		target      string
		lines       []string
		want        int
		subprotocol string
	}{
		"header":                    {"/acp", []string{"Authorization: Bearer TOKEN"}, 101, ""},
		"header, other case":        {"/acp", []string{"authorization: bEARER  TOKEN "}, 101, ""},
		"header and acp":            {"/acp", []string{"Authorization: Bearer TOKEN", "Sec-WebSocket-Protocol: acp"}, 101, "acp"},
		"header, unknown protocol":  {"/acp", []string{"Authorization: Bearer TOKEN", "Sec-WebSocket-Protocol: mqtt"}, 101, ""},
		"header with own origin":    {"/acp", []string{"Authorization: Bearer TOKEN", own}, 101, ""},
		"subprotocols":              {"/acp", []string{"Sec-WebSocket-Protocol: acp, bearer.TOKEN"}, 101, "acp"},
		"subprotocols, reversed":    {"/acp", []string{"Sec-WebSocket-Protocol: bearer.TOKEN,acp"}, 101, "acp"},
		"subprotocols, two lines":   {"/acp", []string{"Sec-WebSocket-Protocol: acp", "Sec-WebSocket-Protocol: bearer.TOKEN"}, 101, "acp"},
		"bearer without acp":        {"/acp", []string{"Sec-WebSocket-Protocol: bearer.TOKEN"}, 400, ""},
		"wrong bearer without acp":  {"/acp", []string{"Sec-WebSocket-Protocol: bearer.x"}, 400, ""},
		"bearer with another":       {"/acp", []string{"Sec-WebSocket-Protocol: mqtt, bearer.TOKEN"}, 400, ""},
		"bearer with ACP":           {"/acp", []string{"Sec-WebSocket-Protocol: ACP, bearer.TOKEN"}, 400, ""},
		"header, bearer, no acp":    {"/acp", []string{"Authorization: Bearer TOKEN", "Sec-WebSocket-Protocol: bearer.TOKEN"}, 400, ""},
		"two bearers":               {"/acp", []string{"Sec-WebSocket-Protocol: acp, bearer.TOKEN, bearer.TOKEN"}, 400, ""},
		"token in two places":       {"/acp", []string{"Authorization: Bearer TOKEN", "Sec-WebSocket-Protocol: acp, bearer.TOKEN"}, 400, ""},
		"two headers":               {"/acp", []string{"Authorization: Bearer TOKEN", "Authorization: Bearer x"}, 400, ""},
		"wrong bearer":              {"/acp", []string{"Sec-WebSocket-Protocol: acp, bearer.TOKENx"}, 401, ""},
		"empty bearer":              {"/acp", []string{"Sec-WebSocket-Protocol: acp, bearer."}, 401, ""},
		"wrong header":              {"/acp", []string{"Authorization: Bearer x"}, 401, ""},
		"empty header":              {"/acp", []string{"Authorization:"}, 401, ""},
		"header without a token":    {"/acp", []string{"Authorization: Bearer"}, 401, ""},
		"header without a scheme":   {"/acp", []string{"Authorization: TOKEN"}, 401, ""},
		"another scheme":            {"/acp", []string{"Authorization: Basic TOKEN"}, 401, ""},
		"nothing":                   {"/acp", nil, 401, ""},
		"acp only":                  {"/acp", []string{"Sec-WebSocket-Protocol: acp"}, 401, ""},
		"token in the query":        {"/acp?token=TOKEN", nil, 401, ""},
		"token in the query, acp":   {"/acp?access_token=TOKEN&bearer=TOKEN", []string{own, "Sec-WebSocket-Protocol: acp"}, 401, ""},
		"code in the query":         {"/acp?code=" + s.guard.NewCode(), []string{own}, 401, ""},
		"token in a cookie":         {"/acp", []string{own, "Cookie: strata_PORT=TOKEN"}, 401, ""},
		"page":                      {"/acp", []string{own, cookie, page}, 101, "acp"},
		"page, reversed":            {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: page." + secret + ", acp"}, 101, "acp"},
		"page, planted cookie":      {"/acp", []string{own, "Cookie: strata_PORT=2.1.x.y; " + strings.TrimPrefix(cookie, "Cookie: "), page}, 101, "acp"},
		"page without acp":          {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: page." + secret}, 400, ""},
		"page without a cookie":     {"/acp", []string{own, page}, 401, ""},
		"page without an origin":    {"/acp", []string{cookie, page}, 401, ""},
		"page, foreign origin":      {"/acp", []string{cookie, page, "Origin: http://127.0.0.1:1"}, 403, ""},
		"page, its other name":      {"/acp", []string{cookie, page, "Origin: http://localhost:PORT"}, 403, ""},
		"another page's secret":     {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: acp, page." + other}, 401, ""},
		"empty secret":              {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: acp, page."}, 401, ""},
		"the cookie as the secret":  {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: acp, page." + cookie[strings.LastIndex(cookie, ".")+1:]}, 401, ""},
		"the secret as a token":     {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: acp, bearer." + secret}, 401, ""},
		"the token as the secret":   {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: acp, page.TOKEN"}, 401, ""},
		"the secret in the query":   {"/acp?page=" + secret, []string{own, cookie, "Sec-WebSocket-Protocol: acp"}, 401, ""},
		"the secret as a cookie":    {"/acp", []string{own, cookie + "; page=" + secret}, 401, ""},
		"two secrets":               {"/acp", []string{own, cookie, page + ", page." + secret}, 400, ""},
		"token and secret":          {"/acp", []string{own, cookie, page + ", bearer.TOKEN"}, 400, ""},
		"token header and secret":   {"/acp", []string{own, cookie, page, "Authorization: Bearer TOKEN"}, 400, ""},
		"cookie with own origin":    {"/acp", []string{own, cookie}, 401, ""},
		"cookie, own origin, acp":   {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: acp"}, 401, ""},
		"cookie without an origin":  {"/acp", []string{cookie}, 401, ""},
		"cookie, foreign origin":    {"/acp", []string{cookie, "Origin: http://evil.example"}, 403, ""},
		"cookie, null origin":       {"/acp", []string{cookie, "Origin: null"}, 403, ""},
		"cookie and a wrong token":  {"/acp", []string{own, cookie, "Authorization: Bearer x"}, 401, ""},
		"cookie and a wrong bearer": {"/acp", []string{own, cookie, "Sec-WebSocket-Protocol: acp, bearer.x"}, 401, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.ask("GET "+s.fill(test.target), test.lines...)
			if a.StatusCode != test.want {
				t.Fatalf("status %d, want %d: %s", a.StatusCode, test.want, a.body)
			}
			if got := a.Header.Values("Sec-WebSocket-Protocol"); strings.Join(got, "|") != test.subprotocol {
				t.Errorf("subprotocol %q, want %q", got, test.subprotocol)
			}
			if challenge := a.Header.Get("WWW-Authenticate"); (test.want == 401) != strings.HasPrefix(challenge, "Bearer") {
				t.Errorf("status %d with WWW-Authenticate %q", a.StatusCode, challenge)
			}
		})
	}
}

func TestCookieNeedsExactlyOurOwnOrigin(t *testing.T) {
	s := newSite(t, func(opt *Options) { opt.Origins = []string{"https://app.example"} })
	cookie, secret := s.enterPage()
	page := "Sec-WebSocket-Protocol: acp, page." + secret
	if a := s.ask("GET /acp", cookie, page, "Origin: https://app.example"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("upgrade from a configured origin: status %d", a.StatusCode)
	}
	if a := s.ask("GET /", cookie, "Origin: https://app.example"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("page from a configured origin: status %d", a.StatusCode)
	}
	if a := s.ask("GET /acp", cookie, page, "Host: localhost:PORT", "Origin: http://localhost:PORT"); a.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("our origin under its other name: status %d", a.StatusCode)
	}
}

func TestAuthorizeMetrics(t *testing.T) {
	s := newSite(t, nil)
	cookie := s.enter()
	for name, test := range map[string]struct {
		target string
		lines  []string
		want   int
	}{
		"token":              {"/metrics", []string{"Authorization: Bearer TOKEN"}, 200},
		"nothing":            {"/metrics", nil, 401},
		"wrong token":        {"/metrics", []string{"Authorization: Bearer x"}, 401},
		"cookie":             {"/metrics", []string{cookie, "Origin: http://127.0.0.1:PORT"}, 401},
		"token in the query": {"/metrics?token=TOKEN", nil, 401},
		"subprotocol":        {"/metrics", []string{"Sec-WebSocket-Protocol: acp, bearer.TOKEN"}, 401},
		"two tokens":         {"/metrics", []string{"Authorization: Bearer TOKEN", "Authorization: Bearer TOKEN"}, 400},
	} {
		if a := s.ask("GET "+s.fill(test.target), test.lines...); a.StatusCode != test.want {
			t.Errorf("%s: status %d, want %d", name, a.StatusCode, test.want)
		}
	}
}

func TestAuthorizeAppliesTheRulesOfEveryRoute(t *testing.T) {
	guard, err := NewGuard(Options{Token: NewToken(), Port: 7717})
	if err != nil {
		t.Fatal(err)
	}
	foreign := httptest.NewRequest("GET", "http://evil.example/", nil)
	foreign.Header.Set("Authorization", "Bearer "+guard.Token().Reveal())
	_, upgrade := guard.AuthorizeUpgrade(foreign)
	for name, refusal := range map[string]*Refusal{
		"upgrade": upgrade, "page": guard.AuthorizePage(foreign), "metrics": guard.AuthorizeMetrics(foreign), "secret": guard.AuthorizeSecret(foreign),
	} {
		if refusal == nil || refusal.Status != http.StatusForbidden {
			t.Errorf("%s without Protect: %v", name, refusal)
		}
	}
}

func TestFailedAttemptsAreLimited(t *testing.T) {
	s := newSite(t, nil)
	for i := range failureBurst {
		target, line := "GET /acp", "Authorization: Bearer wrong"
		if i%2 == 1 {
			target, line = "GET /?code=wrong", "Accept: text/html"
		}
		if a := s.ask(target, line); a.StatusCode != http.StatusUnauthorized {
			t.Fatalf("attempt %d: status %d", i, a.StatusCode)
		}
	}
	for _, target := range []string{"GET /acp", "GET /metrics", "GET /?code=wrong"} {
		a := s.ask(target, "Authorization: Bearer wrong")
		if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "5" {
			t.Errorf("%s: status %d, Retry-After %q", target, a.StatusCode, a.Header.Get("Retry-After"))
		}
	}
	if a := s.ask("GET /acp", "Authorization: Bearer TOKEN"); a.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("the right token is locked out: status %d", a.StatusCode)
	}
	if a := s.ask("GET /", s.enter()); a.body != homePage {
		t.Errorf("a good code is locked out: status %d", a.StatusCode)
	}
	s.clock.advance(failureInterval)
	if a := s.ask("GET /acp", "Authorization: Bearer wrong"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after a while: status %d", a.StatusCode)
	}
}

func TestRequestsWithoutCredentialsAreNoAttempts(t *testing.T) {
	s := newSite(t, nil)
	for range failureBurst + 1 {
		if a := s.ask("GET /acp"); a.StatusCode != http.StatusUnauthorized {
			t.Fatalf("status %d", a.StatusCode)
		}
	}
}
