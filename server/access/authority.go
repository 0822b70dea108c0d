package access

import (
	"net/netip"
	"strconv"
	"strings"
)

// maxAuthority is the longest "host:port" that is looked at, in bytes: a DNS name has at most 253.
const maxAuthority = 260

// authority is a host and a port as a Host or an Origin header names them.
type authority struct {
	host string // lower case; an address in its canonical form without brackets
	port int    // 0 where none was named
}

// parseAuthority reads "name", "name:port", "1.2.3.4:port" or "[::1]:port". It takes less than the standards allow:
// no user, no zone, no percent signs, no empty or padded port, no dot at either end.
func parseAuthority(s string) (authority, bool) {
	if s == "" || len(s) > maxAuthority {
		return authority{}, false
	}
	if s[0] == '[' {
		return parseBracketed(s[1:])
	}
	host, port, hasPort := strings.Cut(s, ":")
	if !validName(host) {
		return authority{}, false
	}
	a := authority{host: strings.ToLower(host)}
	if !hasPort {
		return a, true
	}
	var ok bool
	a.port, ok = parsePort(port)
	return a, ok
}

func parseBracketed(s string) (authority, bool) {
	inside, rest, closed := strings.Cut(s, "]")
	addr, err := netip.ParseAddr(inside)
	if !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
		return authority{}, false
	}
	a := authority{host: addr.String()}
	if rest == "" {
		return a, true
	}
	port, ok := strings.CutPrefix(rest, ":")
	if !ok {
		return authority{}, false
	}
	a.port, ok = parsePort(port)
	return a, ok
}

// validName takes names of ASCII letters, digits, "-", "_" and single dots between them, IPv4 addresses included.
func validName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !letterOrDigit(c) && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func parsePort(s string) (int, bool) {
	if s == "" || len(s) > 5 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n <= 65535
}

// loopback reports whether the host is this machine by its name or address. Names are never resolved:
// what a name resolves to is what an attacker would choose.
func (a authority) loopback() bool {
	if a.host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(a.host)
	return err == nil && addr.IsLoopback()
}

// withPort returns a with port where it names none.
func (a authority) withPort(port int) authority {
	if a.port == 0 {
		a.port = port
	}
	return a
}

// defaultPort is the port that an address of that scheme leaves out; 0 where there is none.
func defaultPort(scheme string) int {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}
