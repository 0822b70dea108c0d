package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"strata/internal/binary"
)

// Whenever the server is killed or stopped in turns that run commands, all their processes end, each call has a result, and no
// command runs twice. The moments are derived from a seed: some are any, and some are around the commits of a step.
func TestRandomKillsAroundCommands(t *testing.T) { inWorlds(t, randomKillsAroundCommands) }

// commandShop is a shop whose works run commands.
var commandShop = shop{more: "compaction: {enabled: false}\n"}

// commandPoints are the failpoints around a command.
var commandPoints = []string{"step.before", "step.after", "append.before", "append.after", "end.before", "end.after"}

// The ways in which a server ends while commands run.
const (
	killed  = "killed"
	stopped = "stopped"
	crashed = "died at a failpoint"
)

// commandWorld is a world whose server ends again and again while workers run commands.
type commandWorld struct {
	*world
	workers []*worker
	errands *errands
	viewer  *viewer
	chance  *rand.Rand
	seen    map[string]int
}

func newCommandWorld(t *testing.T, seed uint64) *commandWorld {
	w := newWorkshop(t, commandShop, binary.Options{})
	c := &commandWorld{world: w, workers: newWorkers(w, seed), errands: newErrands(w), chance: rand.New(rand.NewPCG(seed, 9)), seen: make(map[string]int)}
	e := w.editor()
	defer e.Close()
	for _, u := range c.workers {
		u.errands = c.errands
		w.approveAll(e, u.session)
	}
	c.viewer = newViewer(t, workedIn(c.workers)...)
	c.viewer.stops = true
	c.viewer.attach(w)
	return c
}

func randomKillsAroundCommands(t *testing.T, seed uint64, n int) {
	c := newCommandWorld(t, seed)
	for round := range n {
		how := c.next()
		if how == crashed {
			c.arm()
		}
		started := c.started()
		working := startWorkers(c.world, c.workers)
		before := c.ends(how, started)
		c.gone(working, before)
		c.seen[how]++
		c.comesBack()
		if t.Failed() {
			t.Fatalf("round %d: the server was %s", round, how)
		}
	}
	c.finish()
}

// next chooses how the server ends, and whether some commands do not end before.
func (c *commandWorld) next() (how string) {
	how = []string{killed, stopped, crashed, crashed}[c.chance.IntN(4)]
	c.errands.endless = c.chance.IntN(2) == 0
	if slices.ContainsFunc(c.workers, (*worker).isLost) {
		c.errands.endless = true // as those of the lost work may be
	}
	if c.errands.endless && how == crashed {
		return killed // the server might not reach its failpoint
	}
	return how
}

// isLost reports whether the work that is open was not stored, so that its commands run when it is sent again.
func (u *worker) isLost() bool { return u.open != nil && u.open.lost > 0 }

// finish lets the workers finish what ends, and checks everything.
func (c *commandWorld) finish() {
	c.t.Helper()
	c.errands.endless = false
	for _, u := range c.workers {
		if u.isLost() {
			u.open = nil
		}
	}
	finishWorkers(c.world, c.viewer, c.workers)
	c.noProcesses(nil)
	for _, u := range c.workers {
		c.judgeErrands(u)
		c.countErrands(u, c.seen)
	}
	c.t.Logf("%v", c.seen)
}

// arm starts a server that dies at a failpoint.
func (c *commandWorld) arm() {
	c.t.Helper()
	c.Kill()
	c.Restart(armed(fmt.Sprintf("%s:%d", commandPoints[c.chance.IntN(len(commandPoints))], 1+c.chance.IntN(8))))
	c.viewer.attach(c.world)
}

// started returns the number of commands that were started so far.
func (c *commandWorld) started() int { return len(c.errands.times(c.t)) }

// ends ends the server after a number of commands were started, and returns the processes that lived before. A stopped server
// has ended them.
func (c *commandWorld) ends(how string, started int) (before []string) {
	c.t.Helper()
	if how == crashed {
		within(c.t, "death", c.Done())
		c.Wait()
		return nil
	}
	c.moment(started)
	before = c.processes()
	c.seen[fmt.Sprintf("commands while it is %s", how)] += running(before)
	if how == killed {
		c.Kill()
		return before
	}
	c.Stop()
	if left := c.processes(); len(left) > 0 {
		c.t.Errorf("a stopped server leaves %q", left)
	}
	return before
}

// moment waits for a moment that is any, or after the start of one command or two.
func (c *commandWorld) moment(started int) {
	c.t.Helper()
	if !c.errands.endless && c.chance.IntN(2) == 0 {
		c.viewer.moment(c.chance)
		return
	}
	started += 1 + c.chance.IntN(len(c.workers))
	eventually(c.t, "commands", func() bool { return c.started() >= started })
	<-time.After(randomTime(c.chance, 300*time.Millisecond))
}

// gone waits for the end of all processes after that of the server.
func (c *commandWorld) gone(working *sync.WaitGroup, before []string) {
	c.t.Helper()
	const longest = "longest end of processes, in ms"
	died := time.Now()
	working.Wait()
	c.noProcesses(before)
	c.seen[longest] = max(c.seen[longest], int(time.Since(died).Milliseconds()))
}

// comesBack starts the server again, and checks everything.
func (c *commandWorld) comesBack() {
	c.t.Helper()
	c.Restart(binary.Options{})
	c.viewer.attach(c.world)
	e := c.editor()
	defer e.Close()
	judgeWorkers(c.world, e, c.viewer, c.workers)
	for _, u := range c.workers {
		c.judgeErrands(u)
	}
}
