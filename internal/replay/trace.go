// Package replay runs the layouts of package stability on recorded sessions, and bills the resulting requests by
// Anthropic's rules. The biller sees only the printed requests, so anyone can verify it with another program.
//
// It must never need anything but a trace: no provider, texts or clock.
package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits of a trace.
const (
	maxLine   = 16 << 20 // bytes
	maxFiles  = 100_000
	maxTokens = 1 << 24         // of one file, message or diff
	maxGap    = 10 * 366 * 1440 // minutes
	maxSteps  = 1000            // of a turn, and results of a step
)

// header is a trace's first line.
type header struct {
	ID    string      `json:"id"`
	Class string      `json:"cls"`
	Sys   int         `json:"sys"`   // tokens of the system prompt
	Tools int         `json:"tools"` // tokens of the definitions of tools
	Files [][]float64 `json:"files"` // dir, kind, tokens, outline's tokens, age in days, edits in 90 days
}

// turn is any other line of a trace.
type turn struct {
	Gap     float64   `json:"g"` // minutes since the last turn
	User    int       `json:"u"` // tokens
	Reply   int       `json:"a"` // tokens
	In      []int     `json:"sel"`
	Out     []int     `json:"des"`
	Edits   [][]int64 `json:"ed"` // file, tokens, hash, diff's tokens, outline's tokens or 0, outline's hash, made outside
	Deleted []int     `json:"del"`
	Compact int       `json:"c"`
	Steps   []step    `json:"st"` // before the reply
}

// step is a message of the model with calls, and their results: minutes since the last request, tokens of the message, and
// tokens of each result.
type step []float64

// The columns of a step.
const stepGap, stepMessage, stepResults = 0, 1, 2

// tokens returns the tokens of the message and of the results.
func (s step) tokens() (n int) {
	for _, tokens := range s[stepMessage:] {
		n += int(tokens)
	}
	return n
}

func (s step) check() error {
	if len(s) <= stepResults || len(s) > stepResults+maxSteps {
		return fmt.Errorf("step has %d columns; want a pause, a message and 1 to %d results", len(s), maxSteps)
	}
	if !(s[stepGap] >= 0 && s[stepGap] <= maxGap) {
		return fmt.Errorf("invalid pause of %g minutes in a step", s[stepGap])
	}
	for _, tokens := range s[stepMessage:] {
		if !(tokens >= 0 && tokens <= maxTokens/maxSteps) {
			return fmt.Errorf("invalid size in a step: %g", tokens)
		}
	}
	return nil
}

// The used columns of header.Files and turn.Edits.
const (
	fileDir, fileTokens, fileOutline, fileColumns = 0, 2, 3, 6

	editFile, editTokens, editHash, editDiff, editOutline, editOutlineHash, editColumns = 0, 1, 2, 3, 4, 5, 7
)

// trace reads a recorded session line by line.
type trace struct {
	header
	lines *bufio.Scanner
	line  int
}

// openTrace reads the first line.
func openTrace(r io.Reader) (*trace, error) {
	t := &trace{lines: bufio.NewScanner(r)}
	t.lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	if err := t.decode(&t.header); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("trace is empty")
		}
		return nil, err
	}
	if err := t.header.check(); err != nil {
		return nil, t.at(err)
	}
	return t, nil
}

// next reads the next turn; io.EOF after the last one.
func (t *trace) next() (turn, error) {
	var u turn
	if err := t.decode(&u); err != nil {
		return u, err
	}
	if err := u.check(len(t.Files)); err != nil {
		return u, t.at(err)
	}
	return u, nil
}

// decode decodes the next line that is not blank.
func (t *trace) decode(v any) error {
	for t.lines.Scan() {
		t.line++
		if len(bytes.TrimSpace(t.lines.Bytes())) == 0 {
			continue
		}
		if err := json.Unmarshal(t.lines.Bytes(), v); err != nil {
			return t.at(err)
		}
		return nil
	}
	if err := t.lines.Err(); err != nil {
		return fmt.Errorf("trace line %d: %w", t.line+1, err)
	}
	return io.EOF
}

func (t *trace) at(err error) error { return fmt.Errorf("trace line %d: %w", t.line, err) }

func (h *header) check() error {
	switch {
	case h.ID == "" || h.Files == nil:
		return errors.New("not the first line of a trace: id or files missing")
	case !sane(int64(h.Sys)) || !sane(int64(h.Tools)):
		return fmt.Errorf("invalid size %d of the system prompt or %d of the tools", h.Sys, h.Tools)
	case len(h.Files) > maxFiles:
		return fmt.Errorf("%d files exceeds the limit of %d", len(h.Files), maxFiles)
	}
	for i, f := range h.Files {
		if len(f) != fileColumns {
			return fmt.Errorf("file %d has %d columns: want %d", i, len(f), fileColumns)
		}
		if !(f[fileTokens] >= 0 && f[fileTokens] <= maxTokens && f[fileOutline] >= 0 && f[fileOutline] <= maxTokens) {
			return fmt.Errorf("file %d: invalid size", i)
		}
	}
	return nil
}

func (u *turn) check(files int) error {
	if !(u.Gap >= 0 && u.Gap <= maxGap) {
		return fmt.Errorf("invalid pause of %g minutes", u.Gap)
	}
	if !sane(int64(u.User)) || !sane(int64(u.Reply)) {
		return fmt.Errorf("invalid sizes of messages: %d, %d", u.User, u.Reply)
	}
	if len(u.Steps) > maxSteps {
		return fmt.Errorf("%d steps exceeds the limit of %d", len(u.Steps), maxSteps)
	}
	for _, s := range u.Steps {
		if err := s.check(); err != nil {
			return err
		}
	}
	for _, list := range [][]int{u.In, u.Out, u.Deleted} {
		for _, f := range list {
			if f < 0 || f >= files {
				return fmt.Errorf("file %d of %d", f, files)
			}
		}
	}
	for _, e := range u.Edits {
		if len(e) != editColumns {
			return fmt.Errorf("edit has %d columns; want %d", len(e), editColumns)
		}
		if e[editFile] < 0 || e[editFile] >= int64(files) {
			return fmt.Errorf("edit of unknown file %d of %d", e[editFile], files)
		}
		if !sane(e[editTokens]) || !sane(e[editDiff]) || !sane(e[editOutline]) {
			return fmt.Errorf("edit of file %d: invalid size", e[editFile])
		}
	}
	return nil
}

func sane(tokens int64) bool { return tokens >= 0 && tokens <= maxTokens }
