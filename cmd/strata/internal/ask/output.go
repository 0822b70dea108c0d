package ask

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"strata/cmd/strata/internal/cli"
)

// maxSeen is how much of the end of a command's output is kept, to find in the result what follows it, in bytes.
const maxSeen = 1 << 10

// runningCall is a call that runs, and how much of its output was shown.
type runningCall struct {
	id, title string
	isCommand bool

	end  int64  // size of the output so far, with what was omitted
	seen string // end of what was shown, at most maxSeen bytes
}

// grown shows what is new of the output of a call: tail is its newest part, which ends at end, in bytes.
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

// result shows the rest of a command's output, and how the command has ended: its result begins with a line that says so.
func (r *reply) result(c *runningCall, text string, failed bool) {
	outcome, output, _ := strings.Cut(text, "\n")
	r.output(c, r.rest(c, output))
	switch {
	case failed:
		r.note(c.title + ": failed: " + strings.TrimSuffix(outcome, ":"))
	case outcome != "Exit code 0":
		r.note(outcome)
	}
}

// rest returns what follows the shown part of an output in the whole output, which may have a gap.
func (r *reply) rest(c *runningCall, output string) string {
	if c.end <= int64(len(output)) && strings.HasSuffix(output[:c.end], c.seen) {
		return output[c.end:]
	}
	if at := strings.LastIndex(output, c.seen); c.seen != "" && at >= 0 {
		return output[at+len(c.seen):]
	}
	// The last line that was shown has changed since, like that of a progress bar.
	lines := c.seen[:strings.LastIndexByte(c.seen, '\n')+1]
	at := strings.LastIndex(output, lines)
	if lines == "" || at < 0 {
		return ""
	}
	r.finishLine()
	return output[at+len(lines):]
}

// output shows a part of the output of a call, indented. It ends in mid-line if the part does.
func (r *reply) output(c *runningCall, text string) {
	c.seen += text
	c.seen = c.seen[max(0, len(c.seen)-maxSeen):]
	for line := range strings.Lines(text) {
		r.outputLine(c.id, line)
	}
}

// outputLine shows a line of output, or a part of it. Of a line that was written several times, it shows the last state.
func (r *reply) outputLine(id, line string) {
	whole, isWhole := strings.CutSuffix(line, "\n")
	whole = strings.TrimSuffix(whole, "\r")
	if again := strings.LastIndexByte(whole, '\r'); again >= 0 {
		r.finishLine()
		whole = whole[again+1:]
	}
	if r.lineOf != id {
		r.finishLine()
		io.WriteString(r.notes, "  ")
		r.lineOf = id
	}
	io.WriteString(r.notes, cli.Printable(whole))
	if isWhole {
		r.finishLine()
	}
}
