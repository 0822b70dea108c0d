package access

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"
)

func fuzzGuard(f *testing.F) *Guard {
	guard, err := NewGuard(Options{
		Token: NewToken(), Port: 7717, Origins: []string{"vscode-webview://*", "https://*.cdn.example"}, Hosts: []string{"strata.example"},
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	if err != nil {
		f.Fatal(err)
	}
	return guard
}

// FuzzHost checks that whatever Host is served is, letter for letter, one that may be.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{
		"127.0.0.1:7717", "LOCALHOST:7717", "[::1]:7717", "[::ffff:127.0.0.1]:7717", "strata.example", "127.0.0.1.nip.example:7717", "", "[", "a:b:c", "localhost:07717", "[::1%lo]:7717",
	} {
		f.Add(seed)
	}
	guard := fuzzGuard(f)
	f.Fuzz(func(t *testing.T, host string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		_, refusal := guard.examine(r)
		if refusal == nil && !hostMayBeServed(host) {
			t.Errorf("%q is served", host)
		}
	})
}

// hostMayBeServed says the rule once more, without the parser.
func hostMayBeServed(host string) bool {
	lower := strings.ToLower(host)
	if lower == "localhost:7717" || lower == "strata.example" || lower == "strata.example:80" || lower == "strata.example:7717" {
		return true
	}
	ap, err := netip.ParseAddrPort(host)
	return err == nil && ap.Addr().IsLoopback() && ap.Addr().Zone() == "" && strings.HasSuffix(host, ":7717")
}

// FuzzOrigin checks that only our own origin and configured ones pass, and that an origin which passes is written as
// browsers write it.
func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{
		"http://127.0.0.1:7717", "null", "", "vscode-webview://abc", "https://a.cdn.example", "https://cdn.example", "http://127.0.0.1:7717@evil.example", "http://[::1]:7717", "://", "*",
	} {
		f.Add(seed)
	}
	guard := fuzzGuard(f)
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = "127.0.0.1:7717"
		r.Header["Origin"] = []string{value}
		v, refusal := guard.examine(r)
		if refusal != nil {
			return
		}
		lower := strings.ToLower(value)
		own := lower == "http://127.0.0.1:7717"
		rest, webview := strings.CutPrefix(lower, "vscode-webview://")
		if !webview {
			rest = strings.TrimPrefix(lower, "https://")
		}
		cdn := rest != lower && strings.HasSuffix(strings.TrimSuffix(rest, ":443"), ".cdn.example")
		if strings.ContainsAny(rest, "/@?#\\ ,") {
			webview, cdn = false, false
		}
		if !own && !webview && !cdn {
			t.Errorf("%q passes", value)
		}
		if own != (v.from == fromSelf) {
			t.Errorf("%q counts as ours: %v", value, v.from == fromSelf)
		}
	})
}

// FuzzCookie checks that no cookie opens the HUD but the ones that were sealed, and that parsing loses nothing.
func FuzzCookie(f *testing.F) {
	guard := fuzzGuard(f)
	k := guard.ring.current()
	p := guard.newPass()
	good := guard.cookieValue(k, p)
	for _, seed := range []string{good, "", "2...", "2.1.1.1", "1." + good[2:], good + ".", "2.9999999999999." + good[13:], strings.ToUpper(good), good[:20] + "\r" + good[21:], good[:20] + "\n" + good[20:]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if _, ok := guard.validPass(k, value); ok && value != good {
			// The token is new in each process, so only the sealed value of this one can be valid.
			t.Errorf("%q is valid", value)
		}
		p, seal, ok := parseCookie(value)
		if ok && value != "2."+strconv.FormatInt(p.expiry, 10)+"."+encode(p.nonce[:])+"."+encode(seal) {
			t.Errorf("%q is read as %+v with %d bytes", value, p, len(seal))
		}
		r := httptest.NewRequest("GET", "http://127.0.0.1:7717/", nil)
		r.Header["Cookie"] = []string{"strata_7717=" + value, value}
		if refusal := guard.AuthorizePage(r); refusal == nil && !strings.Contains(value, good) {
			t.Errorf("the cookie header %q is accepted", value)
		} else if refusal != nil && refusal.Status != http.StatusUnauthorized {
			t.Errorf("status %d", refusal.Status)
		}
	})
}
