package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/filecontext"
	"strata/history"
	"strata/rpc"
)

// reply shows a turn while it runs: the model's text on standard output and remarks on standard error, or everything as
// JSON lines on standard output. Write errors are those of cli.Output: a turn goes on without its reader, and the command
// fails afterwards. begin, notified, asks, question, typed, answered, end and failed are safe for concurrent use.
type reply struct {
	out, notes io.Writer
	json       bool
	terminal   bool // standard output is a terminal, which control characters of the model must not reach

	mu      sync.Mutex
	session string
	ended   bool   // later notifications are not of the turn
	asking  bool   // the last line of notes is a question, behind which the user types
	some    bool   // some text was shown
	message string // that the newest text is of
	midLine bool   // the last byte shown was not a line break
	lineOf  string // id of the call whose output ends notes in mid-line; empty for none
	running []*runningCall
}

func newReply(p *cli.Process, asJSON bool) *reply {
	return &reply{out: p.Stdout, notes: p.Stderr, json: asJSON, terminal: cli.IsTerminal(p.Stdout)}
}

// begin shows the session.
func (r *reply) begin(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = session
	if !r.json {
		fmt.Fprintf(r.notes, "session %s\n", session)
	}
}

// notified shows a notification. It ignores unknown content.
func (r *reply) notified(method string, params json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
	case method == "session/update" && r.json:
		r.line(params)
	case method == "session/update":
		r.update(params)
	case method == "_strata/event" && !r.json:
		r.event(params)
	}
}

func (r *reply) update(params json.RawMessage) {
	var n struct {
		Update struct {
			Kind    string          `json:"sessionUpdate"`
			Message string          `json:"messageId"`
			Content json.RawMessage `json:"content"`
			Title   string          `json:"title"` // of a notice
		} `json:"update"`
	}
	if json.Unmarshal(params, &n) != nil {
		return
	}
	switch u := &n.Update; u.Kind {
	case "agent_message_chunk":
		var block struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(u.Content, &block) == nil {
			r.text(u.Message, block.Text)
		}
	case "notice":
		r.note(u.Title)
	case "tool_call_update":
		r.callUpdate(params)
	}
}

// callUpdate is what an update says of a call.
type callUpdate struct {
	Call   string        `json:"toolCallId"`
	Title  string        `json:"title"`
	Kind   string        `json:"kind"`
	Input  commandInput  `json:"rawInput"`
	Status string        `json:"status"`
	Parts  []callContent `json:"content"`
	Meta   struct {
		Strata struct {
			Output struct {
				End int64 `json:"end"`
			} `json:"output"`
		} `json:"strata"`
	} `json:"_meta"`
}

// text returns the first text that the update shows.
func (u *callUpdate) text() string {
	for i := range u.Parts {
		if u.Parts[i].Type == "content" {
			return u.Parts[i].Content.Text
		}
	}
	return ""
}

func (r *reply) callUpdate(params json.RawMessage) {
	var n struct {
		Update callUpdate `json:"update"`
	}
	if json.Unmarshal(params, &n) == nil {
		r.call(&n.Update)
	}
}

// call shows a tool call: when it begins, its output, and if it fails.
func (r *reply) call(u *callUpdate) {
	at := slices.IndexFunc(r.running, func(c *runningCall) bool { return c.id == u.Call })
	switch u.Status {
	case "in_progress":
		if at < 0 {
			at = len(r.running)
			r.running = append(r.running, r.began(u))
		}
		r.grown(r.running[at], u.text(), u.Meta.Strata.Output.End)
	case "completed", "failed":
		c := &runningCall{id: u.Call, title: u.Title}
		if at >= 0 {
			c = r.running[at]
			r.running = slices.Delete(r.running, at, at+1)
		}
		r.ran(c, u)
	}
}

// began shows a call that begins.
func (r *reply) began(u *callUpdate) *runningCall {
	c := &runningCall{id: u.Call, title: u.Title, isCommand: u.Kind == kindCommand && u.Input.Command != ""}
	if c.isCommand {
		c.title = "$ " + u.Title
	}
	if u.Title != "" {
		r.note(c.title)
	}
	return c
}

// ran shows how a call has ended. Only a command that has begun shows more than that it failed.
func (r *reply) ran(c *runningCall, u *callUpdate) {
	failed := u.Status == "failed"
	switch {
	case c.isCommand && u.text() != "":
		r.result(c, u.text(), failed)
	case failed && c.title != "":
		r.note(c.title + ": failed")
	}
}

func (r *reply) event(params json.RawMessage) {
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
			r.note("omitted: " + leftOut(item.Key, item.Reason))
		}
	case "save_failed":
		r.note("the reply is not stored yet; retrying: " + e.Reason)
	case "retrying":
		r.note(fmt.Sprintf("%s: attempt %d of %d failed; next attempt in %v", e.Reason, e.Attempt, e.Of, (time.Duration(e.DelayMs) * time.Millisecond).Round(time.Second/10)))
	}
}

// leftOut describes an item that was omitted or truncated, and why. It returns an unknown reason unchanged.
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
		return key + " is truncated to fit into the model's window"
	case "no_vision":
		return "the pictures of " + key + " are not shown: the model has no vision"
	case "picture_too_large":
		return "a picture of " + key + " exceeds the model's limit"
	case "request_too_large":
		return "a picture of " + key + " is omitted: the request would be too large"
	case "picture_refused":
		return "a picture of " + key + " is omitted: the provider refused it"
	case "deleted":
		return key + " no longer exists"
	}
	return key + ": " + reason
}

// text shows a part of a message. A blank line is between the messages of a reply with several steps.
func (r *reply) text(message, s string) {
	if s == "" {
		return
	}
	if r.some && r.message != message {
		r.finishLine()
		io.WriteString(r.out, "\n")
	}
	r.leaveNotes()
	r.some, r.message = true, message
	if r.terminal {
		s = cli.Printable(s)
	}
	io.WriteString(r.out, s)
	r.midLine = !strings.HasSuffix(s, "\n")
}

// note shows a remark on its own line.
func (r *reply) note(s string) {
	r.finishLine()
	fmt.Fprintf(r.notes, "[%s]\n", cli.Printable(s))
}

func (r *reply) finishLine() {
	r.leaveNotes()
	if r.midLine {
		io.WriteString(r.out, "\n")
		r.midLine = false
	}
}

// leaveNotes continues on a new line if the user was about to type, or output ended in mid-line.
func (r *reply) leaveNotes() {
	if r.asking || r.lineOf != "" {
		io.WriteString(r.notes, "\n")
		r.asking, r.lineOf = false, ""
	}
}

// asks records that the server asks whether a call may run.
func (r *reply) asks(q *question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json && !r.ended {
		r.line(map[string]any{"sessionId": r.session, "permissionRequest": q})
	}
}

// question shows a question, or a part of it, behind which the user types.
func (r *reply) question(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finishLine()
	io.WriteString(r.notes, text)
	r.asking = true
}

// typed records that the user has typed a line, which the terminal shows.
func (r *reply) typed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = false
}

// answered shows what became of a question. The remark may be empty.
func (r *reply) answered(q *question, a answer, remark string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaveNotes()
	if r.json && !r.ended {
		outcome := a.result()
		outcome["toolCallId"] = q.call.ID
		r.line(map[string]any{"sessionId": r.session, "permissionOutcome": outcome})
	}
	if remark != "" && !r.ended {
		r.note(q.call.Title + ": " + remark)
	}
}

// end shows the stop reason, unless the reply is simply complete. complete is false if the turn was cancelled.
func (r *reply) end(result json.RawMessage) (complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	var turn struct {
		StopReason string `json:"stopReason"`
		Meta       struct {
			Strata struct {
				Status string `json:"status"`
			} `json:"strata"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(result, &turn); err != nil {
		turn.StopReason = err.Error()
	}
	if r.json {
		r.line(map[string]any{"sessionId": r.session, "result": result})
	} else {
		r.endText(turn.StopReason, turn.Meta.Strata.Status == string(history.TurnInterrupted))
	}
	return turn.StopReason != "cancelled"
}

func (r *reply) endText(stopReason string, stopped bool) {
	r.finishLine()
	if stopped {
		r.note("interrupted: the server was stopped; the partial reply is saved")
		return
	}
	switch stopReason {
	case "end_turn":
		if !r.some {
			r.note("the reply is empty")
		}
	case "max_turn_requests":
		r.note("the reply ended: the maximum number of steps was reached")
	case "max_tokens":
		r.note("the reply was truncated at the model's output limit")
	case "refusal":
		r.note("the model refused to reply")
	default:
		r.note(stopReason)
	}
}

// failed ends the output of a turn that failed; the caller reports the error.
func (r *reply) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.json {
		r.line(map[string]any{"sessionId": r.session, "error": jsonError(err)})
		return
	}
	r.finishLine()
}

// jsonError returns a server's error unchanged, and any other error with its text.
func jsonError(err error) map[string]any {
	var response *rpc.Error
	if !errors.As(err, &response) {
		return map[string]any{"message": err.Error()}
	}
	fields := map[string]any{"code": response.Code, "message": response.Message}
	if response.Data != nil {
		fields["data"] = response.Data
	}
	return fields
}

// line writes one JSON object.
func (r *reply) line(v any) {
	if data, err := json.Marshal(v); err == nil {
		r.out.Write(append(data, '\n'))
	}
}
