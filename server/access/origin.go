package access

import (
	"fmt"
	"strings"
)

const maxScheme = 32 // bytes

// origin is who a browser says a page belongs to.
type origin struct {
	scheme string
	authority
}

// parseOrigin reads the value of an Origin header. "null", paths, users and anything else unusual are not origins.
func parseOrigin(s string) (origin, bool) {
	scheme, rest, found := strings.Cut(s, "://")
	if !found || !validScheme(scheme) {
		return origin{}, false
	}
	scheme = strings.ToLower(scheme)
	a, ok := parseAuthority(rest)
	if !ok {
		return origin{}, false
	}
	return origin{scheme, a.withPort(defaultPort(scheme))}, true
}

func validScheme(s string) bool {
	if s == "" || len(s) > maxScheme || !letterOrDigit(s[0]) || s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !letterOrDigit(c) && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// originPattern is one configured origin: an exact one, all below a domain ("https://*.example.org"),
// or all of a scheme that no web page can have ("vscode-webview://*").
type originPattern struct {
	origin
	below bool // host is the domain
	every bool // host and port do not matter
}

func (p originPattern) matches(o origin) bool {
	if o.scheme != p.scheme {
		return false
	}
	switch {
	case p.every:
		return true
	case p.below:
		return o.port == p.port && strings.HasSuffix(o.host, "."+p.host)
	default:
		return o == p.origin
	}
}

// CheckOriginPattern says what is wrong with a configured origin, if anything is.
func CheckOriginPattern(s string) error {
	_, err := parseOriginPattern(s)
	return err
}

func parseOriginPattern(s string) (originPattern, error) {
	scheme, host, _ := strings.Cut(s, "://")
	if host == "*" {
		return everyPattern(s, scheme)
	}
	domain, below := strings.CutPrefix(host, "*.")
	o, ok := parseOrigin(scheme + "://" + domain)
	if !ok {
		return originPattern{}, fmt.Errorf("origin %q: want scheme://host[:port], https://*.domain or, for an editor's own scheme, scheme://*", s)
	}
	if below && !strings.Contains(o.host, ".") {
		return originPattern{}, fmt.Errorf("origin %q: the part behind *. needs two labels at least", s)
	}
	return originPattern{origin: o, below: below}, nil
}

func everyPattern(s, scheme string) (originPattern, error) {
	if !validScheme(scheme) {
		return originPattern{}, fmt.Errorf("origin %q: want a scheme before ://", s)
	}
	scheme = strings.ToLower(scheme)
	if scheme == "http" || scheme == "https" {
		return originPattern{}, fmt.Errorf("origin %q would let every web page in", s)
	}
	return originPattern{origin: origin{scheme: scheme}, every: true}, nil
}
