//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"strata/history"
	"strata/llm/reply"
	"strata/session/clients"
	"strata/session/events"
	"strata/session/shell"
	"strata/session/tools"
)

// commanding returns a session whose model runs commands, with the approval.
func commanding(t *testing.T, mode string, runner shell.Runner) (*acted, *approver) {
	t.Helper()
	return editing(t, mode, func(d *Deps) { d.Tools.Commands = runner })
}

// A command is asked about with the rules that would allow it, and runs once it is allowed. Its result is stored before the model
// is asked again.
func TestACommandIsAskedAboutAndRuns(t *testing.T) {
	a, user := commanding(t, "ask", shell.Any)
	result := a.prompt("go", nil)
	first := a.asked()
	if s := texts(first.req); !strings.Contains(s, "run_command") {
		t.Error("the system prompt does not tell of commands")
	}
	first.act(reply.StopToolUse, callsOf(1, `run_command{"command":"cat a.go"}`)...)
	q := <-user.asks
	equalOptions(t, q, "run_command(cat a.go)", "run_command(cat a.go *)")
	if q.Call.Title != "cat a.go" || q.Call.Kind != tools.KindExecute {
		t.Errorf("asked about %+v", q.Call)
	}
	q.choose(t, "allow_always", "")
	second := a.asked()
	wants(t, "results", a.results(), "Exit code 0\npackage a\n\nfunc Alpha() {}\n")

	if err := os.Mkdir(filepath.Join(a.folder, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	second.act(reply.StopToolUse, callsOf(2, `run_command{"command":"cat a.go"}`, `run_command{"command":"cat a.go","cwd":"sub"}`)...)
	q = <-user.asks
	if q.Call.CallID != "tc_3" {
		t.Errorf("asked about %+v", q.Call)
	}
	equalOptions(t, q, "run_command(cd sub && cat a.go)")
	q.choose(t, "reject_once", "not there")
	third := a.asked()
	if got := a.results(); len(got) != 1 || !strings.Contains(got[0], "not there") {
		t.Errorf("results %q", got)
	}
	third.end("done")
	<-result
}

// equalOptions compares the rules that a question offers.
func equalOptions(t *testing.T, q question, want ...string) {
	t.Helper()
	var got []string
	for _, o := range q.Options {
		if rule := o.Rule.String(); o.Kind == "allow_always" {
			got = append(got, rule)
		}
	}
	wants(t, "rules", got, want...)
}

func TestTheApprovalOfCommands(t *testing.T) {
	for mode, want := range map[string]string{
		"auto":      "Exit code 0\n(no output)",
		"read-only": "run_command was not run: the session is read-only. Tell the user what you would have done.",
	} {
		a, _ := commanding(t, mode, shell.Any)
		result := a.prompt("go", nil)
		a.asked().act(reply.StopToolUse, callsOf(1, `run_command{"command":"echo new > made"}`)...)
		last := a.asked()
		wants(t, mode, a.results(), want)
		if got := a.file("made"); (got == "new\n") != (mode == "auto") {
			t.Errorf("%s: the file is %q", mode, got)
		}
		last.end("done")
		<-result
	}
}

func TestWithoutCommandsThereIsNoTool(t *testing.T) {
	for _, runner := range []shell.Runner{"", shell.Off} {
		a, _ := commanding(t, "auto", runner)
		result := a.prompt("go", nil)
		first := a.asked()
		for _, tool := range first.req.Tools {
			if tool.Name == shell.Name {
				t.Error("there is one")
			}
		}
		if strings.Contains(texts(first.req), shell.Name) {
			t.Error("the system prompt names it")
		}
		first.end("done")
		<-result
	}
}

// begun waits for a command that writes the numbers of its processes into the file pids, and returns them.
func (a *acted) begun(c *events.Cursor, woken <-chan struct{}) (pids []int) {
	a.t.Helper()
	until(a.t, c, woken, func(e *events.Event) bool {
		p, ok := e.Data.(tools.Progress)
		return ok && p.Output != nil && strings.Contains(p.Output.Text, "begun")
	})
	for _, word := range strings.Fields(a.file("pids")) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			a.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// lives reports whether a process runs.
func lives(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// Whatever ends a session, no process of a command outlives it, and the turn does not wait for these.
func TestNoProcessOutlivesItsSession(t *testing.T) {
	for _, reason := range []string{ReasonClosed, ReasonDeleted, ReasonShutdown, "cancelled first"} {
		t.Run(reason, func(t *testing.T) {
			a, _ := commanding(t, "auto", shell.Any)
			woken := make(chan struct{}, 1)
			c := a.NewCursor(func() {
				select {
				case woken <- struct{}{}:
				default:
				}
			})
			if _, err := answerOf(func(reply func(Attached, error)) { a.Attach(c, events.Since{Epoch: a.Epoch()}, reply) }); err != nil {
				t.Fatal(err)
			}
			result := a.prompt("go", c)
			a.asked().act(reply.StopToolUse, callsOf(1, `run_command{"command":"trap '' TERM; sleep 1000 & echo $! $$ > pids; echo begun; while :; do wait; done"}`)...)
			pids := a.begun(c, woken)
			if len(pids) != 2 || !lives(pids[0]) || !lives(pids[1]) {
				t.Fatalf("processes %v", pids)
			}
			why := tools.Interrupted
			if reason == "cancelled first" {
				a.Cancel("")
				if r := <-result; r.Turn.StopReason != "cancelled" {
					t.Errorf("%+v, %v", r.Turn, r.err)
				}
				why, reason = tools.Cancelled, ReasonClosed
			}
			closed := make(chan struct{})
			a.Close(reason, func() { close(closed) })
			<-closed
			for _, pid := range pids {
				if lives(pid) {
					t.Errorf("%d lives", pid)
				}
			}
			if got := a.transcript(); len(got) != 3 || !strings.Contains(got[2], why.String()) {
				t.Errorf("the transcript is %q", got)
			}
		})
	}
}

// terminals is a connection with an environment, and with terminals if it has an id for one.
type terminals struct {
	clients.Client
	id  string
	env []string

	mu       sync.Mutex
	requests []terminalRequest
	runs     chan struct{}
	ended    chan struct{} // closed when the command has ended
}

type terminalRequest struct {
	what  string
	after uint64 // event that it follows
}

func (c *terminals) Can(capability clients.Capability) bool {
	return c.id != "" && capability == clients.Terminals
}

func (c *terminals) Identity() any { return c.id }

func (c *terminals) Environment() []string { return c.env }

func (c *terminals) note(what string, after uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, terminalRequest{what, after})
}

func (c *terminals) CreateTerminal(_ context.Context, _ clients.TerminalCommand, after uint64) (string, error) {
	c.note("create", after)
	return c.id, nil
}

func (c *terminals) WaitForExit(ctx context.Context, _ string, _ uint64) (clients.Exit, error) {
	close(c.runs)
	select {
	case <-c.ended:
		return clients.Exit{Signal: "SIGSEGV"}, nil
	case <-ctx.Done():
		return clients.Exit{}, context.Cause(ctx)
	}
}

func (c *terminals) TerminalOutput(context.Context, string, uint64) (clients.TerminalOutput, error) {
	return clients.TerminalOutput{Text: "boom\n"}, nil
}

func (c *terminals) KillTerminal(_ string, after uint64)    { c.note("kill", after) }
func (c *terminals) ReleaseTerminal(_ string, after uint64) { c.note("release", after) }

// by sends a prompt by a client.
func (a *acted) by(client clients.Client, c *events.Cursor) chan outcomeOf {
	results := make(chan outcomeOf, 1)
	a.Prompt(Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "go"}}, Client: client}, c, func(r PromptResult, _ uint64, err error) {
		results <- outcomeOf{r, err}
	})
	return results
}

// A command runs in a terminal of the editor that sent the prompt. Its owner is shown it before it is released.
func TestACommandRunsInTheTerminalOfThePromptingEditor(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		a, _ := commanding(t, "auto", shell.Client)
		editor := &terminals{id: "t1", runs: make(chan struct{}), ended: make(chan struct{})}
		c := a.NewCursor(func() {})
		if _, err := answerOf(func(reply func(Attached, error)) { a.Attach(c, events.Since{Epoch: a.Epoch()}, reply) }); err != nil {
			t.Fatal(err)
		}
		result := a.by(editor, c)
		a.asked().act(reply.StopToolUse, callsOf(1, `run_command{"command":"crash"}`)...)
		<-editor.runs
		if cancelled {
			a.Cancel("")
		} else {
			close(editor.ended)
			a.asked().end("done")
			wants(t, "results", a.results(), "Ended by SIGSEGV\nboom\n")
		}
		if r := <-result; r.err != nil {
			t.Error(r.err)
		}
		told := received(t, c)
		a.Close(ReasonClosed, func() {})
		<-a.Done()
		var runs, shown uint64 // events that tell that the call runs, and in which terminal
		for _, e := range told {
			switch p, _ := e.Data.(tools.Progress); {
			case p.Status == tools.InProgress && p.Output == nil:
				runs = e.Seq
			case p.Output != nil && p.Output.Terminal != nil && shown == 0:
				shown = e.Seq
				if *p.Output.Terminal != (tools.Terminal{Owner: editor.Identity(), ID: "t1"}) {
					t.Errorf("shown %+v", p.Output)
				}
			}
		}
		want := []terminalRequest{{"create", runs}, {"release", shown}}
		if cancelled {
			want = slices.Insert(want, 1, terminalRequest{"kill", shown})
		}
		follow := slices.EqualFunc(editor.requests, want, func(got, want terminalRequest) bool {
			return got.what == want.what && got.after >= want.after
		})
		if !follow || editor.requests[0].after >= shown || shown == 0 {
			t.Errorf("requests %v, want %v or after later events", editor.requests, want)
		}
	}
}

// Without a terminal of the prompting client, the server runs the command in that client's environment.
func TestACommandHasTheEnvironmentOfThePromptingClient(t *testing.T) {
	a, _ := commanding(t, "auto", shell.Any)
	a.Join(&terminals{id: "other"})
	result := a.by(&terminals{env: []string{"PATH=" + os.Getenv("PATH"), "MINE=yes"}}, nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `run_command{"command":"echo $MINE"}`)...)
	a.asked().end("done")
	wants(t, "results", a.results(), "Exit code 0\nyes\n")
	if r := <-result; r.err != nil {
		t.Error(r.err)
	}
}
