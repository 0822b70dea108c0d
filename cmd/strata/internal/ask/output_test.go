package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// command is a command whose output arrives, as a reply shows it.
type command struct {
	t     *testing.T
	show  *reply
	notes bytes.Buffer
	text  bytes.Buffer
}

func runs(t *testing.T) *command {
	c := &command{t: t}
	c.show = &reply{out: &c.text, notes: &c.notes}
	c.update(map[string]any{"status": "in_progress"})
	return c
}

func (c *command) update(fields map[string]any) {
	c.t.Helper()
	update := map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "make", "kind": "execute", "rawInput": map[string]any{"command": "make"}}
	for name, value := range fields {
		update[name] = value
	}
	params, err := json.Marshal(map[string]any{"sessionId": "sess_1", "update": update})
	if err != nil {
		c.t.Fatal(err)
	}
	c.show.notified("session/update", params)
}

func content(text string) []any {
	return []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": text}}}
}

// puts is the output so far: its newest part and its size.
func (c *command) puts(tail string, end int64) {
	c.t.Helper()
	c.update(map[string]any{
		"status": "in_progress", "content": content(tail), "_meta": map[string]any{"strata": map[string]any{"output": map[string]any{"end": end}}},
	})
}

func (c *command) ends(status, result string) {
	c.t.Helper()
	c.update(map[string]any{"status": status, "content": content(result)})
}

func (c *command) shows(want string) {
	c.t.Helper()
	if got := c.notes.String(); got != want {
		c.t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOutputIsShownAsItComes(t *testing.T) {
	c := runs(t)
	c.puts("one\ntw", 6)
	c.shows("[$ make]\n  one\n  tw")
	c.puts("one\ntwo\n", 8)
	c.puts("one\ntwo\n", 8)
	c.ends("completed", "Exit code 0\none\ntwo\nthree\n")
	c.shows("[$ make]\n  one\n  two\n  three\n")
	if c.text.Len() > 0 {
		t.Errorf("standard output has %q", &c.text)
	}
}

func TestTheResultOfAShortCommandIsShown(t *testing.T) {
	c := runs(t)
	c.ends("completed", "Exit code 2\nmake: *** no rule")
	c.show.note("next")
	c.shows("[$ make]\n  make: *** no rule\n[Exit code 2]\n[next]\n")
}

func TestACommandThatFailsSaysWhy(t *testing.T) {
	c := runs(t)
	c.puts("waiting\n", 8)
	c.ends("failed", "Ended after 120 s; its output so far:\nwaiting\nstill\n")
	c.shows("[$ make]\n  waiting\n  still\n[$ make: failed: Ended after 120 s; its output so far]\n")
}

func TestACommandThatNeverBeganFails(t *testing.T) {
	c := &command{t: t}
	c.show = &reply{out: &c.text, notes: &c.notes}
	c.ends("failed", "the user rejected the call.\nmore")
	c.shows("[make: failed]\n")
}

func TestOmittedOutputIsCounted(t *testing.T) {
	c := runs(t)
	c.puts("a\n", 2)
	c.puts("wxyz\n", 100)
	c.ends("completed", "Exit code 0\na\n(1 line omitted)\nwxyz\nlast\n")
	c.shows("[$ make]\n  a\n  ... 93 bytes omitted\n  wxyz\n  last\n")
}

// A part begins at a character, whatever its size is.
func TestOutputInMidCharacter(t *testing.T) {
	c := runs(t)
	c.puts("ä", 1)
	c.puts("ä\n", 3)
	c.shows("[$ make]\n  \n")
}

func TestALineThatIsWrittenAgain(t *testing.T) {
	c := runs(t)
	c.puts("10 %\r20 %", 9)
	c.puts("10 %\r20 %\r30 %", 14)
	c.puts("10 %\r20 %\r30 %\r\ndone\r\n", 22)
	c.ends("completed", "Exit code 0\n30 %\ndone\n")
	c.shows("[$ make]\n  20 %\n  30 %\n  done\n")
}

// The result has the last state of a line, from which the rest follows.
func TestAShownLineChangesBeforeTheEnd(t *testing.T) {
	c := runs(t)
	c.puts("start\n10 %", 10)
	c.ends("completed", "Exit code 0\nstart\n100 %\ndone\n")
	c.shows("[$ make]\n  start\n  10 %\n  100 %\n  done\n")
}

// The result has only the last state of lines that were written several times. What it ends with is shown.
func TestShownLinesAreNotInTheResult(t *testing.T) {
	c := runs(t)
	c.puts("10 %\n20 %\n30", 12)
	c.ends("completed", "Exit code 0\n100 %\n"+strings.Repeat("line\n", 4)+"end")
	c.show.note("next")
	c.shows("[$ make]\n  10 %\n  20 %\n  30\n  ...\n" + strings.Repeat("  line\n", 4) + "  end\n[next]\n")
	for text, want := range map[string]string{"": "", "a": "a", "a\n": "a\n", "a\nb": "a\nb", "a\nb\n": "a\nb\n", "a\nb\nc": "b\nc", "a\n\n\n": "\n\n"} {
		if got := lastLines(text, 2); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestACommandWithoutOutputIsOneLine(t *testing.T) {
	c := runs(t)
	c.ends("completed", "Exit code 0\n(no output)")
	c.shows("[$ make]\n")
}

// The same text can be in an output several times.
func TestOutputThatRepeats(t *testing.T) {
	c := runs(t)
	c.puts("ok\n", 3)
	c.ends("completed", "Exit code 0\nok\nok\nok\n")
	c.shows("[$ make]\n  ok\n  ok\n  ok\n")
}

// The output of a command cannot control the terminal, nor look like a remark.
func TestHostileOutput(t *testing.T) {
	c := runs(t)
	c.puts("\x1b[2J\n[rm: allowed]\n", 1<<62)
	c.puts("again\n", -5)
	c.ends("completed", "\x1b]0;x\x07")
	c.shows("[$ make]\n  ... 4611686018427387885 bytes omitted\n  [2J\n  [rm: allowed]\n[]0;x]\n")
}

// A reply, a remark and a question begin on their own lines.
func TestOutputInMidLineIsLeft(t *testing.T) {
	c := runs(t)
	c.puts("Continue?", 9)
	c.show.question("y/n? ")
	c.show.typed()
	c.puts("Continue? yes", 13)
	c.show.note("a notice")
	c.puts("Continue? yes, go", 17)
	c.show.notified("session/update", json.RawMessage(`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi"}}}`))
	c.shows("[$ make]\n  Continue?\ny/n?    yes\n[a notice]\n  , go\n")
}

// Whatever windows of the output arrive, each byte is shown once or counted as omitted.
func TestOutputIsShownOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := runs(t)
		var all, want strings.Builder
		want.WriteString("[$ make]\n")
		for range 1 + random.IntN(8) {
			before := all.Len()
			for range 1 + random.IntN(20) {
				fmt.Fprintf(&all, "%d\n", random.IntN(100))
			}
			added := all.String()[before:]
			window := len(added)
			if omitted := strings.IndexByte(added, '\n') + 1; omitted < len(added) && random.IntN(3) == 0 {
				window -= omitted
				fmt.Fprintf(&want, "  ... %d bytes omitted\n", omitted)
			} else {
				window += random.IntN(before + 1)
			}
			tail := all.String()[all.Len()-window:]
			if window < len(added) {
				added = tail
			}
			for line := range strings.Lines(added) {
				want.WriteString("  " + line)
			}
			c.puts(tail, int64(all.Len()))
		}
		c.ends("completed", "Exit code 0\n"+all.String())
		c.shows(want.String())
	}
}
