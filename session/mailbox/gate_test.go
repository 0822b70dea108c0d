package mailbox

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
)

func TestGate(t *testing.T) {
	for name, tt := range map[string]struct {
		decide func(m *Mailbox, g *Gate)
		passes bool
	}{
		"open":              {func(_ *Mailbox, g *Gate) { g.Open() }, true},
		"refused":           {func(_ *Mailbox, g *Gate) { g.Refuse() }, false},
		"refused when open": {func(_ *Mailbox, g *Gate) { g.Open(); g.Refuse() }, true},
		"the mailbox ends":  {func(m *Mailbox, _ *Gate) { m.End(errors.New("gone")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New("owner", slog.New(slog.DiscardHandler), func() {})
				g := m.NewGate()
				var mu sync.Mutex
				passed, ended := 0, 0
				for range 3 {
					m.Spawn(func() {
						defer func() {
							mu.Lock()
							defer mu.Unlock()
							ended++
						}()
						g.Pass()
						g.Pass() // again
						mu.Lock()
						defer mu.Unlock()
						passed++
					})
				}
				synctest.Wait()
				if passed+ended > 0 {
					t.Fatalf("%d passed a closed gate", passed)
				}
				tt.decide(m, g)
				synctest.Wait()
				if want := map[bool]int{true: 3}[tt.passes]; passed != want || ended != 3 {
					t.Errorf("%d passed and %d ended, want %d and 3", passed, ended, want)
				}
			})
		})
	}
}
