package compacting

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/compaction"
	"strata/history"
)

// logged returns what a driver logs from now on, without its times.
func (h *driven) logged() *bytes.Buffer {
	var out bytes.Buffer
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	h.box.Wait(func() { h.log = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime})) })
	return &out
}

func (h *driven) Ranges(edit *history.Edit) []history.Range {
	return h.stage.folded().Ranges([]history.Edit{*edit})[0]
}

// Each compaction is a line of the log: strategy, range of messages, tokens before and after, percentage saved, and copies of
// files by origin. No words of the conversation are in it.
func TestP13ACompactionIsLogged(t *testing.T) {
	h := drive(t)
	out := h.logged()
	h.open()
	result := make(chan Result, 1)
	h.Compact(Request{}, func(r Result, _ error) { result <- r })
	done := <-result
	var line string
	h.box.Wait(func() { line = out.String() })
	want := fmt.Sprintf("level=INFO msg=\"history compacted\" strategy=prune by=words messages=%s before=%d after=%d percent=%d\n",
		span(h.Ranges(&h.edits[0])), done.Before, done.After, (done.Before-done.After)*100/done.Before)
	if line != want || span(h.Ranges(&h.edits[0])) != "1-24" {
		t.Errorf("%s\nwant %s", line, want)
	}

	h.box.Wait(func() {
		out.Reset()
		edit := history.Edit{Strategy: "middle", Messages: []string{h.messages[2].ID, h.messages[7].ID}, Before: 900, After: 450, Reason: "secret words"}
		h.logCompacted(&edit, &Result{Strategy: "middle", By: "model", Before: 900, After: 450}, map[string]int{"read": 3, "write": 2, "mention": 1})
		line = out.String()
	})
	want = "level=INFO msg=\"history compacted\" strategy=middle by=model messages=3-8 before=900 after=450 percent=50 copies_read=3 copies_write=2 copies_mention=1\n"
	if line != want {
		t.Errorf("%s\nwant %s", line, want)
	}
}

// A compaction that changed nothing is logged with its outcome, one without a model like any other.
func TestP13OtherCompactionsAreLogged(t *testing.T) {
	h := drive(t)
	out := h.logged()
	h.box.Wait(func() {
		h.done(&run{id: "cmp_1", strategy: "prune"}, compaction.Outcome{Result: compaction.NoGain, Err: compaction.ErrNoGain}, nil)
		h.Condensed(&history.Edit{Kind: history.EditCompact, Strategy: "topic", Messages: []string{h.messages[0].ID}, Before: h.tokens() * 2})
	})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `msg="compaction without effect" strategy=prune outcome=no_gain tokens=`) ||
		!strings.Contains(lines[1], `msg="history compacted" strategy=topic by=words messages=1-1 before=`) || !strings.HasSuffix(lines[1], " percent=50") {
		t.Errorf("%q", lines)
	}
}

// The copies of files that a compaction removes are counted by where they come from: a tool that reads, one that writes, or a
// message. The newest copy stays.
func TestP13CopiesAreCountedByOrigin(t *testing.T) {
	st := newStage(t, "task", 64_000)
	version := func(i int) string { return strings.ReplaceAll(linesOf("a", 80), "value", fmt.Sprint("v", i)) }
	headed := func(i int) string { return "--- FULL CONTENT: a.go ---\n" + version(i) }
	tool := func(id, name string, args map[string]string, result string) {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		st.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: id, Name: name, Args: string(raw)})
		st.say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{text(result)}})
	}
	st.ask("Look at this:\n\n<file_content path=\"a.go\">\n" + version(0) + "\n</file_content>")
	st.answer("seen")
	st.ask("Change it.")
	tool("c1", "read_file", map[string]string{"path": "a.go"}, version(1))
	tool("c2", "search", map[string]string{"query": "x"}, headed(2))
	tool("c3", "write_file", map[string]string{"path": "a.go", "content": version(3)}, "done")
	tool("c4", "replace_in_file", map[string]string{"path": "a.go", "diff": "x"}, headed(4))
	tool("c5", "read_file", map[string]string{"path": "a.go"}, version(5))
	st.answer("Done.")
	j := st.job(true)
	if out := j.run(t.Context()); out.Result != compaction.Compacted {
		t.Fatalf("%+v", out)
	}
	if diff := cmp.Diff(map[string]int{"read": 2, "write": 2, "mention": 1}, j.copies.origins); diff != "" {
		t.Errorf("%s, %d patches", diff, len(j.copies.patches))
	}
}
