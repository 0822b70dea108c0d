package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"strata/rpc"
)

// answer shows a turn while it runs: the model's text on standard output, all else on standard error,
// or everything as JSON lines on standard output.
type answer struct {
	out, notes io.Writer
	json       bool
	terminal   bool // standard output is one, so control characters of the model must not reach it
	session    string
	midLine    bool // the last byte shown was no line break
}

func newAnswer(p *process, asJSON bool) *answer {
	return &answer{out: p.stdout, notes: p.stderr, json: asJSON, terminal: isTerminal(p.stdout)}
}

// begin says which session answers.
func (a *answer) begin(session string) {
	a.session = session
	if !a.json {
		fmt.Fprintf(a.notes, "session %s\n", session)
	}
}

// notified shows one notification. Of one whose content has another shape there is nothing to show.
func (a *answer) notified(method string, params json.RawMessage) {
	switch {
	case method == "session/update" && a.json:
		a.line(params)
	case method == "session/update":
		a.update(params)
	case method == "_strata/event" && !a.json:
		a.event(params)
	}
}

func (a *answer) update(params json.RawMessage) {
	var n struct {
		Update struct {
			Kind    string `json:"sessionUpdate"`
			Title   string `json:"title"`
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"update"`
	}
	if json.Unmarshal(params, &n) != nil {
		return
	}
	switch n.Update.Kind {
	case "agent_message_chunk":
		a.text(n.Update.Content.Text)
	case "notice":
		a.note(n.Update.Title)
	}
}

func (a *answer) event(params json.RawMessage) {
	var e struct {
		Type  string `json:"type"`
		Items []struct {
			Key    string `json:"key"`
			Reason string `json:"reason"`
		} `json:"leftOut"` // of left_out
		Attempt int    `json:"attempt"` // of retrying, like the rest
		Of      int    `json:"of"`
		DelayMs int    `json:"delayMs"`
		Reason  string `json:"reason"`
	}
	if json.Unmarshal(params, &e) != nil {
		return
	}
	switch e.Type {
	case "left_out":
		for _, item := range e.Items {
			a.note(fmt.Sprintf("left out: %s: %s", item.Key, item.Reason))
		}
	case "retrying":
		a.note(fmt.Sprintf("%s: try %d of %d failed, the next follows in %v", e.Reason, e.Attempt, e.Of, (time.Duration(e.DelayMs) * time.Millisecond).Round(time.Second/10)))
	}
}

func (a *answer) text(s string) {
	if s == "" {
		return
	}
	if a.terminal {
		s = printable(s)
	}
	io.WriteString(a.out, s)
	a.midLine = !strings.HasSuffix(s, "\n")
}

// note shows a remark on a line of its own.
func (a *answer) note(s string) {
	a.finishLine()
	fmt.Fprintf(a.notes, "[%s]\n", printable(s))
}

func (a *answer) finishLine() {
	if a.midLine {
		io.WriteString(a.out, "\n")
		a.midLine = false
	}
}

// end shows how the turn ended, where that is not simply its end.
func (a *answer) end(result json.RawMessage) {
	if a.json {
		a.line(map[string]any{"sessionId": a.session, "result": result})
		return
	}
	var r struct {
		StopReason string `json:"stopReason"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		r.StopReason = err.Error()
	}
	a.finishLine()
	switch r.StopReason {
	case "end_turn":
	case "max_tokens":
		a.note("the answer was cut at the model's limit")
	case "refusal":
		a.note("the model refused to answer")
	default:
		a.note(r.StopReason)
	}
}

// failed ends the output of a turn that failed; the error itself is shown as every command's is.
func (a *answer) failed(err error) {
	if a.json {
		a.line(map[string]any{"sessionId": a.session, "error": jsonError(err)})
		return
	}
	a.finishLine()
}

// jsonError gives a server's error as it came, and any other with its text.
func jsonError(err error) map[string]any {
	var answer *rpc.Error
	if !errors.As(err, &answer) {
		return map[string]any{"message": err.Error()}
	}
	fields := map[string]any{"code": answer.Code, "message": answer.Message}
	if answer.Data != nil {
		fields["data"] = answer.Data
	}
	return fields
}

// line writes one JSON object. What could not be written has no reader any more.
func (a *answer) line(v any) {
	if data, err := json.Marshal(v); err == nil {
		a.out.Write(append(data, '\n'))
	}
}

// printable takes out what could move a terminal's cursor or change its state.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
