package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/rpc"
)

// The prompt is the argument and standard input, in this order, or only one of them.
func TestF31StandardInputIsPartOfThePrompt(t *testing.T) {
	for name, tt := range map[string]struct {
		arg, input string
		want, err  string
		usage      bool
	}{
		"an argument":         {"hello", "", "hello", "", false},
		"a dash":              {"-", "hello\n", "hello\n", "", false},
		"no argument":         {"", "hello\n", "hello\n", "", false},
		"both":                {"review", "a diff\n", "review\n\na diff\n", "", false},
		"blank input":         {"hello", " \n", "hello", "", false},
		"as long as may be":   {"-", strings.Repeat("x", maxPrompt), strings.Repeat("x", maxPrompt), "", false},
		"longer":              {"-", strings.Repeat("x", maxPrompt+1), "", "exceeds the limit", false},
		"longer, both":        {"hello", strings.Repeat("x", maxPrompt+1), "", "exceeds the limit", false},
		"Latin-1":             {"hello", "caf\xe9", "", "standard input is not UTF-8 text", false},
		"binary":              {"hello", "\x7fELF\x00", "", "standard input is not UTF-8 text", false},
		"nothing at all":      {"", "", "", "missing", true},
		"a blank argument":    {" \n", "", "", "empty", true},
		"nothing on input":    {"-", "", "", "empty", true},
		"only blanks":         {"", " \n", "", "empty", true},
		"an argument no text": {"\xff", "", "", "not UTF-8", true},
	} {
		cmd := new(cobra.Command)
		cmd.SetContext(t.Context())
		text, err := readPrompt(cmd, &cli.Process{Stdin: strings.NewReader(tt.input)}, tt.arg)
		if text != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		if _, usage := errors.AsType[cli.UsageError](err); usage != tt.usage {
			t.Errorf("%s: usage error %t: %v", name, usage, err)
		}
	}
}

// Only a session that was created for the prompt is deleted, and only if the server stored nothing.
func TestSessionsThatAreKeptAfterAFailure(t *testing.T) {
	for name, tt := range map[string]struct {
		opt options
		err error
	}{
		"one that was named": {options{session: "sess_1"}, &rpc.Error{Code: codeInvalidParams}},
		"a stored prompt":    {options{}, &rpc.Error{Code: -32012}},
		"a lost server":      {options{}, rpc.ErrClosed},
	} {
		if err := discardRefused(t.Context(), nil, "sess_1", tt.opt, tt.err); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An empty reply is told; a reply ends with one line break, and a remark begins on a line of its own.
func TestTheEndOfAReply(t *testing.T) {
	for name, tt := range map[string]struct {
		chunks     []string
		end        string
		out, notes string
		complete   bool
	}{
		"a line":              {[]string{"hello\n"}, "end_turn", "hello\n", "", true},
		"half a line":         {[]string{"hel", "lo"}, "end_turn", "hello\n", "", true},
		"nothing":             {nil, "end_turn", "", "[the reply is empty]\n", true},
		"empty chunks":        {[]string{"", ""}, "end_turn", "", "[the reply is empty]\n", true},
		"cancelled in a line": {[]string{"hel"}, "cancelled", "hel\n", "[cancelled]\n", false},
	} {
		var out, notes bytes.Buffer
		r := &reply{out: &out, notes: &notes}
		for _, text := range tt.chunks {
			r.text("msg_1", text)
		}
		complete := r.end(json.RawMessage(`{"stopReason":"` + tt.end + `"}`))
		if out.String() != tt.out || notes.String() != tt.notes || complete != tt.complete {
			t.Errorf("%s: %q, %q, complete %t", name, out.String(), notes.String(), complete)
		}
	}
}

// A file keeps the control characters of a reply, a terminal never sees them.
func TestOnlyTerminalsAreProtected(t *testing.T) {
	for terminal, want := range map[bool]string{true: "[31mred", false: "\x1b[31mred"} {
		var out bytes.Buffer
		(&reply{out: &out, terminal: terminal}).text("msg_1", "\x1b[31mred")
		if out.String() != want {
			t.Errorf("terminal %t: %q", terminal, out.String())
		}
	}
}
