package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"strata/cmd/strata/internal/cli"
)

// terminal is a terminal on which a command runs.
type terminal struct {
	t      *testing.T
	master *os.File
	parts  chan string // of the output; closed at its end
	shown  string      // as far as it was awaited
	ended  chan error
}

// runsOnTerminal starts strata on a terminal. stdin replaces the terminal as standard input if it is not nil.
func (u *user) runsOnTerminal(stdin io.Reader, args ...string) *terminal {
	u.t.Helper()
	master, slave := openTerminal(u.t)
	cmd := exec.CommandContext(u.t.Context(), "strata", args...)
	cmd.Env = append(os.Environ(), "HOME="+u.home, "XDG_RUNTIME_DIR=", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=")
	cmd.Dir = u.home
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if stdin != nil {
		cmd.Stdin = stdin
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	slave.Close()
	s := &terminal{t: u.t, master: master, parts: make(chan string, 1000), ended: make(chan error, 1)}
	go s.read()
	go func() { s.ended <- cmd.Wait() }()
	u.t.Cleanup(func() {
		cmd.Process.Kill()
		for range s.parts { // until all processes have closed the terminal
		}
		master.Close()
	})
	return s
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	return master, slave
}

// read passes the output on.
func (s *terminal) read() {
	defer close(s.parts)
	for {
		part := make([]byte, 4096)
		n, err := s.master.Read(part)
		if n > 0 {
			s.parts <- strings.ReplaceAll(string(part[:n]), "\r", "")
		}
		if err != nil {
			return
		}
	}
}

// shows waits for texts in the output behind those awaited before, in any order.
func (s *terminal) shows(texts ...string) {
	s.t.Helper()
	for giveUp := time.After(patience); ; {
		if rest, found := behindAll(s.shown, texts); found {
			s.shown = rest
			return
		}
		select {
		case part, more := <-s.parts:
			if !more {
				s.t.Fatalf("%q is not in the rest of the output: %s", texts, s.shown)
			}
			s.shown += part
		case <-giveUp:
			s.t.Fatalf("%q is not in %s", texts, s.shown)
		}
	}
}

// behindAll returns the output behind the texts, if it has them all.
func behindAll(output string, texts []string) (rest string, found bool) {
	rest = output
	for _, text := range texts {
		_, behind, found := strings.Cut(output, text)
		if !found {
			return "", false
		}
		if len(behind) < len(rest) {
			rest = behind
		}
	}
	return rest, true
}

func (s *terminal) types(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.master, text); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end of the command and returns its exit code.
func (s *terminal) ends() int {
	s.t.Helper()
	err := <-s.ended
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return 0
}

const deploy = `call deploy {"n": 1}`

// The user allows and rejects calls at the terminal; words go to the model. The approval of the session stays.
func TestCallsAreApprovedAtTheTerminal(t *testing.T) {
	d := newDeployed(t)
	for _, tt := range []struct {
		name, typed string
		runs        int32
		told        string // to the model
	}{
		{"once", "y\n", 1, "It is out."},
		{"not an answer, then once", "ok\ny\n", 2, "It is out."},
		{"rejected", "n\n", 2, "the user rejected the call. Do not repeat it"},
		{"rejected with words", "n not on Fridays\n", 2, "The user says: not on Fridays"},
		{"end of the input", "\x04", 2, "the user rejected the call. Do not repeat it"},
		{"always", "a\n", 3, "It is out."},
	} {
		s := d.runsOnTerminal(nil, "ask", "--session", d.session, deploy)
		s.shows("[deploy needs your approval]\n    {\"n\":1}\n  y  Allow once\n")
		s.shows("y/a/n? ")
		for line := range strings.Lines(tt.typed) {
			s.types(line)
			if line == "ok\n" {
				s.shows("y/a/n? ")
			}
		}
		s.shows("Done.")
		if code := s.ends(); code != 0 {
			t.Errorf("%s: ended with %d", tt.name, code)
		}
		d.has("ask", tt.runs)
		if exported := lastResult(d.runs("sessions", "export", d.session)); !strings.Contains(exported, tt.told) {
			t.Errorf("%s: the session ends with %s", tt.name, exported)
		}
	}
	s := d.runsOnTerminal(nil, "ask", "--session", d.session, deploy)
	s.shows("Done.")
	if code := s.ends(); code != 0 {
		t.Errorf("always: ended with %d", code)
	}
	d.has("ask", 4)
}

// The user sees the change of a file before it is made. A path that others trust is asked about even in a session that
// edits without asking.
func TestAChangeOfAFileIsShownAtTheTerminal(t *testing.T) {
	u := newUser(t, "model: offline/actor\n")
	for name, text := range map[string]string{"a.txt": "one\ntwo\nthree\n", "AGENTS.md": "Be kind.\n"} {
		if err := os.WriteFile(u.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := u.runsOnTerminal(nil, "ask", `call read_file {"path": "a.txt"}
---
call edit_file {"path": "a.txt", "edits": [{"old_text": "two", "new_text": "\u001b[2J2"}]}`)
	s.shows("[Edit a.txt needs your approval]\n    " + u.path("a.txt"))
	s.shows("    @@ -1 +1 @@\n     one\n    -two\n    +\\x1b[2J2\n     three\n  y  Allow once\n")
	s.shows("y/a/n? ")
	s.types("y\n")
	s.shows("Done.")
	s.ends()
	if text, err := os.ReadFile(u.path("a.txt")); err != nil || string(text) != "one\n\x1b[2J2\nthree\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	s = u.runsOnTerminal(nil, "ask", "--approval", "edits", `call read_file {"path": "AGENTS.md"}
---
call edit_file {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "1"}]}
call delete_file {"path": "AGENTS.md"}`)
	s.shows("AGENTS.md needs your approval]\n")
	s.shows("    -Be kind.\n  y  Allow once\n  n  Reject; or n and words for the model\n")
	s.shows("y/n? ")
	s.types("n\n")
	s.shows("Done.")
	s.ends()
	if _, err := os.Stat(u.path("AGENTS.md")); err != nil {
		t.Error(err)
	}
}

// A line typed before a question is no answer to it.
func TestTextTypedBeforeAQuestionIsNoAnswer(t *testing.T) {
	gate := make(chan struct{})
	d := newHeld(t, gate)
	s := d.runsOnTerminal(nil, "ask", "--session", d.session, deploy+"\n---\n"+deploy)
	s.shows("y/a/n? ")
	s.types("y\n")
	s.shows("[deploy]\n")
	s.types("early\ny\n")
	s.shows("early\ny\n") // the echo
	close(gate)
	s.shows("y/a/n? ")
	s.types("n\n")
	s.shows("Done.")
	s.ends()
	d.has("ask", 1)
}

// Ctrl-C ends the turn while the terminal asks.
func TestCtrlCAtAQuestion(t *testing.T) {
	d := newDeployed(t)
	s := d.runsOnTerminal(nil, "ask", "--session", d.session, deploy)
	s.shows("y/a/n? ")
	s.types("\x03")
	if code := s.ends(); code != int(cli.Interrupted) {
		t.Errorf("ended with %d", code)
	}
	d.has("ask", 0)
	if shown := d.runs("sessions", "show", d.session); !strings.Contains(shown, ", idle\n") {
		t.Errorf("the session shows\n%s", shown)
	}
}

// When another client answers, the terminal asks no more and says so.
func TestAQuestionThatAnotherClientAnswers(t *testing.T) {
	d := newDeployed(t)
	asked, answers := make(chan struct{}), make(chan struct{})
	window := d.connects(func(context.Context, json.RawMessage) (any, error) {
		close(asked)
		<-answers
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow_once"}}, nil
	})
	if err := window.Call(t.Context(), "_strata/session/attach", map[string]any{"sessionId": d.session}, nil); err != nil {
		t.Fatal(err)
	}
	s := d.runsOnTerminal(nil, "ask", "--session", d.session, deploy)
	s.shows("y/a/n? ")
	<-asked
	close(answers)
	s.shows("\n[deploy: no answer is needed any more: another client has answered, or the call has ended]\n", "Done.")
	if code := s.ends(); code != 0 {
		t.Errorf("ended with %d", code)
	}
	d.has("ask", 1)
}

// If standard input is the prompt, the terminal is asked only if the user names an approval.
func TestStandardInputIsThePromptAndTheTerminalAsks(t *testing.T) {
	d := newDeployed(t)
	s := d.runsOnTerminal(strings.NewReader(deploy), "ask", "--session", d.session, "--approval", "ask", "--json")
	s.shows(`{"permissionRequest":{"toolCall":`)
	s.shows("y/a/n? ")
	s.types("y\n")
	s.shows(`{"permissionOutcome":{"outcome":{"optionId":"allow_once","outcome":"selected"},"toolCallId":"tc_`)
	s.shows(`{"result":`)
	s.ends()
	d.has("ask", 1)
	s = d.runsOnTerminal(strings.NewReader(deploy), "ask", "--session", d.session)
	s.shows("[deploy: failed]")
	s.shows("Done.")
	s.ends()
	d.has("ask", 1)
}

// lastResult returns the line with the last result of a tool in an exported session.
func lastResult(exported string) (last string) {
	for line := range strings.Lines(exported) {
		if strings.Contains(line, `"role":"tool"`) {
			last = line
		}
	}
	return last
}

// A terminal shows how much of a backup is copied, and then the result alone.
func TestTheProgressOfABackup(t *testing.T) {
	u := newUser(t, "")
	s := u.runsOnTerminal(nil, "backup", "saved.db")
	s.shows("100 % of ", "\x1b[Kbacked up 0 sessions, 0 messages, ")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := u.runs("backup", u.path("piped.db")); strings.Contains(out, "%") {
		t.Errorf("progress in a pipe: %s", out)
	}
}

// A terminal gets an address that opens the HUD, with its code.
func TestServeShowsATerminalHowToOpenTheHUD(t *testing.T) {
	u := &user{t: t, home: t.TempDir()}
	s := u.runsOnTerminal(nil, "serve", "--listen", "127.0.0.1:0")
	s.shows("HUD        http://127.0.0.1:", "/?code=", "(works once")
	s.types("\x03")
	if code := s.ends(); code != 0 {
		t.Errorf("ended with %d", code)
	}
}
