package upgrade

import "testing"

// The order of semver.org's example, and versions of development builds.
func TestOlderVersions(t *testing.T) {
	inOrder := []string{
		"0.9.0-dev+0123", "v0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
		"1.0.0+build", "v1.0.1", "1.2.0", "1.10.0", "2.0.0",
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := older(a, b); got != (i < j) {
				t.Errorf("%s is older than %s: %v", a, b, got)
			}
		}
	}
	for _, pair := range [][2]string{{"1.0.0+a", "1.0.0+b"}, {"", "1.0.0"}, {"1.0.0", "dev"}, {"1.0", "1.0.1"}, {"1.x.0", "2.0.0"}} {
		if older(pair[0], pair[1]) || older(pair[1], pair[0]) {
			t.Errorf("%q have an order", pair)
		}
	}
}
