//go:build unix

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"strata/session/tools"
)

func TestCommandsOnThisMachine(t *testing.T) {
	w := open(t)
	w.mkdir("sub")
	for line, want := range map[string]string{
		"echo one; echo two >&2; exit 0":         "Exit code 0\none\ntwo\n",
		"true":                                   "Exit code 0\n(no output)",
		"echo ' '":                               "Exit code 0\n(no output)",
		"echo no; exit 3":                        "Exit code 3\nno\n",
		"kill -9 $$":                             "Ended by SIGKILL\n(no output)",
		"pwd; echo $PWD; cd sub; pwd":            fmt.Sprintf("Exit code 0\n%[1]s\n%[1]s\n%[1]s/sub\n", w.folder),
		"read x; echo \"[$x]\"":                  "Exit code 0\n[]\n",
		"test -t 0 || test -t 1 || echo none":    "Exit code 0\nnone\n",
		"echo $PAGER $GIT_TERMINAL_PROMPT $TERM": "Exit code 0\ncat 0 dumb\n",
		`printf 'a\033[31mred\033[0m b\000c\n'`:  "Exit code 0\nared bc\n",
		`printf '1%%\r50%%\r100%%\n'`:            "Exit code 0\n100%\n",
		`printf '\377\376 ok'`:                   "Exit code 0\n\ufffd\ufffd ok",
		"no-such-program-here 2>/dev/null":       "Exit code 127\n(no output)",
		"-x 2>/dev/null":                         "Exit code 127\n(no output)",
	} {
		r := w.run(map[string]any{"command": line})
		equal(t, line, textOf(t, r), want)
		if r.IsError {
			t.Errorf("%s: failed", line)
		}
	}
}

func TestALongOutputIsReduced(t *testing.T) {
	w := open(t)
	text := w.line("echo first; yes 'a line of output' | head -c 10000000; echo; echo last; exit 1")
	hasAll(t, text, "Exit code 1\nfirst\n", " lines, ", "bytes omitted]\n", "\nlast\n")
	if n := len(text); n > tools.MaxResult || n < tools.MaxResult*9/10 {
		t.Errorf("%d bytes", n)
	}
}

func TestALongLineIsReduced(t *testing.T) {
	w := open(t)
	text := w.line("printf first; head -c 5000000 /dev/zero | tr '\\0' x; printf last")
	hasAll(t, text, "Exit code 0\nfirstxxx", "bytes omitted]\nxxx")
	if n := len(text); n > tools.MaxResult || n < tools.MaxResult*9/10 || !strings.HasSuffix(text, "xxxlast") {
		t.Errorf("%d bytes: %q", n, short(text))
	}
}

// lives reports whether a process runs.
func lives(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// pid returns the process whose number is in a file.
func (w *workshop) pid(name string) int {
	w.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(w.file(name)))
	must(w.t, err)
	return pid
}

// A process in the background neither holds up the result nor outlives it.
func TestProcessesInTheBackgroundEndWithTheCommand(t *testing.T) {
	w := open(t)
	equal(t, "result", w.line("sleep 1000 & echo $! > child; echo done"), "Exit code 0\ndone\n")
	if lives(w.pid("child")) {
		t.Error("it lives")
	}
}

// A daemon is out of reach, and keeps the output open.
func TestADaemonDoesNotHoldUpTheResult(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	w := open(t)
	text := w.line("setsid sh -c 'echo $$ > child; exec sleep 1000' & while ! test -s child; do sleep 0.01; done; echo done")
	if pid := w.pid("child"); lives(pid) {
		must(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	equal(t, "result", text, "Exit code 0\ndone\n")
}

func TestTheTimeLimitOfACommand(t *testing.T) {
	w := open(t)
	r := w.run(map[string]any{"command": "trap '' TERM; sleep 1000 & echo $! > child; echo $$ > shell; echo begun; while :; do wait; done", "timeout_s": 1})
	equal(t, "result", textOf(t, r), "Ended after 1 s, its time limit. Its output so far:\nbegun\n")
	if !r.IsError {
		t.Error("it has not failed")
	}
	if lives(w.pid("child")) || lives(w.pid("shell")) {
		t.Error("a process lives")
	}
}

// A command that is cancelled leaves no process, and what it has put out is shown while it runs.
func TestACancelEndsTheProcesses(t *testing.T) {
	w := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shown := make(chan tools.Output, 100)
	type returned struct {
		result tools.Result
		err    error
	}
	results := make(chan returned, 1)
	go func() {
		r, err := w.call(map[string]any{"command": "trap '' TERM; sleep 1000 & echo $! > child; echo $$ > shell; echo begun; while :; do wait; done"}).
			Run(ctx, tools.MaxResult, func(o tools.Output) { shown <- o })
		results <- returned{r, err}
	}()
	if o := <-shown; o.Text != "begun\n" || o.End != 6 || o.Terminal != nil {
		t.Errorf("%+v", o)
	}
	cancel()
	if r := <-results; !errors.Is(r.err, context.Canceled) || len(r.result.Content) > 0 {
		t.Errorf("%+v", r)
	}
	if lives(w.pid("child")) || lives(w.pid("shell")) {
		t.Error("a process lives")
	}
}

// The output is shown when it has changed, and not more often than clients can take it.
func TestTheOutputIsShownWhileACommandRuns(t *testing.T) {
	w := open(t)
	var at []time.Time
	var last tools.Output
	_, err := w.call(map[string]any{"command": "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done; sleep 1"}).
		Run(t.Context(), tools.MaxResult, func(o tools.Output) {
			at = append(at, time.Now())
			if o.End <= last.End || !strings.HasPrefix(o.Text, last.Text) {
				t.Errorf("%+v after %+v", o, last)
			}
			last = o
		})
	must(t, err)
	if n := len(at); n == 0 || n > 8 || last.Text != "1\n2\n3\n4\n5\n6\n7\n8\n" {
		t.Errorf("%d times, last %+v", n, last)
	}
}

func TestTheEnvironmentOfACommand(t *testing.T) {
	w := open(t)
	w.Secrets = []string{"SOME_API_KEY"}
	w.Environment = func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "MINE=yes", "STRATA_TOKEN=t", "strata_x=1", "SOME_API_KEY=k", "FORCE_COLOR=1", "PWD=/elsewhere", "PAGER=less"}
	}
	lines := strings.Split(w.line("env | sort"), "\n")
	var got []string
	for _, line := range lines[1:] {
		if name, _, _ := strings.Cut(line, "="); name != "PATH" && name != "_" && name != "SHLVL" && name != "OLDPWD" && name != "" {
			got = append(got, line)
		}
	}
	equal(t, "environment", strings.Join(got, " "), "GH_PAGER=cat GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 MANPAGER=cat MINE=yes PAGER=cat PWD="+w.folder+" TERM=dumb")
}

func TestTheEnvironmentOfTheServer(t *testing.T) {
	t.Setenv("STRATA_TOKEN", "t")
	t.Setenv("SHELL_TEST", "yes")
	equal(t, "environment", open(t).line(`echo "$SHELL_TEST [$STRATA_TOKEN]"`), "Exit code 0\nyes []\n")
}
