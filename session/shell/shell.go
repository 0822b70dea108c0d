// Package shell has the tool that runs commands: in a terminal of the editor that serves the turn, else on this machine.
//
// It must never start a command twice, never leave a terminal or a process behind, and never keep more of an output than its
// bounds.
package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
	"strata/internal/exact"
	"strata/session/clients"
	"strata/session/tools"
)

// Runner selects where commands run.
type Runner string

// The runners. The empty one is Off.
const (
	Any    Runner = "any"    // in a terminal of the editor that serves the turn; if it has none, on this machine
	Client Runner = "client" // only in a terminal of the editor
	Off    Runner = "off"    // nowhere: there is no tool
)

// IsOff reports whether commands run nowhere.
func (r Runner) IsOff() bool { return r == "" || r == Off }

// Services are the parts of a session that commands need. The functions are called from goroutines of calls, for each command.
type Services struct {
	Roots  *filecontext.Roots
	Runner Runner

	// Editor returns the client that runs commands for the turn, nil for none, and the newest event, which requests to it must
	// follow.
	Editor func() (editor clients.Client, after uint64)

	// Environment returns the environment for commands on this machine, in the form of os.Environ; nil: that of this process.
	Environment func() []string
	Secrets     []string // names of variables that no command on this machine gets
}

// Name is the name of the tool.
const Name = "run_command"

// The bounds of an input.
const (
	maxLine      = 32 << 10 // bytes
	defaultLimit = 120 * time.Second
)

type input struct {
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
	Limit   int    `json:"timeout_s"`
}

// limit returns the time limit of the command.
func (in input) limit() time.Duration {
	return cmp.Or(time.Duration(in.Limit)*time.Second, defaultLimit)
}

const schema = `{"type":"object","properties":{` +
	`"command":{"type":"string","description":"Command line for the shell"},` +
	`"cwd":{"type":"string","description":"Folder of the command, relative to the workspace folder or absolute; by default the workspace folder"},` +
	`"timeout_s":{"type":"integer","minimum":1,"maximum":3600,"description":"Time limit in seconds; by default 120"}},` +
	`"required":["command"],"additionalProperties":false}`

// Tool returns the tool run_command.
func Tool(s Services) tools.Tool {
	return tools.Tool{
		Definition: tools.Definition{Name: Name, Description: description(runtime.GOOS), Schema: json.RawMessage(schema)},
		Kind:       tools.KindExecute,
		Check:      func(args json.RawMessage) error { return decoded(args).check(s.Roots) },
		Command:    func(args json.RawMessage) string { return decoded(args).ruled(s.Roots) },
		Describe: func(args json.RawMessage) tools.Description {
			return tools.Description{Title: title(decoded(args).ruled(s.Roots))}
		},
		Run: s.run,
	}
}

func description(system string) string {
	program, args := shellFor(system, "LINE")
	return "Run a command line with " + strings.Join(append([]string{program}, args...), " ") + ", in the workspace folder or in the folder cwd " +
		"inside the workspace. The result contains the exit code and the output. Commands have no input: a command that asks a question, or " +
		"starts an editor, fails or waits until its time limit (timeout_s). A long output is reduced to its head and tail. Processes that " +
		"a command leaves in the background end with it. Each command runs in a new shell: variables and the current folder are not kept. " +
		"Run commands to build, to test, and for version control. Use read_file, edit_file, search and list_files for files: they show " +
		"the user's unsaved text, and their changes can be undone."
}

// shellFor returns the program that runs a line, and its arguments.
func shellFor(system, line string) (program string, args []string) {
	if system == "windows" {
		return "cmd.exe", []string{"/d", "/s", "/c", line}
	}
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line // shells would take it for options
	}
	return "/bin/sh", []string{"-c", line}
}

// verbatimFor returns the arguments of cmd.exe for a line, as one text; empty for other shells. cmd.exe removes the outer quotes,
// and does not change quotes in the line.
func verbatimFor(system, line string) string {
	if system == "windows" {
		return `/d /s /c "` + line + `"`
	}
	return ""
}

// decoded returns an input that the schema admits.
func decoded(args json.RawMessage) (in input) {
	_ = exact.Decode(args, "", &in) // the members before the wrong one
	return in
}

// check returns why a command must not run, for the model.
func (in input) check(roots *filecontext.Roots) error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return errors.New("command is empty")
	case strings.ContainsRune(in.Command, 0):
		return errors.New("command contains a NUL character")
	case len(in.Command) > maxLine:
		return fmt.Errorf("command has %d bytes, which exceeds the limit of %d; write a script into a file and run that", len(in.Command), maxLine)
	}
	if _, err := in.place(roots); err != nil {
		return fmt.Errorf("cwd %w", err)
	}
	return nil
}

// title returns a command line as clients show it: in one line.
func title(line string) string {
	const most = 200 // characters
	line = strings.ReplaceAll(strings.TrimSpace(line), "\n", " ⏎ ")
	return filecontext.Printable(clip.Line(line, most))
}

// command is a command that is about to run.
type command struct {
	line  string
	dir   string // absolute, without links
	limit time.Duration
	room  int // for the result, in bytes
	show  func(tools.Output)
}

// run runs a command to its end. The error is that of ctx; then the command has been ended.
func (s Services) run(ctx context.Context, call tools.Input) (tools.Result, error) {
	in := decoded(call.Args)
	if err := in.check(s.Roots); err != nil {
		return notRun("%v", err), nil
	}
	editor, after := s.Editor()
	if editor == nil && s.Runner == Client {
		return notRun("commands run only in a terminal of the user's editor, and the editor that serves this turn has none. Tell the user."), nil
	}
	dir, err := in.folder(ctx, s.Roots)
	if err != nil {
		return notRun("cwd %v", err), ctx.Err()
	}
	c := &command{line: in.Command, dir: dir, limit: in.limit(), room: call.Limit, show: call.Show}
	if editor != nil {
		return s.inTerminal(ctx, editor, after, c)
	}
	return s.onThisMachine(ctx, c)
}

func notRun(format string, args ...any) tools.Result {
	return tools.Failed("%s was not run: %s", Name, fmt.Sprintf(format, args...))
}

// ended returns the result of a command: a first line, which says how the command ended, and its output.
func (c *command) ended(first string, out *output, failed bool) tools.Result {
	text := first + "\n" + out.text(c.room-len(first)-1)
	return tools.Result{Content: []history.Block{{Type: history.BlockText, Text: text}}, IsError: failed}
}
