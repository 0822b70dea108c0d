package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"strata/cmd/strata/internal/cli"
	"strata/filecontext/change"
)

// question is a request of the server to ask the user whether a call may run.
type question struct {
	RawCall    json.RawMessage `json:"toolCall"`
	RawOptions json.RawMessage `json:"options"`

	call    call
	options []option
}

// call is the call that a question is about.
type call struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Input     json.RawMessage `json:"rawInput"`
	Locations []struct {
		Path string `json:"path"`
		Line int    `json:"line"`
	} `json:"locations"`
	Content []callContent `json:"content"`
}

// callContent is a part of a call: a hunk of a diff, or a text.
type callContent struct {
	Type    string  `json:"type"`
	Path    string  `json:"path"`
	OldText *string `json:"oldText"` // nil: a new file
	NewText string  `json:"newText"`
	Content struct {
		Text string `json:"text"`
	} `json:"content"`
	Meta struct {
		Strata struct {
			OldLine int  `json:"oldLine"` // the first one of the hunk
			NewLine int  `json:"newLine"`
			Deleted bool `json:"deleted"`
			Cut     bool `json:"cut"` // parts of the diff are omitted
		} `json:"strata"`
	} `json:"_meta"`
}

// option is an answer that the server accepts.
type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`

	key string // by which the user selects it; empty for none
}

// keysOf are the keys for the options of a kind, in the order of the options.
var keysOf = map[string]string{"allow_once": "y", "allow_always": "ab", "reject_once": "n", "reject_always": "r"}

// readQuestion returns the question in the parameters of session/request_permission.
func readQuestion(params json.RawMessage) (*question, error) {
	q := new(question)
	err := json.Unmarshal(params, q)
	if err == nil {
		err = errors.Join(json.Unmarshal(q.RawCall, &q.call), json.Unmarshal(q.RawOptions, &q.options))
	}
	if err != nil {
		return nil, fmt.Errorf("session/request_permission: %w", err)
	}
	used := make(map[string]int)
	for i := range q.options {
		o := &q.options[i]
		if keys := keysOf[o.Kind]; used[o.Kind] < len(keys) {
			o.key = keys[used[o.Kind]:][:1]
			used[o.Kind]++
		}
	}
	return q, nil
}

// answer is what becomes of a question. The zero answer cancels it.
type answer struct {
	option string // ID
	words  string // of the user to the model
}

// result returns the result of session/request_permission.
func (a answer) result() map[string]any {
	if a.option == "" {
		return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	}
	result := map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": a.option}}
	if a.words != "" {
		result["_meta"] = map[string]any{"strata": map[string]any{"message": a.words}}
	}
	return result
}

// rejection returns the answer that rejects the call this once; it cancels a question that offers none.
func (q *question) rejection(words string) answer {
	i := slices.IndexFunc(q.options, func(o option) bool { return o.Kind == "reject_once" })
	if i < 0 {
		return answer{}
	}
	return answer{q.options[i].ID, words}
}

// answer returns the answer in a line that the user typed: a key, and with the key of a rejection also words. Nothing else
// is an answer, so that no call is allowed by accident.
func (q *question) answer(typed string) (a answer, ok bool) {
	typed = strings.ToValidUTF8(strings.TrimSpace(typed), "\ufffd")
	key, words, _ := strings.Cut(typed, " ")
	key, words = strings.ToLower(strings.TrimRight(key, ",;:.")), strings.TrimSpace(words)
	if full := map[string]string{"yes": "y", "no": "n"}[key]; full != "" {
		key = full
	}
	i := slices.IndexFunc(q.options, func(o option) bool { return o.key != "" && o.key == key })
	if i < 0 || words != "" && q.options[i].Kind != "reject_once" {
		return a, false
	}
	return answer{q.options[i].ID, words}, true
}

// prompt returns the end of a question, behind which the user types.
func (q *question) prompt() string {
	var keys []string
	for _, o := range q.options {
		if o.key != "" {
			keys = append(keys, o.key)
		}
	}
	return strings.Join(keys, "/") + "? "
}

// maxQuestion is the maximum size of what a question shows of a call, in bytes. The server's diffs are smaller.
const maxQuestion = 80 << 10

// text returns the question as the user reads it. Whatever the call contains, it is indented and cannot control the terminal.
func (q *question) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s needs your approval]\n", visibleLine(q.call.Title))
	details := q.call.details()
	if len(details) > maxQuestion {
		shown := strings.ToValidUTF8(details[:maxQuestion], "")
		details = fmt.Sprintf("%s\n(%d more bytes are not shown)\n", shown, len(details)-len(shown))
	}
	for line := range strings.Lines(details) {
		b.WriteString("    " + line)
	}
	for _, o := range q.options {
		if o.key == "" {
			continue
		}
		fmt.Fprintf(&b, "  %s  %s", o.key, visibleLine(o.Name))
		if o.Kind == "reject_once" {
			fmt.Fprintf(&b, "; or %s and words for the model", o.key)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// details returns the places and the content of a call, or its input if it has no content.
func (c *call) details() string {
	var b strings.Builder
	for _, l := range c.Locations {
		b.WriteString(visibleLine(l.Path))
		if l.Line > 0 {
			fmt.Fprintf(&b, ":%d", l.Line)
		}
		b.WriteString("\n")
	}
	for i := range c.Content {
		switch content := &c.Content[i]; content.Type {
		case "diff":
			first := i == 0 || c.Content[i-1].Type != "diff" || c.Content[i-1].Path != content.Path
			last := i == len(c.Content)-1 || c.Content[i+1].Type != "diff" || c.Content[i+1].Path != content.Path
			content.writeHunk(&b, first, last)
		case "content":
			writeLines(&b, "", content.Content.Text)
		}
	}
	if len(c.Content) == 0 {
		c.writeInput(&b)
	}
	return b.String()
}

// kindCommand is the kind of calls that run commands. Tools of clients can have it, too.
const kindCommand = "execute"

// commandInput is the input of a call that runs a command.
type commandInput struct {
	Command string  // empty: the call runs none
	Folder  string  // empty: that of the session
	Seconds float64 // 0: the server's limit
}

// UnmarshalJSON accepts any input. The input of another tool runs no command.
func (c *commandInput) UnmarshalJSON(raw []byte) error {
	var input struct {
		Command string  `json:"command"`
		Folder  string  `json:"cwd"`
		Seconds float64 `json:"timeout_s"`
	}
	if json.Unmarshal(raw, &input) == nil {
		*c = commandInput(input)
	}
	return nil
}

// writeInput writes the input of a call: for a command, its lines, folder and time limit.
func (c *call) writeInput(b *strings.Builder) {
	var input commandInput
	_ = json.Unmarshal(c.Input, &input) // which has no errors
	if c.Kind != kindCommand || input.Command == "" {
		writeLines(b, "", compact(c.Input))
		return
	}
	writeCommand(b, input.Command)
	if input.Folder != "" {
		fmt.Fprintf(b, "in the folder %s\n", visibleLine(input.Folder))
	}
	if input.Seconds > 0 {
		fmt.Fprintf(b, "for at most %g seconds\n", input.Seconds)
	}
}

// writeHunk writes a hunk of a diff, which may be the first or the last one of its file.
func (c *callContent) writeHunk(b *strings.Builder, first, last bool) {
	kind, old := "changes of", ""
	switch {
	case c.OldText == nil:
		kind = "new file"
	case c.Meta.Strata.Deleted:
		kind, old = "deletes", *c.OldText
	default:
		old = *c.OldText
	}
	if first {
		fmt.Fprintf(b, "%s %s\n", kind, visibleLine(c.Path))
	}
	fmt.Fprintf(b, "@@ -%d +%d @@\n", c.Meta.Strata.OldLine, c.Meta.Strata.NewLine)
	b.WriteString(hunk(old, c.NewText))
	if last && c.Meta.Strata.Cut {
		b.WriteString("(parts of the change are not shown: it is too large)\n")
	}
}

// visibleLine returns a text of a call as a part of a line.
func visibleLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(cli.Visible(s))
}

// hunk returns the difference of two texts, as lines that begin with a blank, - or +.
func hunk(before, after string) string {
	var b strings.Builder
	old, now := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	at := 0
	for _, h := range change.Hunks(before, after) {
		writeLines(&b, " ", strings.Join(old[at:h.OldStart-1], ""))
		at = h.OldStart - 1 + h.OldLines
		writeLines(&b, "-", strings.Join(old[h.OldStart-1:at], ""))
		writeLines(&b, "+", strings.Join(now[h.NewStart-1:h.NewStart-1+h.NewLines], ""))
	}
	writeLines(&b, " ", strings.Join(old[at:], ""))
	return b.String()
}

// writeLines writes the lines of a text, with a mark if they are those of a diff.
func writeLines(b *strings.Builder, mark, text string) {
	for line := range strings.Lines(text) {
		whole := strings.TrimSuffix(line, "\n")
		b.WriteString(mark + cli.Visible(whole) + "\n")
		if mark != "" && whole == line {
			b.WriteString("\\ no line end at the end of the file\n")
		}
	}
}

// writeCommand writes a command line as a shell shows it: its first line after $, and the others after >.
func writeCommand(b *strings.Builder, command string) {
	mark := "$ "
	for line := range strings.Lines(command) {
		b.WriteString(mark + cli.Visible(strings.TrimSuffix(line, "\n")) + "\n")
		mark = "> "
	}
}

// compact returns JSON on one line.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}
