package access

import (
	"fmt"
	"net/http"
)

// visit is the origin that an admitted request addresses, and where the request comes from.
type visit struct {
	self origin // our own, as the request names it
	from source
}

// source is where a request comes from.
type source int

const (
	fromProgram    source = iota // not a web page: no Origin
	fromSelf                     // our own page
	fromConfigured               // a page of a configured origin
)

// The refusals of examine.
var (
	errMethod      = &Refusal{Status: http.StatusMethodNotAllowed, Reason: "only GET and HEAD are allowed"}
	errNoHost      = &Refusal{Status: http.StatusBadRequest, Reason: "the Host header is missing or malformed"}
	errForeignHost = &Refusal{Status: http.StatusForbidden,
		Reason: "this Host is not allowed; use a loopback address with the server's port, or add the name to `hosts`"}
	errForeignOrigin = &Refusal{Status: http.StatusForbidden,
		Reason: "this Origin is not allowed; add a frontend's origin to `origins`"}
)

// examine applies the rules of every route: method, Host, Origin.
func (g *Guard) examine(r *http.Request) (visit, *Refusal) {
	self, refusal := g.examineHost(r)
	if refusal != nil {
		return visit{}, refusal
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return visit{}, errMethod
	}
	from, refusal := g.examineOrigin(r.Header.Values("Origin"), self)
	return visit{self, from}, refusal
}

// examineHost returns our own origin as the request names it, and refuses a foreign Host. This prevents DNS rebinding, in
// which a browser sends a name that the attacker points at us. net/http refuses requests with two Host headers.
func (g *Guard) examineHost(r *http.Request) (origin, *Refusal) {
	a, ok := parseAuthority(r.Host)
	if !ok {
		return origin{}, errNoHost
	}
	scheme := g.scheme(r, a)
	a = a.withPort(defaultPort(scheme))
	if !g.serves(a, scheme) {
		return origin{}, errForeignHost
	}
	return origin{scheme, a}, nil
}

// scheme returns the scheme in the browser's address bar. A proxy that does not report it is assumed to terminate TLS,
// except on loopback.
func (g *Guard) scheme(r *http.Request, a authority) string {
	if g.tls {
		return "https"
	}
	if !g.behindProxy {
		return "http"
	}
	if proto := r.Header.Values("X-Forwarded-Proto"); len(proto) == 1 && (proto[0] == "http" || proto[0] == "https") {
		return proto[0]
	}
	if a.loopback() {
		return "http"
	}
	return "https"
}

func (g *Guard) serves(a authority, scheme string) bool {
	if a.loopback() && a.port == g.port {
		return true
	}
	for _, h := range g.hosts {
		samePort := a.port == h.port || h.port == 0 && (a.port == g.port || a.port == defaultPort(scheme))
		if a.host == h.host && samePort {
			return true
		}
	}
	return false
}

// examineOrigin refuses an Origin that is neither our own nor configured. Our own is exactly the origin that the request
// addresses: another loopback name or port can be another program.
func (g *Guard) examineOrigin(values []string, self origin) (source, *Refusal) {
	if len(values) == 0 {
		return fromProgram, nil
	}
	o, ok := parseOrigin(values[0])
	if !ok || len(values) > 1 {
		return 0, errForeignOrigin
	}
	if o == self {
		return fromSelf, nil
	}
	for _, p := range g.origins {
		if p.matches(o) {
			return fromConfigured, nil
		}
	}
	return 0, errForeignOrigin
}

// CheckHost returns an error if a configured Host value is invalid. A value without a port allows the name with the
// server's own port and without a port.
func CheckHost(s string) error {
	_, err := parseHost(s)
	return err
}

func parseHost(s string) (authority, error) {
	a, ok := parseAuthority(s)
	if !ok {
		return authority{}, fmt.Errorf("host %q: expected name or name:port", s)
	}
	return a, nil
}
