package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
)

func refusal(t *testing.T, err error) string {
	t.Helper()
	fault, ok := errors.AsType[*rpc.Error](err)
	if !ok || fault.Code != rpc.CodeInvalidParams {
		t.Fatalf("got %v", err)
	}
	return fault.Message
}

// A line whose id or number another line has is named, in whichever page the other one is, and nothing is stored of its
// page.
func TestR08DuplicateLinesAreNamed(t *testing.T) {
	message := func(id string, seq int64) Line {
		m := words(seq, fmt.Sprint("text ", seq))
		m.ID = id
		return Line{Type: "message", Message: &m}
	}
	edit := func(id string, seq int64) Line {
		return Line{Type: "edit", Edit: &history.Edit{ID: id, Seq: seq, Kind: history.EditClear, At: noon}}
	}
	call := func(id string) Line {
		return Line{Type: "call", Call: &history.Call{ID: id, Purpose: history.PurposeTurn, Model: "a/b", At: noon}}
	}
	for name, tt := range map[string]struct {
		first, second []Line
		want          string
	}{
		"a message, at once":       {[]Line{message("msg_1", 1), message("msg_1", 2)}, nil, "params.lines[2].message.id: another line has the id msg_1"},
		"its number":               {[]Line{message("msg_1", 1), message("msg_2", 1)}, nil, "params.lines[2].message.seq: another line has the number 1"},
		"the number of an edit":    {[]Line{message("msg_1", 1), edit("edit_1", 1)}, nil, "params.lines[2].edit.seq: another line has the number 1"},
		"an edit":                  {[]Line{edit("edit_1", 1), edit("edit_1", 2)}, nil, "params.lines[2].edit.id: another line has the id edit_1"},
		"a call":                   {[]Line{call("call_1"), call("call_2"), call("call_1")}, nil, "params.lines[3].call.id: another line has the id call_1"},
		"a message, a page later":  {[]Line{message("msg_1", 1)}, []Line{message("msg_2", 2), message("msg_1", 3)}, "params.lines[1].message.id: another line has the id msg_1"},
		"a number, a page later":   {[]Line{edit("edit_1", 1)}, []Line{message("msg_2", 1)}, "params.lines[0].message.seq: another line has the number 1"},
		"a call, a page later":     {[]Line{call("call_1")}, []Line{call("call_1")}, "params.lines[0].call.id: another line has the id call_1"},
		"a very long id":           {[]Line{message(strings.Repeat("x", 1<<20), 1), message(strings.Repeat("x", 1<<20), 2)}, nil, "params.lines[2].message.id: another line has the id xxx"},
		"no id":                    {[]Line{message("", 1)}, nil, "params.lines[1].message.id is missing"},
		"no id of an edit":         {[]Line{edit("", 1)}, nil, "params.lines[1].edit.id is missing"},
		"no id of a call":          {[]Line{call("")}, nil, "params.lines[1].call.id is missing"},
		"no path of a file":        {[]Line{{File: &File{State: []byte("{}")}}}, nil, "params.lines[1].file.path is missing"},
		"after many lines":         {append(manyLines(2*pageLines), message("msg_3", 5000)), nil, "params.lines[1001].message.id: another line has the id msg_3"},
		"after many, a page later": {manyLines(2 * pageLines), append(manyLines(3 * pageLines)[2*pageLines:], message("msg_7", 5000)), "params.lines[500].message.id: another line has the id msg_7"},
	} {
		in := newTestImporter(t)
		p := ImportPage{Lines: append(firstLines(), tt.first...)}
		if tt.second != nil {
			begun, err := in.Import(t.Context(), p)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			p = ImportPage{ImportID: begun.ImportID, Lines: tt.second}
		}
		_, err := in.Import(t.Context(), p)
		if got := refusal(t, err); !strings.HasPrefix(got, tt.want) || len(got) > 300 {
			t.Errorf("%s: %.300q", name, got)
		}
		if tt.second == nil {
			continue
		}
		// Without the line the page is taken: nothing of it was stored.
		p.Lines, p.Done = tt.second[:len(tt.second)-1], true
		if _, err := in.Import(t.Context(), p); err != nil {
			t.Errorf("%s: afterwards %v", name, err)
		}
	}
}

// manyLines returns n messages.
func manyLines(n int) []Line {
	lines := make([]Line, n)
	for i := range lines {
		m := words(int64(i+1), "text")
		lines[i] = Line{Type: "message", Message: &m}
	}
	return lines
}

func TestR08NumbersOfAnImportAreBounded(t *testing.T) {
	call := func(change func(c *history.Call)) Line {
		c := &history.Call{ID: "call_1", Purpose: history.PurposeTurn, Model: "a/b", At: noon}
		change(c)
		return Line{Type: "call", Call: c}
	}
	message := func(change func(m *history.Message)) Line {
		m := words(1, "text")
		change(&m)
		return Line{Type: "message", Message: &m}
	}
	for want, line := range map[string]Line{
		"call.usage.input: must be a whole number from 0 to 1099511627776": call(func(c *history.Call) { c.Usage.Input = math.MaxInt }),
		"call.usage.output: ":             call(func(c *history.Call) { c.Usage.Output = -1 }),
		"call.usage.cacheRead: ":          call(func(c *history.Call) { c.Usage.CacheRead = history.MaxTokens + 1 }),
		"call.usage.cacheWrite: ":         call(func(c *history.Call) { c.Usage.CacheWrite = math.MinInt }),
		"call.cost: must be a number":     call(func(c *history.Call) { c.Cost = -1 }),
		"call.cost: must be a number fro": call(func(c *history.Call) { c.Cost = 1e300 }),
		"call.cost: must be a num":        call(func(c *history.Call) { c.Cost = math.NaN() }),
		"call.expected: ":                 call(func(c *history.Call) { c.Expected = -1 }),
		"call.categories.files: ":         call(func(c *history.Call) { c.Categories = map[string]int{"files": math.MaxInt} }),
		"call.documents.a: ":              call(func(c *history.Call) { c.Documents = map[string]int{"a": -1} }),
		"call.step: must be a whole":      call(func(c *history.Call) { c.Step = -1 }),
		"call.step: must":                 call(func(c *history.Call) { c.Step = 1<<20 + 1 }),
		"message.tokens: ":                message(func(m *history.Message) { m.Tokens = math.MaxInt }),
		"message.tokens: must":            message(func(m *history.Message) { m.Tokens = -1 }),
		"message.seq: ":                   message(func(m *history.Message) { m.Seq = math.MaxInt64 }),
	} {
		_, err := newTestImporter(t).Import(t.Context(), ImportPage{Lines: append(firstLines(), line)})
		if got := refusal(t, err); !strings.HasPrefix(got, "params.lines[1]."+want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	largest := history.Usage{Input: history.MaxTokens, Output: history.MaxTokens, CacheRead: history.MaxTokens, CacheWrite: history.MaxTokens}
	in := newTestImporter(t)
	lines := firstLines()
	for i := range 3000 {
		lines = append(lines, call(func(c *history.Call) { c.ID, c.Usage = fmt.Sprint("call_", i), largest }))
	}
	done, err := in.Import(t.Context(), ImportPage{Lines: lines, Done: true})
	if err != nil {
		t.Fatal(err)
	}
	sums, err := in.Store.CallTotals(t.Context(), done.SessionID)
	if err != nil || len(sums) != 1 || sums[0].Usage.Context() != 3*3000*history.MaxTokens {
		t.Errorf("sums %+v, error %v", sums, err)
	}
}

// A page that storing fails of in the middle can be sent again.
func TestR08AHalfStoredPageCanBeSentAgain(t *testing.T) {
	commits := 0
	var fail context.CancelFunc
	store, err := historystore.Open(t.Context(), filepath.Join(t.TempDir(), "strata.db"), historystore.Options{OnCommit: func(int) {
		if commits++; commits == 3 { // the session, its first lines, and one transaction of the page
			fail()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	in := NewImporter(Options{
		Store: store, Show: store.ImportShow, Folders: func(dir string) (string, error) { return dir, nil }, Now: time.Now,
		NewID: func(prefix string) string { return prefix + "1" }, Log: slog.New(slog.DiscardHandler),
	})
	all := manyLines(3*pageLines + 1)
	begun, err := in.Import(t.Context(), ImportPage{Lines: append(firstLines(), all[0])})
	if err != nil {
		t.Fatal(err)
	}
	p := ImportPage{ImportID: begun.ImportID, Lines: all[1:], Done: true}
	ctx, cancel := context.WithCancel(t.Context())
	fail = cancel
	if _, err := in.Import(ctx, p); !errors.Is(err, context.Canceled) {
		t.Fatalf("failed with %v", err)
	}
	done, err := in.Import(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(texts(t, in, done.SessionID)); n != len(all) {
		t.Errorf("%d messages of %d are stored", n, len(all))
	}
}
