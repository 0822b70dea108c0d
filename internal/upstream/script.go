package upstream

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Script is one response. The zero value is an empty reply with a normal end.
type Script struct {
	Status int // other than 0 and 200: Body is sent instead of a stream
	Header map[string]string
	Body   string // empty: an error in the provider's shape

	Steps      []Step
	Usage      Usage
	NoUsage    bool   // the stream reports no usage
	StopReason string // in Anthropic's words; default end_turn, or tool_use after a call
	NoEnd      bool   // the stream stops after the steps, without stop reason and end marker
	Bare       bool   // the stream contains only its steps
	NoDone     bool   // OpenAI: no [DONE] after the finish reason

	ByteAtATime bool          // each byte is flushed separately
	Gap         time.Duration // wait before each step
	Deaf        bool          // continues after the client has disconnected
}

// Usage is the usage that a stream reports. The three input numbers add up to the whole input, by Anthropic's
// convention; they are converted to OpenAI's on the wire.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int
	CacheWrite1h                         int // part of CacheWrite with a lifetime of one hour
}

// Step is one part of a response; the functions below create steps.
type Step struct {
	kind      stepKind
	text      string
	id, name  string
	signature string
	gate      <-chan struct{}
	wait      time.Duration
	endless   func(n int) string
}

type stepKind int

const (
	stepText stepKind = iota
	stepThinking
	stepRedacted
	stepCall
	stepArgs
	stepFail
	stepCut
	stepRaw
	stepHold
	stepWait
	stepTell
	stepEndless
)

// Text is one text delta. Adjacent deltas form one block.
func Text(s string) Step { return Step{kind: stepText, text: s} }

// Texts is one text delta for each of s.
func Texts(s ...string) (steps []Step) {
	for _, t := range s {
		steps = append(steps, Text(t))
	}
	return steps
}

// Thinking is one thinking delta. If a signature is given, it closes the block.
func Thinking(s, signature string) Step {
	return Step{kind: stepThinking, text: s, signature: signature}
}

// Redacted is a redacted thinking block (Anthropic only).
func Redacted(data string) Step { return Step{kind: stepRedacted, text: data} }

// Call starts a tool call; each of args is one delta of its arguments.
func Call(id, name string, args ...string) []Step {
	steps := []Step{{kind: stepCall, id: id, name: name}}
	for _, a := range args {
		steps = append(steps, Step{kind: stepArgs, text: a})
	}
	return steps
}

// Fail is an error event inside the stream, which ends it. kind is a type like "overloaded_error".
func Fail(kind, message string) Step { return Step{kind: stepFail, name: kind, text: message} }

// Cut breaks the TCP connection.
func Cut() Step { return Step{kind: stepCut} }

// Raw is written to the stream unchanged.
func Raw(sse string) Step { return Step{kind: stepRaw, text: sse} }

// Hold waits until gate is closed or, unless the script is Deaf, the client has disconnected.
func Hold(gate <-chan struct{}) Step { return Step{kind: stepHold, gate: gate} }

// Wait waits for d.
func Wait(d time.Duration) Step { return Step{kind: stepWait, wait: d} }

// Endless sends numbered text deltas from 0, gap apart, until gate is closed or the client has disconnected.
func Endless(gate <-chan struct{}, gap time.Duration, text func(n int) string) Step {
	return Step{kind: stepEndless, gate: gate, wait: gap, endless: text}
}

// Tell sends the final usage in a separate event before the end.
func Tell() Step { return Step{kind: stepTell} }

var countTo = regexp.MustCompile(`(?i)\bcount\b.*\b1 to (\d+)`)

// maxCount is the maximum number of deltas of a counting reply.
const maxCount = 10000

// Default replies deterministically: it repeats the last user text in a few deltas, or, if the text contains "count … 1
// to N", counts, one number per delta.
func Default(req *Request) Script {
	usage := Usage{Input: req.Tokens(), Output: 10}
	text := req.LastText()
	if m := countTo.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		script := Script{Usage: usage, Gap: 2 * time.Millisecond}
		for i := range min(n, maxCount) {
			script.Steps = append(script.Steps, Text(strconv.Itoa(i+1)+"\n"))
		}
		return script
	}
	return Script{Usage: usage, Steps: Texts(fmt.Sprintf("Answer %d", req.N), " to: ", firstRunes(text, 200), ".")}
}

func firstRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// play runs the script for one request.
func (s Script) play(w http.ResponseWriter, r *http.Request, req *Request) {
	for k, v := range s.Header {
		w.Header().Set(k, v)
	}
	if s.Status != 0 && s.Status != http.StatusOK {
		s.refuse(w, req.Wire)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	out := &stream{w: w, flush: w.(http.Flusher).Flush, gone: r.Context().Done(), script: s}
	if s.Deaf {
		out.gone = nil
	}
	out.flush()
	s.run(newEncoder(req, s, out), out)
}

func (s Script) refuse(w http.ResponseWriter, wire Wire) {
	if s.Body == "" {
		refuse(w, wire, s.Status, http.StatusText(s.Status))
		return
	}
	w.WriteHeader(s.Status)
	w.Write([]byte(s.Body))
}

func (s Script) run(enc encoder, out *stream) {
	if !s.Bare {
		enc.begin()
	}
	for _, step := range s.Steps {
		if !out.pause(s.Gap) {
			return
		}
		switch step.kind {
		case stepCut:
			panic(http.ErrAbortHandler) // closes the connection without an end
		case stepHold:
			if !out.hold(step.gate) {
				return
			}
		case stepWait:
			if !out.pause(step.wait) {
				return
			}
		case stepEndless:
			if !out.repeat(step, func(text string) { enc.step(Text(text)) }) {
				return
			}
		case stepRaw:
			out.write(step.text)
		case stepFail:
			enc.fail(step.name, step.text)
			return
		default:
			enc.step(step)
		}
	}
	if !s.NoEnd && !s.Bare {
		enc.end()
	}
}

// stream is the body of a response.
type stream struct {
	w      http.ResponseWriter
	flush  func()
	gone   <-chan struct{} // nil if a disconnect of the client is ignored
	script Script
}

func (o *stream) write(s string) {
	if !o.script.ByteAtATime {
		o.w.Write([]byte(s))
		o.flush()
		return
	}
	for i := range len(s) {
		o.w.Write([]byte{s[i]})
		o.flush()
	}
}

// hold waits for gate and reports whether the client is still connected.
func (o *stream) hold(gate <-chan struct{}) bool {
	select {
	case <-gate:
		return true
	case <-o.gone:
		return false
	}
}

// repeat sends the deltas of an endless step and reports whether the client is still connected.
func (o *stream) repeat(step Step, send func(text string)) bool {
	for n := 0; ; n++ {
		select {
		case <-step.gate:
			return true
		default:
		}
		if !o.pause(step.wait) {
			return false
		}
		send(step.endless(n))
	}
}

func (o *stream) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-o.gone:
		return false
	}
}
