package access

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckListen(t *testing.T) {
	const (
		token = "a token"
		tls   = "TLS or --behind-proxy"
		roots = "workspaces.roots"
	)
	all := ListenOptions{Token: NewToken(), TLS: true, Roots: []string{"/src"}}
	proxied := ListenOptions{Token: NewToken(), BehindProxy: true, Roots: []string{"/src"}}
	for name, test := range map[string]struct {
		addr    string
		opt     ListenOptions
		missing []string // nil: allowed
	}{
		"loopback address":        {"127.0.0.1:7717", ListenOptions{}, nil},
		"another loopback":        {"127.9.9.9:7717", ListenOptions{}, nil},
		"free port":               {"127.0.0.1:0", ListenOptions{}, nil},
		"loopback version 6":      {"[::1]:7717", ListenOptions{}, nil},
		"loopback name":           {"LocalHost:7717", ListenOptions{}, nil},
		"all interfaces":          {"0.0.0.0:7717", ListenOptions{}, []string{token, tls, roots}},
		"all interfaces, short":   {":7717", ListenOptions{}, []string{token, tls, roots}},
		"all interfaces, v6":      {"[::]:7717", ListenOptions{}, []string{token, tls, roots}},
		"an address":              {"192.0.2.7:7717", ListenOptions{Token: all.Token}, []string{tls, roots}},
		"a name":                  {"strata.example:7717", ListenOptions{TLS: true}, []string{token, roots}},
		"a name like loopback":    {"localhost.evil.example:7717", ListenOptions{Roots: all.Roots}, []string{token, tls}},
		"only roots are missing":  {":7717", ListenOptions{Token: all.Token, TLS: true}, []string{roots}},
		"only token is missing":   {":7717", ListenOptions{BehindProxy: true, Roots: all.Roots}, []string{token}},
		"only TLS is missing":     {":7717", ListenOptions{Token: all.Token, Roots: all.Roots}, []string{tls}},
		"everything with TLS":     {":7717", all, nil},
		"everything with a proxy": {":7717", proxied, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckListen(test.addr, test.opt)
			if test.missing == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, ErrBeyondLoopback) {
				t.Fatalf("error %v, want ErrBeyondLoopback", err)
			}
			for _, part := range []string{token, tls, roots} {
				want := strings.Contains(strings.Join(test.missing, "\n"), part)
				if got := strings.Contains(err.Error(), part); got != want {
					t.Errorf("error %q: says %q: %v, want %v", err, part, got, want)
				}
			}
			if !strings.Contains(err.Error(), test.addr) {
				t.Errorf("error %q does not name the address", err)
			}
		})
	}
	for _, addr := range []string{"", "7717", "127.0.0.1", "::1:7717", "[::1"} {
		if err := CheckListen(addr, all); err == nil || errors.Is(err, ErrBeyondLoopback) {
			t.Errorf("%q: error %v", addr, err)
		}
	}
}
