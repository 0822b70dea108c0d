package mcpcheck

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/rpc"
)

var (
	seedFlag = flag.Uint64("seed", 1, "seed of the random kills")
	kills    = flag.Int("kills", 4, "how many random kills there are")
)

// patrons are the sessions that use servers while the program is killed.
const patrons = 3

// perWorld is the number of kills of one world. Worlds are concurrent: most of the time they wait for servers that ignore SIGTERM.
const perWorld = 2

// Whenever the program is killed or stopped while MCP servers start, idle or run calls, none of their processes is left. The
// sessions load afterwards, each call has a result, and the servers run again. The moments are derived from a seed.
func TestRandomKillsAroundServers(t *testing.T) {
	t.Parallel()
	seed := *seedFlag
	for left := *kills; left > 0; left -= perWorld {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { killInWorld(t, seed, min(left, perWorld)) })
		seed++
	}
}

func killInWorld(t *testing.T, seed uint64, n int) {
	t.Parallel()
	k := newKilling(t, seed)
	for round := range n {
		k.round(round)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	k.Stop()
	k.noProcesses(nil)
	t.Logf("%v", k.seen)
}

// killing is a world whose program is ended again and again. All servers are stubborn, and have a child that is.
type killing struct {
	*world
	sessions []string
	seed     uint64
	chance   *rand.Rand
	called   chan struct{} // receives a value for each patron whose model has called a tool
	seen     map[string]int
}

func newKilling(t *testing.T, seed uint64) *killing {
	t.Helper()
	k := &killing{world: newWorld(t, configured(t, "shop", stubborn)+trusted), seed: seed, chance: rand.New(rand.NewPCG(seed, 0)), seen: make(map[string]int)}
	t.Cleanup(k.cleanUp)
	e := k.editor()
	for range patrons {
		k.sessions = append(k.sessions, e.open("session/new", "", k.Home.Project))
	}
	e.Close()
	return k
}

// round lets the patrons work until the program is ended at some moment, and checks everything.
func (k *killing) round(n int) {
	k.t.Helper()
	var working sync.WaitGroup
	k.called = make(chan struct{}, patrons)
	for i, session := range k.sessions {
		e, chance := k.editor(), rand.New(rand.NewPCG(k.seed, uint64(patrons*n+i+1)))
		working.Go(func() {
			if err := k.work(e, session, chance); err != nil {
				k.t.Errorf("%s: %v", session, err)
			}
		})
	}
	k.moment()
	before := k.processes()
	k.seen["processes"] += len(before)
	if k.chance.IntN(3) == 0 {
		k.seen["stops"]++
		k.Stop()
		if left := k.processes(); len(left) > 0 {
			k.t.Errorf("a stopped program leaves %q", left)
		}
	} else {
		k.seen["kills"]++
		k.Kill()
	}
	died := time.Now()
	working.Wait()
	k.noProcesses(before)
	const longest = "ms until the last process had ended, at most"
	k.seen[longest] = max(k.seen[longest], int(time.Since(died).Milliseconds()))
	k.Restart(binary.Options{})
	k.loads()
}

// moment waits for a moment that is any, or after the first call.
func (k *killing) moment() {
	k.t.Helper()
	if k.chance.IntN(3) > 0 {
		k.seen["moments after a call"]++
		select {
		case <-k.called:
		case <-time.After(patience):
			k.t.Fatal("no tool is called")
		}
	}
	<-time.After(randomTime(k.chance, 2*lateness))
}

// work opens a session with a server of its own, which starts late, and calls tools until the connection ends.
func (k *killing) work(e *editor, session string, chance *rand.Rand) error {
	own := named(k.t, "own", stubborn+" "+lazy, strconv.Itoa(chance.IntN(2))) // two patrons can share it
	if _, err := e.opens("session/load", session, k.Home.Project, own); err != nil {
		return unlessEnded(err)
	}
	call, called := e.After(testclient.Sees(session, "tool_call")), k.called // of this round
	go func() {
		if e.Await(call) == nil {
			called <- struct{}{}
		}
	}()
	for {
		var prompt bytes.Buffer
		for range chance.IntN(4) {
			server := []string{"shop", "own"}[chance.IntN(2)]
			switch chance.IntN(3) {
			case 0:
				fmt.Fprintf(&prompt, "call %s__where {}\n---\n", server)
			case 1:
				fmt.Fprintf(&prompt, "call %s__paint {}\n---\n", server)
			default:
				fmt.Fprintf(&prompt, "call %s__count {\"steps\": %d, \"file\": %q}\n---\n", server, chance.IntN(20), k.soon(chance))
			}
		}
		fmt.Fprintf(&prompt, "wait %v\nsay done", randomTime(chance, lateness/4).Round(time.Millisecond))
		if _, err := e.Prompt(session, prompt.String()); err != nil {
			return unlessEnded(err)
		}
	}
}

// soon returns a file for which a call waits: one that is there, or one that never is.
func (k *killing) soon(chance *rand.Rand) string {
	if chance.IntN(4) > 0 {
		return k.Home.Project
	}
	return k.gate("never")
}

// The error codes for requests to a program that ends.
const (
	codeBusy     = -32010
	codeProvider = -32012
)

// unlessEnded returns the errors but those of a program that ends.
func unlessEnded(err error) error {
	fault, ok := errors.AsType[*rpc.Error](err)
	if !ok || fault.Code == codeBusy || fault.Code == codeProvider {
		return nil
	}
	return err
}

// loads checks that each session loads, that its calls have ended, and that its servers run.
func (k *killing) loads() {
	k.t.Helper()
	e := k.editor()
	defer e.Close()
	for _, session := range k.sessions {
		start := len(e.Frames())
		e.open("session/load", session, k.Home.Project)
		k.judge(session, e.Frames()[start:].Of(session))
		e.finds(session, "shop")
		const least = 3 // the supervisor, the server and its child
		if running := k.processes(); len(running) < least {
			k.t.Errorf("the processes are %q", running)
		}
		e.end("session/close", session)
	}
}

// judge checks the calls of a loaded session.
func (k *killing) judge(session string, replayed testclient.Frames) {
	k.t.Helper()
	for _, c := range callsIn(k.t, replayed) {
		switch {
		case c.Status == "completed":
			k.seen["finished calls"]++
		case c.Status == "failed" && c.Text != "":
			k.seen["lost calls"]++
		default:
			k.t.Errorf("a call of the loaded session %s is %s", session, c)
		}
	}
}

// noProcesses waits until no process of this world lives but the program, nor one of those before.
func (k *killing) noProcesses(before []string) {
	k.t.Helper()
	eventually(k.t, "the end of all processes", func() bool {
		before = slices.DeleteFunc(before, func(process string) bool { return process != started(k.t, process) })
		return len(before)+len(k.processes()) == 0
	})
}

// processes returns the processes of this world that live, but for the program: those with its home in their environment.
func (k *killing) processes() (all []string) {
	k.t.Helper()
	home := []byte("HOME=" + filepath.Dir(k.Home.Project) + "\x00")
	found, err := filepath.Glob("/proc/[0-9]*")
	must(k.t, err)
	for _, process := range found {
		environment, _ := os.ReadFile(process + "/environ") // the process may have ended
		if id := filepath.Base(process); id != strconv.Itoa(k.PID) && bytes.Contains(environment, home) {
			all = append(all, started(k.t, id))
		}
	}
	return slices.DeleteFunc(all, func(process string) bool { return process == "" })
}

// started returns the id of a process and the time of its start, which no other process has; "" if it has ended. process is its
// id or a result of this function.
func started(t *testing.T, process string) string {
	t.Helper()
	id, _, _ := strings.Cut(process, " ")
	stat, err := os.ReadFile("/proc/" + id + "/stat")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, start = 0, 19 // among the fields after the name
	if fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return id + " " + fields[start]
}

// cleanUp ends the processes that a failed test has left.
func (k *killing) cleanUp() {
	for _, process := range k.processes() {
		id, err := strconv.Atoi(strings.Fields(process)[0])
		must(k.t, err)
		k.t.Logf("process %d was left", id)
		_ = syscall.Kill(id, syscall.SIGKILL)
	}
}

func randomTime(chance *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(chance.Int64N(int64(most)))
}
