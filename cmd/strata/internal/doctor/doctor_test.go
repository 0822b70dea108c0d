package doctor

import "testing"

func TestSamePort(t *testing.T) {
	for listen, want := range map[string]bool{"127.0.0.1:7717": true, "127.0.0.1:7718": false, "wrong": false} {
		if got := samePort("ws://127.0.0.1:7717/acp", listen); got != want {
			t.Errorf("%s: got %v", listen, got)
		}
	}
}
