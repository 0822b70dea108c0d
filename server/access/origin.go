package access

import (
	"fmt"
	"net/url"
	"strings"
)

// origin is the origin of a web page: scheme, host and port.
type origin struct {
	scheme string
	authority
}

// parseOrigin parses the value of an Origin header. "null", and a value with a path, a user or a query, is no origin.
func parseOrigin(s string) (origin, bool) {
	scheme, host, ok := splitOrigin(s)
	if !ok {
		return origin{}, false
	}
	a, ok := parseAuthority(host)
	return origin{scheme, a.withPort(defaultPort(scheme))}, ok
}

// splitOrigin splits "scheme://host" into the scheme, in lower case, and the host, which is not validated further.
func splitOrigin(s string) (scheme, host string, ok bool) {
	u, err := url.Parse(s)
	if err != nil || len(s) != len(u.Scheme)+len("://")+len(u.Host) {
		return "", "", false
	}
	return u.Scheme, u.Host, true
}

// originPattern is one configured origin: an exact one, all subdomains of a domain ("https://*.example.org"),
// or all hosts of a scheme that no web page can have ("vscode-webview://*").
type originPattern struct {
	origin
	below bool // host is the domain
	every bool // host and port are ignored
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

// CheckOriginPattern returns an error if a configured origin is invalid.
func CheckOriginPattern(s string) error {
	_, err := parseOriginPattern(s)
	return err
}

func parseOriginPattern(s string) (originPattern, error) {
	scheme, host, ok := splitOrigin(s)
	domain, below := strings.CutPrefix(host, "*.")
	switch {
	case ok && host == "*" && (scheme == "http" || scheme == "https"):
		return originPattern{}, fmt.Errorf("origin %q would allow every web page", s)
	case ok && host == "*":
		return originPattern{origin: origin{scheme: scheme}, every: true}, nil
	case below && !strings.Contains(domain, "."):
		return originPattern{}, fmt.Errorf("origin %q: *. needs at least two labels after it", s)
	}
	a, valid := parseAuthority(domain)
	if !ok || !valid {
		return originPattern{}, fmt.Errorf("origin %q: expected scheme://host[:port], https://*.domain or, for an editor's own scheme, scheme://*", s)
	}
	return originPattern{origin: origin{scheme, a.withPort(defaultPort(scheme))}, below: below}, nil
}
