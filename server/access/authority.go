package access

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"strata/internal/lazy"
)

// maxAuthority is the maximum length of a parsed "host:port", in bytes. A DNS name has at most 253.
const maxAuthority = 260

// authority is a host and a port as they appear in a Host or an Origin header.
type authority struct {
	host string // lower case; an IP address in canonical form without brackets
	port int    // 0 if absent
}

// hostName matches ASCII letters, digits, "-" and "_" in labels separated by single dots, IPv4 addresses included.
var hostName = lazy.Regexp(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// parseAuthority parses "name", "name:port", "1.2.3.4:port" or "[::1]:port". It accepts less than the standards allow:
// no user, zone or percent-encoding, no empty or padded port, no leading or trailing dot.
func parseAuthority(s string) (authority, bool) {
	if len(s) > maxAuthority {
		return authority{}, false
	}
	u, err := url.Parse("//" + s)
	if err != nil || u.Host != s {
		return authority{}, false
	}
	var a authority
	if strings.HasPrefix(s, "[") {
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return authority{}, false
		}
		a.host = addr.String()
	} else {
		if !hostName().MatchString(u.Hostname()) {
			return authority{}, false
		}
		a.host = strings.ToLower(u.Hostname())
	}
	port := u.Port()
	if port == "" {
		return a, !strings.HasSuffix(s, ":")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	a.port = int(n)
	return a, err == nil && port[0] != '0'
}

// loopback reports whether the host denotes this machine by name or address. Names are never resolved:
// an attacker controls the result.
func (a authority) loopback() bool {
	if a.host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(a.host)
	return err == nil && addr.IsLoopback()
}

// withPort returns a with the given port if a has none.
func (a authority) withPort(port int) authority {
	if a.port == 0 {
		a.port = port
	}
	return a
}

// defaultPort returns the port implied by a scheme, 0 if it implies none.
func defaultPort(scheme string) int {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}
