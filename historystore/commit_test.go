package historystore

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"strata/history"
)

func TestTurn(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0), savePartial("sess_a", 0, 0, "ans"), savePartial("sess_a", 0, 1, "wer"))

	l := load(t, s, "sess_a")
	begun := *beginTurn("sess_a", 0).Begin
	equal(t, "unfinished turn", *l.Unfinished, begun)
	equal(t, "partials", l.Partials, []history.Partial{*savePartial("sess_a", 0, 0, "ans").Partial, *savePartial("sess_a", 0, 1, "wer").Partial})

	end := endTurn("sess_a", 0)
	commit(t, s, end)
	l = load(t, s, "sess_a")
	if l.Unfinished != nil || l.Partials != nil {
		t.Fatalf("still unfinished: %+v", l)
	}
	equal(t, "layout", string(l.Layout.Head), "layout 0")
	equal(t, "totals", l.Totals, history.Totals{Calls: 1, Usage: end.End.Usage, Cost: 0.5})
	equal(t, "count", l.Session.Messages, 2)
	equal(t, "last use", l.Session.UpdatedAt, end.End.EndedAt)
	equal(t, "heads", l.Heads, []history.Head{headOf(beginTurn("sess_a", 0).Messages[0]), headOf(end.Messages[0])})

	turn, err := s.TurnByPrompt(ctx, "sess_a", "prompt_0")
	if err != nil {
		t.Fatal(err)
	}
	want := begun
	want.Status, want.StopReason, want.Usage, want.Cost, want.EndedAt =
		end.End.Status, end.End.StopReason, end.End.Usage, end.End.Cost, end.End.EndedAt
	equal(t, "turn", turn, want)
	_, err = s.TurnByPrompt(ctx, "sess_a", "prompt_1")
	wantError(t, err, history.ErrNotFound)
}

func headOf(m history.Message) history.Head {
	body, _ := json.Marshal(m)
	return m.Head(len(body))
}

func TestFailureOfTurnIsKept(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0))
	failure := &history.Failure{Code: -32012, Message: "overloaded", Data: json.RawMessage(`{"status":529}`)}
	commit(t, s, history.Change{Session: "sess_a", End: &history.Turn{ID: turnID(0), Status: history.TurnFailed, Failure: failure}})
	turn, err := s.TurnByPrompt(ctx, "sess_a", "prompt_0")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "failure", turn.Failure, failure)
}

func TestUpdateLeavesTheRest(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0))
	update := *createSession("sess_a").Create
	update.Title, update.TitleByUser, update.UpdatedAt, update.CWD = "New", true, epoch.Add(time.Hour), "/moved"
	commit(t, s, history.Change{Session: "sess_a", Update: &update})
	want := update
	want.Messages = 1
	equal(t, "session", load(t, s, "sess_a").Session, want)
}

func TestEditsAndAppends(t *testing.T) {
	s := openTest(t, "", Options{})
	exchange := appendText("sess_a", 1, "read it")
	call := textMessage(2, history.RoleAssistant, "")
	call.Blocks = []history.Block{{Type: history.BlockToolCall, CallID: "c1", Name: "read", Args: "{}"}}
	result := textMessage(3, history.RoleTool, "")
	result.Blocks = []history.Block{{Type: history.BlockToolResult, CallID: "c1", Content: []history.Block{{Type: history.BlockText, Text: "found"}}}}
	exchange.Messages = append(exchange.Messages, call, result)
	commit(t, s, createSession("sess_a"), exchange, compactEdit("sess_a", 4, "msg_1", "msg_2"))

	l := load(t, s, "sess_a")
	equal(t, "edits", l.Edits, compactEdit("sess_a", 4, "msg_1", "msg_2").Edits)
	equal(t, "calls", []bool{l.Heads[0].HasCalls, l.Heads[1].HasCalls, l.Heads[2].HasCalls}, []bool{false, true, false})
	got, err := s.Messages(ctx, "sess_a", []int64{3, 1, 3})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "messages", got, []history.Message{result, exchange.Messages[0], result})
	_, err = s.Messages(ctx, "sess_a", []int64{1, 4})
	wantError(t, err, history.ErrNotFound)
}

func TestFilesAreReplacedAndDropped(t *testing.T) {
	s := openTest(t, "", Options{})
	one := history.File{Path: "one.go", State: json.RawMessage(`{"v":1}`)}
	two := history.File{Path: "two.go", State: json.RawMessage(`{"v":1}`), Buffer: []byte("unsaved")}
	empty := history.File{Path: "zero.go", State: json.RawMessage(`{}`), Buffer: []byte{}}
	commit(t, s, createSession("sess_a"), history.Change{Session: "sess_a", PutFiles: []history.File{two, one, empty}})
	equal(t, "files", load(t, s, "sess_a").Files, []history.File{one, two, empty})

	one.State = json.RawMessage(`{"v":2}`)
	commit(t, s, history.Change{Session: "sess_a", PutFiles: []history.File{one}, DropFiles: []string{"one.go", "two.go", "none.go"}})
	equal(t, "files", load(t, s, "sess_a").Files, []history.File{one, empty})
}

func TestDocumentsAreReplacedAndDropped(t *testing.T) {
	s := openTest(t, "", Options{})
	rules, design, empty := document("rules", "be kind"), document("design", "\x00 漢字 </script>"), history.Document{Name: "a", At: epoch}
	commit(t, s, createSession("sess_a"), createSession("sess_b"), putDocuments("sess_b", document("rules", "of b")),
		putDocuments("sess_a", rules, design, empty))
	equal(t, "documents", load(t, s, "sess_a").Documents, []history.Document{empty, design, rules})

	rules.Text, rules.Phases = "be kinder", nil
	ch := putDocuments("sess_a", rules)
	ch.DropDocuments = []string{"rules", "design", "none"}
	commit(t, s, ch)
	equal(t, "documents", load(t, s, "sess_a").Documents, []history.Document{empty, rules})
	equal(t, "documents", load(t, s, "sess_b").Documents, []history.Document{document("rules", "of b")})
}

func TestCalibrationIsReplaced(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	for _, c := range []history.Calibration{{Model: "b/c", Ratio: 1}, {Model: "a/b", Ratio: 1}, {Model: "b/c", Ratio: 1.2, Weight: 3}} {
		commit(t, s, history.Change{Session: "sess_a", Calibration: &c})
	}
	got, err := s.Calibrations(ctx)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "calibrations", got, []history.Calibration{{Model: "a/b", Ratio: 1}, {Model: "b/c", Ratio: 1.2, Weight: 3}})
}

func TestTimesAreUTCAndMicroseconds(t *testing.T) {
	s := openTest(t, "", Options{})
	ch := appendText("sess_a", 1, "now")
	ch.Messages[0].At = time.Date(2026, 7, 1, 10, 0, 0, 123456789, time.FixedZone("", 7200))
	ch.Edits = compactEdit("sess_a", 2).Edits
	ch.PutDocuments = []history.Document{document("rules", "")}
	ch.Edits[0].At, ch.PutDocuments[0].At = ch.Messages[0].At, ch.Messages[0].At
	commit(t, s, createSession("sess_a"), ch)
	want := time.Date(2026, 7, 1, 8, 0, 0, 123456000, time.UTC)
	got, err := s.Messages(ctx, "sess_a", []int64{1})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "message", got[0].At, want)
	l := load(t, s, "sess_a")
	equal(t, "times", []time.Time{l.Heads[0].At, l.Edits[0].At, l.Documents[0].At}, []time.Time{want, want, want})
}

// If any part of a change fails, nothing of it is stored.
func TestFailingChangeLeavesNothing(t *testing.T) {
	tests := map[string]struct {
		want error // nil: any error
		part func(ch *history.Change)
	}{
		"unknown session":          {history.ErrNotFound, func(ch *history.Change) { ch.Session = "sess_x" }},
		"session created again":    {ErrDuplicate, func(ch *history.Change) { ch.Create = createSession("sess_a").Create }},
		"id of message":            {ErrDuplicate, func(ch *history.Change) { ch.Messages[1].ID = "msg_1" }},
		"seq of message":           {ErrDuplicate, func(ch *history.Change) { ch.Messages[1].Seq = 1 }},
		"seq of edit for message":  {ErrDuplicate, func(ch *history.Change) { ch.Messages[1].Seq = 30 }},
		"id of edit":               {ErrDuplicate, func(ch *history.Change) { ch.Edits[0].ID = "edit_30" }},
		"seq of message for edit":  {ErrDuplicate, func(ch *history.Change) { ch.Edits[0].Seq = 2 }},
		"id of turn":               {ErrDuplicate, func(ch *history.Change) { ch.Begin.ID = turnID(0) }},
		"prompt id":                {ErrDuplicate, func(ch *history.Change) { ch.Begin.PromptID = "prompt_0" }},
		"partial of ended turn":    {history.ErrNotFound, func(ch *history.Change) { ch.Partial.Turn = turnID(0) }},
		"partial of unknown turn":  {history.ErrNotFound, func(ch *history.Change) { ch.Partial.Turn = "turn_x" }},
		"end of unknown turn":      {history.ErrNotFound, func(ch *history.Change) { ch.End.ID = "turn_x" }},
		"id of call":               {ErrDuplicate, func(ch *history.Change) { ch.Calls[0].ID = "call_0" }},
		"hash of blob":             {nil, func(ch *history.Change) { ch.Blobs[0].Hash = "00" }},
		"role":                     {nil, func(ch *history.Change) { ch.Messages[1].Role = "system" }},
		"zero seq":                 {nil, func(ch *history.Change) { ch.Messages[1].Seq = 0 }},
		"meta that is not JSON":    {nil, func(ch *history.Change) { ch.Messages[1].Meta = json.RawMessage("{") }},
		"edit without id":          {nil, func(ch *history.Change) { ch.Edits[0].ID = "" }},
		"document without name":    {nil, func(ch *history.Change) { ch.PutDocuments[0].Name = "" }},
		"name that is not UTF-8":   {nil, func(ch *history.Change) { ch.PutDocuments[0].Name = "\xff" }},
		"last part that fails":     {nil, func(ch *history.Change) { ch.Calibration.Ratio = math.NaN() }},
		"create of another":        {nil, func(ch *history.Change) { ch.Create = createSession("sess_b").Create }},
		"failure that is not JSON": {nil, func(ch *history.Change) { ch.End.Failure = &history.Failure{Data: json.RawMessage("{")} }},
		"file change without path": {nil, func(ch *history.Change) { ch.PutFileChanges[0].Path = "" }},
		"hash of image":            {nil, func(ch *history.Change) { ch.FileImages[0].Bytes = []byte("other") }},
		"image of no file":         {nil, func(ch *history.Change) { ch.FileImages = append(ch.FileImages, testBlob("other")) }},
		"other file change":        {ErrDuplicate, func(ch *history.Change) { ch.PutFileChanges[0].ID = "fc_7" }},
		"no session":               {nil, func(ch *history.Change) { ch.Session = "" }},
	}
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), beginTurn("sess_a", 0), endTurn("sess_a", 0), compactEdit("sess_a", 30, "msg_1"),
		putDocuments("sess_a", document("old", "to be dropped"), document("rules", "to be replaced")),
		putFileChanges("sess_a", editFile(7, "old", "new")))
	before := dump(t, s)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ch := changeOfEverything()
			test.part(&ch)
			err := s.Commit(ctx, ch)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("got error %v, want %v", err, test.want)
			}
			equal(t, "database", dump(t, s), before)
		})
	}
	commit(t, s, changeOfEverything())
	if dump(t, s) == before {
		t.Fatal("the valid change was not stored")
	}
}

func changeOfEverything() history.Change {
	ch := endTurn("sess_a", 1)
	begin := beginTurn("sess_a", 1)
	ch.Begin = begin.Begin
	ch.Messages = append(begin.Messages, ch.Messages...)
	ch.Partial = savePartial("sess_a", 1, 0, "part").Partial
	ch.Edits = compactEdit("sess_a", 5, "msg_1").Edits
	ch.Update = createSession("sess_a").Create
	ch.PutFiles = []history.File{{Path: "a.go", State: json.RawMessage("{}")}}
	ch.PutDocuments, ch.DropDocuments = []history.Document{document("rules", "new")}, []string{"old"}
	put := putFileChanges("sess_a", editFile(1, "old", "new"))
	ch.PutFileChanges, ch.FileImages = put.PutFileChanges, put.FileImages
	ch.Requests = sendRequest("sess_a", 1, epoch).Requests
	ch.KeepBlobs = []string{ch.Blobs[0].Hash} // drops the blob of the first turn
	return ch
}

func TestErrorsNameTheirSubject(t *testing.T) {
	s := openTest(t, "", Options{})
	err := s.Commit(ctx, beginTurn("sess_x", 0))
	if want := "store change of session sess_x: not found"; fmt.Sprint(err) != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func TestHostileTexts(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	for i, text := range []string{"", "\x00", "a\x00b", "\xff\xfe", "\x02marked\x03", "\u200b", strings.Repeat("x", 1<<20), strings.Repeat("漢", 200_000)} {
		commit(t, s, appendText("sess_a", int64(i+1), text))
		got, err := s.Messages(ctx, "sess_a", []int64{int64(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "text", got[0].Blocks[0].Text, strings.ToValidUTF8(strings.ReplaceAll(text, "\xff\xfe", "\ufffd\ufffd"), "\ufffd"))
	}
	checkIndex(t, s)
}

func TestCallsInPages(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"))
	var want []history.Call
	for n := range int64(5) {
		for _, session := range []string{"sess_b", "sess_a"} {
			commit(t, s, beginTurn(session, n), endTurn(session, n))
		}
		want = append(want, endTurn("sess_a", n).Calls...)
	}
	var got []history.Call
	cursor := ""
	for pages := 1; ; pages++ {
		list, next, err := s.Calls(ctx, "sess_a", cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, list...)
		if cursor = next; next == "" {
			equal(t, "pages", pages, 3)
			break
		}
	}
	equal(t, "calls", got, want)
	checkNewestCalls(t, s, want)
	checkCallTotals(t, s, want)
	_, _, err := s.Calls(ctx, "sess_x", "", 0)
	wantError(t, err, history.ErrNotFound)
	_, _, err = s.Calls(ctx, "sess_a", "?", 0)
	wantError(t, err, ErrCursor)
}

func checkNewestCalls(t *testing.T, s *Store, want []history.Call) {
	t.Helper()
	var got []history.Call
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		list, next, err := s.NewestCalls(ctx, "sess_a", cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		got, cursor = append(list, got...), next
	}
	equal(t, "newest calls", got, want)
	_, next, err := s.Calls(ctx, "sess_a", "", 2)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.NewestCalls(ctx, "sess_a", next, 2)
	wantError(t, err, ErrCursor)
	_, _, err = s.NewestCalls(ctx, "sess_x", "", 0)
	wantError(t, err, history.ErrNotFound)
}

func checkCallTotals(t *testing.T, s *Store, calls []history.Call) {
	t.Helper()
	sums, err := s.CallTotals(ctx, "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	want := ModelTotals{Model: calls[0].Model}
	for _, c := range calls {
		want.Calls, want.Usage, want.Cost, want.Expected = want.Calls+1, want.Usage.Add(c.Usage), want.Cost+c.Cost, want.Expected+c.Expected
	}
	equal(t, "totals", sums, []ModelTotals{want})
	_, err = s.CallTotals(ctx, "sess_x")
	wantError(t, err, history.ErrNotFound)
}
