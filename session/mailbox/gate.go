package mailbox

import (
	"runtime"

	"strata/internal/failpoint"
)

// Gate holds a goroutine back until the operation that it depends on has ended. It is decided once; Refuse after that has no
// effect.
type Gate struct {
	box     *Mailbox
	decided chan struct{}
	open    bool // set before decided is closed
}

// NewGate returns a closed gate.
func (m *Mailbox) NewGate() *Gate { return &Gate{box: m, decided: make(chan struct{})} }

// Open lets goroutines pass. It belongs to the mailbox.
func (g *Gate) Open() {
	g.open = true
	close(g.decided)
}

// Refuse ends the goroutines at the gate. It belongs to the mailbox.
func (g *Gate) Refuse() {
	select {
	case <-g.decided:
	default:
		close(g.decided)
	}
}

// Pass returns when the gate is open. If it was refused, or the mailbox has ended, Pass ends the calling goroutine: nobody
// waits for what that does.
func (g *Gate) Pass() {
	select {
	case <-g.decided:
	default:
		failpoint.Hit("gate")
		select {
		case <-g.decided:
		case <-g.box.ctx.Done():
			runtime.Goexit()
		}
	}
	if !g.open {
		runtime.Goexit()
	}
}
