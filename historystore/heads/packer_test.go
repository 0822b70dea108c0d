package heads

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
)

func dueIn(p *Packer) (due []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(due, p.due...)
}

// A session is due once, from packFrom unpacked heads on, or if a block cannot be used.
func TestSessionsAreDueOnce(t *testing.T) {
	p := NewPacker(slog.New(slog.DiscardHandler))
	p.Stored("sess_a", packFrom-1)
	p.Loaded("sess_b", Found{Unpacked: packFrom - 1})
	p.Loaded("sess_c", Found{})
	if due := dueIn(p); len(due) != 0 {
		t.Fatalf("due: %v", due)
	}
	p.Stored("sess_a", 1)
	p.Stored("sess_a", packFrom)
	p.Loaded("sess_c", Found{Fault: errChecksum})
	p.Loaded("sess_b", Found{Unpacked: packFrom})
	if due := fmt.Sprint(dueIn(p)); due != "[sess_a sess_c sess_b]" {
		t.Fatalf("due: %v", due)
	}
	<-p.Due()
}

// The sessions whose heads are counted are bounded; those that are due can be forgotten while one of them is packed.
func TestCountedSessionsAreBounded(t *testing.T) {
	p := NewPacker(slog.New(slog.DiscardHandler))
	p.Stored("sess_due", packFrom)
	packed := p.Step(func(func(Querier, Exec) error) error {
		for i := range 3 * maxSessions {
			p.Stored(fmt.Sprint("sess_", i), 1)
			if len(p.sessions) > maxSessions {
				t.Fatalf("%d sessions", len(p.sessions))
			}
		}
		return nil
	})
	if !packed || p.Step(nil) {
		t.Error("a session that was forgotten is due")
	}
}

// All methods but Step can be called at any time; each session that is due gets its steps.
func TestPackerWhileSessionsAreLoadedAndStored(t *testing.T) {
	p := NewPacker(slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 200 {
				p.Stored(fmt.Sprint("sess_", i), packFrom/4)
				p.Loaded("sess_shared", Found{Unpacked: packFrom})
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	steps := 0
	fails := func(func(Querier, Exec) error) error { steps++; return errors.New("no room") }
	for running := true; running; {
		select {
		case <-p.Due():
			for p.Step(fails) {
			}
		case <-ended:
			running = false
		}
	}
	for p.Step(fails) {
	}
	if steps < 5 || len(dueIn(p)) != 0 {
		t.Errorf("%d steps, due: %v", steps, dueIn(p))
	}
}
