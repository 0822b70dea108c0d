package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"strata/filecontext"
	"strata/rpc"
)

// answer shows a turn while it runs: the model's text on standard output, all else on standard error,
// or everything as JSON lines on standard output.
type answer struct {
	out, notes io.Writer
	json       bool
	terminal   bool // standard output is one, so control characters of the model must not reach it
	session    string
	some       bool // something was shown of the answer
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
		Reason  string `json:"reason"` // of save_failed too
	}
	if json.Unmarshal(params, &e) != nil {
		return
	}
	switch e.Type {
	case "left_out":
		for _, item := range e.Items {
			a.note("left out: " + leftOut(item.Key, item.Reason))
		}
	case "save_failed":
		a.note("not saved yet: " + e.Reason)
	case "retrying":
		a.note(fmt.Sprintf("%s: try %d of %d failed, the next follows in %v", e.Reason, e.Attempt, e.Of, (time.Duration(e.DelayMs) * time.Millisecond).Round(time.Second/10)))
	}
}

// leftOut says what was left out of a request, or shown in part, and why. What it has no words for it says as it came.
func leftOut(key, reason string) string {
	switch kind, name, _ := strings.Cut(key, ":"); {
	case kind == "file" && strings.HasPrefix(name, "//"):
		if u, err := url.Parse(key); err == nil {
			key = u.Path
		}
	case kind == "file":
		key = name
	case kind == "doc" || kind == "msg":
		key = map[string]string{"doc": "document ", "msg": "message "}[kind] + name
	}
	if known := filecontext.Reason(reason).Explain(); known != "" {
		return key + " " + known
	}
	switch reason {
	case "over_budget":
		return key + " does not fit into the model's window"
	case "cut_to_fit":
		return "part of " + key + ", which does not fit into the model's window"
	case "no_vision":
		return "the pictures of " + key + " are not shown: the model has no vision"
	case "picture_too_large":
		return "a picture of " + key + " exceeds the model's limit"
	case "request_too_large":
		return "a picture of " + key + " is omitted: the request would be too large"
	case "picture_refused":
		return "a picture of " + key + " is omitted: the provider refused it"
	case "deleted":
		return key + " is not there any more"
	}
	return key + ": " + reason
}

func (a *answer) text(s string) {
	if s == "" {
		return
	}
	a.some = true
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

// end shows how the turn ended, where that is not simply its end. complete is false where somebody cancelled it.
func (a *answer) end(result json.RawMessage) (complete bool) {
	var r struct {
		StopReason string `json:"stopReason"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		r.StopReason = err.Error()
	}
	if a.json {
		a.line(map[string]any{"sessionId": a.session, "result": result})
	} else {
		a.endText(r.StopReason)
	}
	return r.StopReason != "cancelled"
}

func (a *answer) endText(stopReason string) {
	a.finishLine()
	switch stopReason {
	case "end_turn":
		if !a.some {
			a.note("the answer is empty")
		}
	case "max_tokens":
		a.note("the answer was cut at the model's limit")
	case "refusal":
		a.note("the model refused to answer")
	default:
		a.note(stopReason)
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
