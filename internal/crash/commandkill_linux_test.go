package crash

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/internal/binary"
	"strata/internal/testclient"
)

// Whenever the server is killed or stopped in turns that run commands, all their processes end, each call has a result, and no
// command runs twice. The moments are derived from a seed: some are any, and some are around the commits of a step.
func TestRandomKillsAroundCommands(t *testing.T) { inWorlds(t, randomKillsOfCommands) }

// commandPoints are the failpoints around a command.
var commandPoints = []string{"step.before", "step.after", "append.before", "append.after", "end.before", "end.after"}

// commandShop is a shop whose works run commands.
var commandShop = shop{more: "compaction: {enabled: false}\n"}

func randomKillsOfCommands(t *testing.T, seed uint64, n int) {
	w := newWorkshop(t, commandShop, binary.Options{})
	workers := newWorkers(w, seed)
	ran := filepath.Join(w.Home.Project, "ran.txt")
	e := w.editor()
	for _, u := range workers {
		u.errands = &errands{file: ran}
		w.approveAll(e, u.session)
	}
	e.Close()
	v := newViewer(t, workedIn(workers)...)
	v.attach(w)
	chance := rand.New(rand.NewPCG(seed, 9))
	seen := make(map[string]int)
	for round := range n {
		at := []string{"a kill", "a kill", "a stop", "a failpoint"}[chance.IntN(4)]
		if at == "a failpoint" {
			w.Kill()
			w.Restart(armed(fmt.Sprintf("%s:%d", commandPoints[chance.IntN(len(commandPoints))], 1+chance.IntN(8))))
			v.attach(w)
		}
		working := startWorkers(w, workers)
		switch at {
		case "a kill":
			v.moment(chance)
			seen["processes at a kill"] += len(w.processes())
			w.Kill()
		case "a stop":
			v.moment(chance)
			w.Stop()
			if left := w.processes(); len(left) > 0 {
				t.Errorf("a stopped server leaves %q", left)
			}
		default:
			within(t, "death", w.Done())
			w.Wait()
		}
		died := time.Now()
		working.Wait()
		w.noProcesses()
		seen["longest end of processes, in ms"] = max(seen["longest end of processes, in ms"], int(time.Since(died).Milliseconds()))
		seen[at]++
		w.Restart(binary.Options{})

		v.attach(w)
		e := w.editor()
		judgeWorkers(w, e, v, workers)
		e.Close()
		for _, u := range workers {
			w.judgeRuns(u, seen)
		}
		if t.Failed() {
			t.Fatalf("round %d: %s", round, at)
		}
	}
	finishWorkers(w, v, workers)
	w.noProcesses()
	t.Logf("%v", seen)
}

// approveAll lets the commands of a session run without asking.
func (w *world) approveAll(e *testclient.Editor, session string) {
	w.t.Helper()
	if err := e.Call("session/set_config_option", map[string]any{"sessionId": session, "configId": "approval", "value": "auto"}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// processes returns the processes of this world that live, each by its command line: those that have its folder in their
// environment or arguments.
func (w *world) processes() (all []string) {
	w.t.Helper()
	folder := []byte(filepath.Dir(w.Home.Project))
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, process := range found {
		line, _ := os.ReadFile(process + "/cmdline")
		environment, _ := os.ReadFile(process + "/environ")
		if bytes.Contains(line, folder) || bytes.Contains(environment, folder) {
			all = append(all, fmt.Sprintf("%s: %s", filepath.Base(process), bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return all
}

// noProcesses waits until no process of this world lives. Processes that ignore SIGTERM live some seconds.
func (w *world) noProcesses() {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	eventually(w.t, "the end of all processes", func() bool {
		left := w.processes()
		if len(left) > 0 && time.Now().After(deadline) {
			w.t.Fatalf("these processes live: %q", left)
		}
		return len(left) == 0
	})
}

// errands are the commands of a worker. Each adds its name as a line to a file.
type errands struct{ file string }

// commandLines are what commands do after they have added their name. $HOME is the folder of their world, which finds processes
// without an environment.
var commandLines = []string{
	"true",
	"sleep 0.1",
	"sleep 1000 & sleep 0.05",
	"for i in 1 2 3 4; do sleep 1000 & done; sleep 0.1",
	"(sleep 1000 &) ; sleep 0.1",
	"nohup sleep 1000 >nohup.txt 2>&1 & sleep 0.1",
	"env -i /bin/sh -c 'sleep 1000 & wait' $HOME & sleep 0.2",
	`(trap "" TERM INT HUP; sleep 1000) & sleep 0.1`,
	`trap "" TERM INT HUP; sleep 0.3`,
	`setsid sh -c 'sleep 1000; true' & p=$!; sleep 0.2; kill -KILL -- -$p 2>x || kill -KILL $p`,
	"i=0; while [ $i -lt 300 ]; do echo line $i of a long output; i=$((i+1)); done",
	"head -c 300000 /dev/zero | tr '\\0' x; sleep 0.1",
}

// plan returns the calls of a work, of which most run a command.
func (r *errands) plan(chance *rand.Rand, k *work) (plan [][]toolCall) {
	for step := range k.steps {
		var calls []toolCall
		for i := range 1 + chance.IntN(3) {
			if chance.IntN(5) == 0 {
				calls = append(calls, toolCall{"search", `{"pattern":"needle1"}`, "match"})
				continue
			}
			calls = append(calls, r.call(fmt.Sprintf("%s/%d/%d", k.name, step+1, i), commandLines[chance.IntN(len(commandLines))]))
		}
		plan = append(plan, calls)
	}
	return plan
}

// call returns a call of a command with a name.
func (r *errands) call(name, line string) toolCall {
	input, err := json.Marshal(map[string]string{"command": fmt.Sprintf("echo %s >>%s; %s; echo; echo said %s", name, filepath.Base(r.file), line, name)})
	if err != nil {
		panic(err)
	}
	return toolCall{"run_command", string(input), "said " + name}
}

// times returns how often each command has run.
func (r *errands) times(t *testing.T) map[string]int {
	t.Helper()
	content, err := os.ReadFile(r.file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	times := make(map[string]int)
	for name := range strings.FieldsSeq(string(content)) {
		times[name]++
	}
	return times
}

// judgeRuns checks how often the commands of a worker have run: once with a result of their own, at most once without.
func (w *world) judgeRuns(u *worker, seen map[string]int) {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	times := u.errands.times(w.t)
	known := make(map[string]bool)
	for name, result := range commandResults(w.t, db, u.session) {
		known[name] = true
		switch n := times[name]; {
		case n > 1:
			w.t.Errorf("%s ran %d times", name, n)
		case !result.IsError && n != 1:
			w.t.Errorf("%s has the result %q, and ran %d times", name, result.Content[0].Text, n)
		}
		seen[fmt.Sprintf("%s, ran %d times", beginningOf(&result), times[name])]++
	}
	for name := range times {
		if strings.HasPrefix(name, u.name+"-") && !known[name] {
			w.t.Errorf("%s ran, and has no call", name)
		}
	}
}

// beginningOf returns the first words of a result.
func beginningOf(result *history.Block) string {
	first, _, _ := strings.Cut(result.Content[0].Text, "\n")
	return first
}

// commandResults returns the results of the commands that a session has stored, by name.
func commandResults(t *testing.T, db *sql.DB, session string) map[string]history.Block {
	t.Helper()
	named, all := make(map[string]string), make(map[string]history.Block)
	for _, m := range messagesOnDisk(t, db, session) {
		for _, b := range blocksOf(&m, history.BlockToolCall) {
			if b.Name == "run_command" {
				fields := strings.Fields(b.Args)
				named[b.CallID] = fields[1]
			}
		}
		for _, b := range blocksOf(&m, history.BlockToolResult) {
			if name := named[b.CallID]; name != "" {
				all[name] = b
			}
		}
	}
	return all
}
