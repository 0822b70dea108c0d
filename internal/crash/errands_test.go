package crash

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/testclient"
)

// errands are commands that works run. Each adds its name as a line to a file.
type errands struct {
	file    string
	endless bool // some of the next ones do not end
}

func newErrands(w *world) *errands { return &errands{file: filepath.Join(w.Home.Project, "ran.txt")} }

// errandLines are what commands do after they have added their name. $HOME is the folder of their world, by which processes are
// found that have no environment.
var errandLines = []string{
	"true",
	"sleep 0.1",
	"sleep 1000 & sleep 0.05",
	"for i in 1 2 3 4; do sleep 1000 & done; sleep 0.1",
	"(sleep 1000 &) ; sleep 0.1",
	"nohup sleep 1000 >nohup.txt 2>&1 & sleep 0.1",
	"env -i /bin/sh -c 'sleep 1000 & wait' $HOME & sleep 0.2",
	`(trap "" TERM INT HUP; sleep 1000) & sleep 0.1`,
	`trap "" TERM INT HUP; sleep 0.3`,
	"setsid sleep 1000 & p=$!; sleep 0.2; kill -KILL $p", // a daemon outlives a command that ends by itself
	"i=0; while [ $i -lt 300 ]; do echo line $i of a long output; i=$((i+1)); done",
	"head -c 300000 /dev/zero | tr '\\0' x; sleep 0.1",
}

// endlessLines are lines that do not end by themselves, with children in the background, some of which ignore signals.
var endlessLines = map[string]string{
	"children":          "sleep 1000 & (sleep 1000 &) ; sleep 1000",
	"ignores signals":   `trap "" TERM INT HUP; (trap "" TERM; sleep 1000) & sleep 1000`,
	"left the group":    "setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000",
	"no environment":    "env -i /bin/sh -c 'sleep 1000 & wait' $HOME & sleep 1000",
	"an endless output": "yes",
}

// line returns what a command does.
func (r *errands) line(chance *rand.Rand) string {
	if r.endless && chance.IntN(3) == 0 {
		names := slices.Sorted(maps.Keys(endlessLines))
		return endlessLines[names[chance.IntN(len(names))]]
	}
	return errandLines[chance.IntN(len(errandLines))]
}

// plan returns the calls of a work, of which most run a command.
func (r *errands) plan(chance *rand.Rand, k *work) (plan [][]toolCall) {
	for step := range k.steps {
		var calls []toolCall
		for i := range 1 + chance.IntN(3) {
			if chance.IntN(5) == 0 {
				n := 1 + (3*step+i)%workFiles // a turn that repeats a call ends
				calls = append(calls, toolCall{"search", fmt.Sprintf(`{"pattern":"needle%d"}`, n), "match"})
				continue
			}
			calls = append(calls, r.call(fmt.Sprintf("%s/%d/%d", k.name, step+1, i), r.line(chance)))
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

// approveAll lets the commands of a session run without asking.
func (w *world) approveAll(e *testclient.Editor, session string) {
	w.t.Helper()
	if err := e.Call("session/set_config_option", map[string]any{"sessionId": session, "configId": "approval", "value": "auto"}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// judgeErrands checks how often the commands of a worker have run: once with a result of their own, at most once without.
func (w *world) judgeErrands(u *worker) {
	w.t.Helper()
	times, results := u.errands.times(w.t), w.commandResults(u.session)
	for name, result := range results {
		if n := times[name]; n > 1 || !result.IsError && n != 1 {
			w.t.Errorf("%s has the result %q, and ran %d times", name, firstLine(&result), n)
		}
	}
	for name := range times {
		if _, known := results[name]; strings.HasPrefix(name, u.name+"-") && !known {
			w.t.Errorf("%s ran, and has no call", name)
		}
	}
}

// countErrands counts the results of the commands of a worker.
func (w *world) countErrands(u *worker, seen map[string]int) {
	w.t.Helper()
	times := u.errands.times(w.t)
	for name, result := range w.commandResults(u.session) {
		seen[fmt.Sprintf("%s, ran %d times", firstLine(&result), times[name])]++
	}
}

func firstLine(result *history.Block) string {
	first, _, _ := strings.Cut(result.Content[0].Text, "\n")
	return first
}

// commandResults returns the stored results of a session's commands, by name.
func (w *world) commandResults(session string) map[string]history.Block {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	return commandResults(w.t, db, session)
}

func commandResults(t *testing.T, db *sql.DB, session string) map[string]history.Block {
	t.Helper()
	named, all := make(map[string]string), make(map[string]history.Block)
	for _, m := range messagesOnDisk(t, db, session) {
		for _, b := range blocksOf(&m, history.BlockToolCall) {
			if b.Name == "run_command" && json.Valid([]byte(b.Args)) {
				named[b.CallID] = strings.Fields(b.Args)[1]
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
