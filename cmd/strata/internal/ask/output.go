package ask

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"strata/cmd/strata/internal/cli"
)

const (
	maxSeen     = 1 << 10 // bytes of the end of a command's output that are kept, to find their place in the result
	maxRepeated = 5       // lines of a result that are shown if they may have been shown before
)

// noOutput is the output in the result of a command without output.
const noOutput = "(no output)"

// runningCall is a call that runs, and how much of its output was shown.
type runningCall struct {
	id, title string
	isCommand bool

	end  int64  // size of the output so far, with what was omitted
	seen string // end of what was shown, at most maxSeen bytes
}

// grown shows the new part of a call's output: tail is the newest part, which ends at end, in bytes.
func (r *reply) grown(c *runningCall, tail string, end int64) {
	added := end - c.end
	if added <= 0 {
		return
	}
	c.end = end
	if omitted := added - int64(len(tail)); omitted > 0 {
		r.omitted(omitted)
		c.seen = ""
	} else {
		tail = tail[int64(len(tail))-added:]
	}
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	r.output(c, tail)
}

func (r *reply) omitted(bytes int64) {
	r.finishLine()
	fmt.Fprintf(r.notes, "  ... %d bytes omitted\n", bytes)
}

// result shows the rest of a command's output, and the outcome, which is the first line of the result.
func (r *reply) result(c *runningCall, text string, failed bool) {
	outcome, output, _ := strings.Cut(text, "\n")
	if output != "" && output != noOutput {
		r.output(c, r.rest(c, output))
	}
	switch {
	case failed:
		r.note(c.title + ": failed: " + strings.TrimSuffix(outcome, ":"))
	case outcome != "Exit code 0":
		r.note(outcome)
	}
}

// rest returns the part of the whole output that follows the shown part. The whole output may have a gap, and contains only the
// last state of redrawn lines. If it does not contain the end of the shown part, rest returns its last lines.
func (r *reply) rest(c *runningCall, output string) string {
	if c.end <= int64(len(output)) && strings.HasSuffix(output[:c.end], c.seen) {
		return output[c.end:]
	}
	for _, shown := range []string{c.seen, lastLines(c.seen[:strings.LastIndexByte(c.seen, '\n')+1], 1)} {
		if at := strings.LastIndex(output, shown); shown != "" && at >= 0 {
			if !strings.HasSuffix(c.seen, shown) {
				r.finishLine()
			}
			return output[at+len(shown):]
		}
	}
	r.finishLine()
	io.WriteString(r.notes, "  ...\n")
	return lastLines(output, maxRepeated)
}

// lastLines returns the last n lines of a text, which may end in mid-line.
func lastLines(text string, n int) string {
	end := len(strings.TrimSuffix(text, "\n"))
	for range n {
		if end = strings.LastIndexByte(text[:end], '\n'); end < 0 {
			return text
		}
	}
	return text[end+1:]
}

// output shows a part of the output of a call, indented. It ends in mid-line if the part does.
func (r *reply) output(c *runningCall, text string) {
	for line := range strings.Lines(text) {
		r.outputLine(c, line)
	}
	c.seen = c.seen[max(0, len(c.seen)-maxSeen):]
}

// outputLine shows a line of output, or a part of it. Of a line that was written several times, it shows the last state.
func (r *reply) outputLine(c *runningCall, line string) {
	whole, isWhole := strings.CutSuffix(line, "\n")
	whole = strings.TrimSuffix(whole, "\r")
	if again := strings.LastIndexByte(whole, '\r'); again >= 0 {
		r.finishLine()
		whole = whole[again+1:]
	}
	if r.lineOf != c.id {
		r.finishLine()
		io.WriteString(r.notes, "  ")
		r.lineOf = c.id
	}
	io.WriteString(r.notes, cli.Printable(whole))
	c.seen += whole
	if isWhole {
		c.seen += "\n"
		r.finishLine()
	}
}
