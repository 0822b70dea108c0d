package access

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// ErrBeyondLoopback says that the server was to listen beyond this machine without all that this needs.
var ErrBeyondLoopback = errors.New("listening beyond loopback")

// ListenOptions are what listening beyond loopback depends on.
type ListenOptions struct {
	Token       Token
	TLS         bool
	BehindProxy bool
	Roots       []string // workspaces.roots
}

// CheckListen says whether the server may listen on addr ("host:port"). On loopback it may; names other than localhost
// and an empty host count as beyond. The error wraps ErrBeyondLoopback and names everything that is missing.
func CheckListen(addr string, opt ListenOptions) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: want host:port: %w", addr, err)
	}
	if (authority{host: strings.ToLower(host)}).loopback() {
		return nil
	}
	var missing []string
	if opt.Token.IsZero() {
		missing = append(missing, "a token (STRATA_TOKEN or --token-file)")
	}
	if !opt.TLS && !opt.BehindProxy {
		missing = append(missing, "TLS or --behind-proxy")
	}
	if len(opt.Roots) == 0 {
		missing = append(missing, "the folders that sessions may be in (workspaces.roots)")
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w on %s: missing: %s", ErrBeyondLoopback, addr, strings.Join(missing, "; "))
}
