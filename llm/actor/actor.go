// Package actor does what a prompt says, in the small language that docs/actor.md describes. It stands in for a language
// model, keeps no state, and does the same for the same request.
package actor

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"strata/history"
	"strata/llm/reply"
)

const (
	// maxDeltas is the approximate number of deltas into which a prompt is divided.
	maxDeltas = 10_000
	// argsDelta is the smallest size of a delta of a call's arguments, in bytes.
	argsDelta = 16
	// done is the reply after the last step.
	done = "Done."
)

// Step is the part of a turn that one model call does.
type Step struct {
	commands []command
	number   int // from 1
	least    int // size of a delta of text, in bytes
}

// Next returns the next step of a turn: of its prompt, after the given messages. The step of a prompt that is not
// understood says so.
func Next(prompt []history.Block, after [][]history.Block) Step {
	text := textsOf(prompt)
	steps, complaint := parseScript(text)
	step := Step{number: finished(after) + 1, least: len(text) / maxDeltas}
	switch {
	case complaint != "":
		step.commands = sentence(complaint)
	case step.number > len(steps):
		step.commands = sentence(done)
	default:
		step.commands = steps[step.number-1]
	}
	return step
}

func sentence(text string) []command {
	say, _ := parseSay(text)
	return []command{say}
}

// textsOf returns the texts of a prompt as lines. Links, files and pictures are no part of a script.
func textsOf(prompt []history.Block) string {
	var texts []string
	for _, b := range prompt {
		if b.Type == history.BlockText {
			texts = append(texts, b.Text)
		}
	}
	return strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD")
}

// finished returns the number of steps of a turn whose calls have results. The ids of the actor's calls contain the number
// of their step, so that older steps may be missing; other calls count by message.
func finished(turn [][]history.Block) int {
	done, step := 0, 0
	stepOf := map[string]int{} // by the id of a call
	for _, blocks := range turn {
		calls := false
		for _, b := range blocks {
			switch b.Type {
			case history.BlockToolCall:
				if own := stepOfCall(b); own > 0 {
					step = own
				} else if !calls {
					step++
				}
				stepOf[b.CallID], calls = step, true
			case history.BlockToolResult:
				done = max(done, stepOf[b.CallID])
			}
		}
	}
	return done
}

// callIDFormat contains the number of the step and that of the call in the step, both from 1.
const callIDFormat = "step_%d_call_%d"

// stepOfCall returns the number of the step in which the actor made a call; 0 if another model made it.
func stepOfCall(b history.Block) int {
	var step, call int
	if b.Origin == nil {
		return 0
	}
	if n, err := fmt.Sscanf(b.Origin.ID, callIDFormat, &step, &call); n != 2 || err != nil || step < 1 || step > maxCommands {
		return 0
	}
	return step
}

// Attempt is one attempt at a step.
type Attempt struct {
	Number int                       // from 1
	Answer *reply.Answer             // receives the reply
	Gap    time.Duration             // time before each delta
	Sleep  func(time.Duration) error // returns an error if the caller cancels
}

// Do does s once. It returns an error of Sleep or of the answer, or a *reply.Failure if the prompt asks for it.
func (s Step) Do(a Attempt) error {
	p := &performance{Attempt: a, step: s}
	for _, do := range s.commands {
		if err := do(p); err != nil {
			return err
		}
	}
	if err := p.pause(); err != nil { // a step without words can be cancelled, too
		return err
	}
	a.Answer.Finish()
	return nil
}

// performance is an attempt that runs.
type performance struct {
	Attempt
	step     Step
	speaking string // name of the command that wrote the newest text or thinking; empty after a call
	calls    int
}

func (p *performance) pause() error { return p.Sleep(p.Gap) }

// prose tells a line of text or thinking by words. A line before it that was told in the same way is ended.
func (p *performance) prose(name, text string, tell func(string) error) error {
	if p.speaking == name {
		text = "\n" + text
	}
	p.speaking = name
	return p.tell(words(text, p.step.least), tell)
}

// call announces a call, then tells its arguments.
func (p *performance) call(tool, args string) error {
	p.speaking = ""
	p.calls++
	if err := p.pause(); err != nil {
		return err
	}
	more, err := p.Answer.Call(fmt.Sprintf(callIDFormat, p.step.number, p.calls), tool)
	if err != nil {
		return err
	}
	return p.tell(chunks(args, max(argsDelta, p.step.least)), more)
}

func (p *performance) tell(deltas []string, tell func(string) error) error {
	for _, delta := range deltas {
		if err := p.pause(); err != nil {
			return err
		}
		if err := tell(delta); err != nil {
			return err
		}
	}
	return nil
}

// fail returns the failure of a provider that responds with an HTTP status, in the first attempts.
func (p *performance) fail(status, attempts int) error {
	if p.Number > attempts {
		return nil
	}
	return &reply.Failure{Status: status, Message: "the prompt asked for this failure"}
}

// words divides a text after its blanks, into parts of at least so many bytes.
func words(text string, least int) (out []string) {
	from := 0
	for i := 1; i < len(text); i++ {
		if text[i-1] == ' ' && text[i] != ' ' && i-from >= least {
			out, from = append(out, text[from:i]), i
		}
	}
	if from < len(text) {
		out = append(out, text[from:])
	}
	return out
}

// chunks divides a text into parts of at most size bytes, between characters.
func chunks(text string, size int) (out []string) {
	for len(text) > size {
		cut := size
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		out, text = append(out, text[:cut]), text[cut:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}
