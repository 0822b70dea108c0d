package access

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// ErrBeyondLoopback means that the server must not listen beyond this machine because a requirement is missing.
var ErrBeyondLoopback = errors.New("listening beyond loopback")

// ListenOptions are the settings that listening beyond loopback depends on.
type ListenOptions struct {
	Token       Token
	TLS         bool
	BehindProxy bool
	Roots       []string // workspaces.roots
}

// CheckListen returns an error if the server must not listen on addr ("host:port"). Loopback is always allowed; names
// other than localhost and an empty host count as beyond loopback. The error wraps ErrBeyondLoopback and names every
// missing requirement.
func CheckListen(addr string, opt ListenOptions) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: expected host:port: %w", addr, err)
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
		missing = append(missing, "the folders in which sessions may work (workspaces.roots)")
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w on %s: missing: %s", ErrBeyondLoopback, addr, strings.Join(missing, "; "))
}
