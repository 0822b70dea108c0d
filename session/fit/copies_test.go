package fit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
	"strata/stability"
	"strata/tokens"
)

// A call whose arguments did not arrive whole wrote no file, and a result that is an error is no file's text.
func TestCopiesInToolCalls(t *testing.T) {
	call := func(name, args string) history.Block {
		return history.Block{Type: history.BlockToolCall, CallID: "1", Name: name, Args: args}
	}
	result := history.Block{Type: history.BlockToolResult, CallID: "1", Content: []history.Block{{Type: history.BlockText, Text: "package a"}}}
	incomplete, failed, other, two := call("write_file", `{"path":"a.go","content":"x"}`), result, result, result
	incomplete.Incomplete, failed.IsError, other.CallID = true, true, "2"
	two.Content = append(two.Content[:1:1], two.Content[0])
	read := call("read_file", `{"path":"a.go"}`)
	for name, tt := range map[string]struct {
		blocks []history.Block
		want   int
	}{
		"a write":                 {[]history.Block{call("write_file", `{"path":"a.go","content":"x"}`)}, 1},
		"a write that was cut":    {[]history.Block{incomplete}, 0},
		"a read":                  {[]history.Block{read, result}, 1},
		"a read that failed":      {[]history.Block{read, failed}, 0},
		"the result of another":   {[]history.Block{read, other}, 0},
		"a result with two parts": {[]history.Block{read, two}, 0},
	} {
		s := newSearch(func(path string) string { return path })
		s.message(history.Message{Blocks: tt.blocks}, place{})
		if len(s.found) != tt.want {
			t.Errorf("%s: %d copies, want %d", name, len(s.found), tt.want)
		}
	}
}

// A file is named for its size only if its size is why it is not whole.
func TestFilesThatAreNotWhole(t *testing.T) {
	count := func(e filecontext.Entry) int {
		if e.State == filecontext.Full {
			return 100
		}
		return 30
	}
	summary := filecontext.Entry{Content: filecontext.Content{Path: "a"}, State: filecontext.SummaryOnly, Reason: ReasonBudget}
	part := filecontext.Entry{Content: filecontext.Content{Path: "a"}, State: filecontext.Partial, Reason: ReasonTruncated}
	asked, unreadable := part, summary
	asked.Reason, unreadable.Problem = "asked for", "gone"
	for name, tt := range map[string]struct {
		entry  filecontext.Entry
		tokens int
		ok     bool
	}{
		"evicted": {summary, 100, true}, "shortened": {part, 70, true}, "as asked for": {asked, 0, false}, "unreadable": {unreadable, 0, false},
	} {
		if o, ok := OmittedFile(&tt.entry, count); ok != tt.ok || o.Tokens != tt.tokens {
			t.Errorf("%s: %+v, %t", name, o, ok)
		}
	}
}

// No diff leads to or from a file with line numbers: its revision says so. An empty file needs no text from the disk.
func TestRenderingsOfFiles(t *testing.T) {
	var c RenderCache
	counter := tokens.For("")
	e := filecontext.Entry{Content: filecontext.Content{Path: "a", Text: "one\ntwo\n", Hash: Hash("one\ntwo\n"), Size: 8, Lines: 2}, State: filecontext.Full}
	numbered := e
	numbered.LineNumbers = true
	if plain, with := c.Of(e, counter), c.Of(numbered, counter); plain.Rev != e.Hash || with.Rev != e.Hash+NoDiff || !strings.HasSuffix(with.Rev, NoDiff) || plain.Hash == with.Hash {
		t.Errorf("%+v, %+v", plain, with)
	}
	unread, empty, hidden := e, filecontext.Entry{Content: filecontext.Content{Path: "b", Hash: Hash("")}, State: filecontext.Full}, e
	unread.Path, unread.Text = "c", ""
	hidden.Path, hidden.Text, hidden.State = "d", "", filecontext.SummaryOnly
	for name, tt := range map[string]struct {
		entry filecontext.Entry
		want  bool
	}{"in memory": {e, false}, "on the disk only": {unread, true}, "empty": {empty, false}, "not shown": {hidden, false}} {
		if c.Lacks(tt.entry, counter) != tt.want {
			t.Errorf("%s: lacks its text: %t", name, !tt.want)
		}
	}
	again := e
	again.Text = "" // after a restart, with the rendering known
	if c.Lacks(again, counter) || c.Tokens(again, counter) != c.Of(e, counter).Tokens {
		t.Error("a rendering that is known needs the text again")
	}
}

// A text that says which lines of a file it shows is a copy of the whole file only if these are all lines, whatever the call
// was, and it is not searched for headings, which are in the file.
func TestCopiesInTypedResults(t *testing.T) {
	const body = "package a\n\n// FULL CONTENT of file: b.go\npackage b\n"
	typed := func(lines filecontext.Range, of int) history.Block {
		shown := &history.FileLines{Path: "a.go", Version: "v", Lines: []history.Lines{history.Lines(lines)}, Of: of}
		return history.Block{Type: history.BlockText, Text: filecontext.RenderLines("a.go", body, lines, of, false), File: shown}
	}
	found := history.Block{Type: history.BlockText, Text: body, Shows: []history.FileLines{{Path: "c.go", Version: "v", Of: 9}}}
	note := history.Block{Type: history.BlockText, Text: "[lines 5 to 8 omitted]"}
	for name, tt := range map[string]struct {
		args    string
		content []history.Block
		whole   int // copies of the whole file
		parts   int
	}{
		"the whole file":            {`{"path":"a.go"}`, []history.Block{typed(filecontext.Range{Start: 1, End: 4}, 4)}, 1, 0},
		"the whole file by lines":   {`{"path":"x/../a.go","start_line":1}`, []history.Block{typed(filecontext.Range{Start: 1, End: 4}, 4)}, 1, 0},
		"a part":                    {`{"path":"a.go"}`, []history.Block{typed(filecontext.Range{Start: 1, End: 4}, 8)}, 0, 1},
		"head and tail":             {`{"path":"a.go"}`, []history.Block{typed(filecontext.Range{Start: 1, End: 4}, 12), note, typed(filecontext.Range{Start: 9, End: 12}, 12)}, 0, 2},
		"lines that a search found": {`{"path":"a.go"}`, []history.Block{found}, 0, 0},
	} {
		s := newSearch(func(path string) string { return path })
		s.message(history.Message{Blocks: []history.Block{
			{Type: history.BlockToolCall, CallID: "1", Name: "read_file", Args: tt.args}, {Type: history.BlockToolResult, CallID: "1", Content: tt.content},
		}}, place{})
		parts := 0
		for i := range s.found {
			if s.found[i].isPart() {
				parts++
			}
		}
		if whole := len(s.found) - parts; whole != tt.whole || parts != tt.parts {
			t.Errorf("%s: %d copies and %d parts", name, whole, parts)
		}
		for i := range s.found {
			c := &s.found[i]
			if text := s.texts[c.place]; c.Path != "a.go" || c.origin != OriginRead || c.content(text) != body || c.Start != 0 || c.End != len(text) {
				t.Errorf("%s: %+v in %q", name, c, text)
			}
		}
	}
}

// Of what tools read of a file, the newest text of each line stays: an older read of the same lines is replaced, whatever the
// version, a part never replaces the whole file, and the result of a search neither replaces nor is replaced.
func TestDedupeOfLinesThatToolsRead(t *testing.T) {
	read := func(path, version string, start, end, of int) history.Block {
		text := strings.Repeat(version+" words of this line\n", end-start+1)
		lines := filecontext.Range{Start: start, End: end}
		if start == 1 && end == of {
			lines = filecontext.Range{}
		}
		shown := &history.FileLines{Path: path, Version: version, Lines: []history.Lines{{Start: start, End: end}}, Of: of}
		return history.Block{Type: history.BlockText, Text: filecontext.RenderLines(path, text, lines, of, false), File: shown}
	}
	found := func(path, version string, start, end, of int) history.Block {
		b := read(path, version, start, end, of)
		return history.Block{Type: history.BlockText, Text: b.Text, Shows: []history.FileLines{*b.File}}
	}
	mention := history.Block{Type: history.BlockText, Text: "--- FULL CONTENT: a ---\n" + strings.Repeat("mentioned words\n", 9)}
	for name, tt := range map[string]struct {
		parts []history.Block
		want  []string // the stand-ins, by the number of their part
	}{
		"the same lines again":           {[]history.Block{read("a", "1", 2, 9, 20), read("a", "1", 2, 9, 20)}, []string{"0 lines 2 to 9 of a"}},
		"a newer version":                {[]history.Block{read("a", "1", 2, 9, 20), read("a", "2", 2, 9, 25)}, []string{"0 lines 2 to 9 of a"}},
		"more lines":                     {[]history.Block{read("a", "1", 4, 6, 20), read("a", "1", 2, 9, 20)}, []string{"0 lines 4 to 6 of a"}},
		"fewer lines":                    {[]history.Block{read("a", "1", 2, 9, 20), read("a", "1", 4, 6, 20)}, nil},
		"some of the lines":              {[]history.Block{read("a", "1", 2, 9, 20), read("a", "1", 5, 12, 20)}, nil},
		"another file":                   {[]history.Block{read("a", "1", 2, 9, 20), read("b", "1", 2, 9, 20)}, nil},
		"the whole file after parts":     {[]history.Block{read("a", "1", 2, 9, 20), read("a", "1", 15, 20, 20), read("a", "2", 1, 9, 9)}, []string{"0 lines 2 to 9 of a", "1 lines 15 to 20 of a"}},
		"a part after the whole file":    {[]history.Block{read("a", "1", 1, 9, 9), read("a", "2", 1, 9, 20)}, nil},
		"the whole file again":           {[]history.Block{read("a", "1", 1, 9, 9), read("a", "2", 1, 8, 8)}, []string{"0 a"}},
		"a part, then the whole, a part": {[]history.Block{read("a", "1", 2, 9, 20), read("a", "1", 1, 20, 20), read("a", "1", 2, 9, 20)}, []string{"0 lines 2 to 9 of a"}},
		"a search after a read":          {[]history.Block{read("a", "1", 2, 9, 20), found("a", "1", 2, 9, 20)}, nil},
		"a read after a search":          {[]history.Block{found("a", "1", 2, 9, 20), read("a", "1", 2, 9, 20)}, nil},
		"a mention after a part":         {[]history.Block{read("a", "1", 2, 9, 20), mention}, []string{"0 lines 2 to 9 of a"}},
	} {
		d := newDesk(rand.New(rand.NewPCG(1, 1)), false)
		var heads []history.Head
		for i, part := range tt.parts {
			m := history.Message{ID: fmt.Sprint("r", i), Seq: int64(100 + i), Role: history.RoleTool, Blocks: []history.Block{
				{Type: history.BlockToolResult, CallID: "c", Content: []history.Block{part}},
			}}
			if part.File == nil && part.Shows == nil {
				m.Role, m.Blocks = history.RoleUser, []history.Block{part}
			}
			m.Tokens = content.Tokens(t.Context(), d.request.Counter, m.Blocks)
			d.messages[m.Seq] = m
			heads = append(heads, m.Head(content.Bytes(m.Blocks)))
		}
		d.request.Items = Conversation(history.NewLog(heads, nil).View())
		result, err := Dedupe(t.Context(), d.request)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range result.Changes.Dedupe {
			what := strings.TrimSuffix(strings.TrimPrefix(p.Text, "[The content of "), " stood here; a newer copy follows below.]\n")
			got = append(got, strings.TrimPrefix(p.Message, "r")+" "+what)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// What messages contain of a file: whole copies of whatever origin, and the lines that tools showed.
func TestSentOfAFile(t *testing.T) {
	d := newDesk(rand.New(rand.NewPCG(1, 1)), false)
	part := &history.FileLines{Path: "./a", Version: "v", Lines: []history.Lines{{Start: 1, End: 1}}, Of: 2}
	all := &history.FileLines{Path: "a", Version: "v", Lines: []history.Lines{{Start: 1, End: 2}}, Of: 2}
	m := history.Message{ID: "r", Seq: 100, Role: history.RoleTool, Blocks: []history.Block{{Type: history.BlockToolResult, CallID: "c", Content: []history.Block{
		{Type: history.BlockText, Text: filecontext.RenderLines("a", "one\n", filecontext.Range{Start: 1, End: 1}, 2, false), File: part},
		{Type: history.BlockText, Text: filecontext.RenderLines("a", "one\ntwo\n", filecontext.Range{}, 2, false), File: all},
		{Type: history.BlockText, Text: "1: one", Shows: []history.FileLines{*part, {Path: "b", Version: "v", Of: 9}}},
	}}}}
	d.messages[m.Seq] = m
	items := Conversation(history.NewLog([]history.Head{m.Head(content.Bytes(m.Blocks))}, nil).View())
	sent, err := SentOf(t.Context(), items, d.request.Read, func(path string) string { return strings.TrimPrefix(path, "./") }, "a")
	if err != nil || len(sent.Copies) != 1 || !sent.Copies[0].Is("one\ntwo\n") || len(sent.Lines) != 3 {
		t.Fatalf("%+v, %v", sent, err)
	}
	for _, lines := range sent.Lines {
		if lines.Path != "a" {
			t.Errorf("%+v", lines)
		}
	}
}

// Rules are no code in the sense of shares, whatever folder they are of.
func TestRulesAreNoCode(t *testing.T) {
	for name, want := range map[string]bool{"rules": false, "rules:sub": false, "rulesets": true, "design": true} {
		if it := TextItem(DocumentPrefix+name, stability.Document, "text", tokens.For("")); isCode(&it) != want {
			t.Errorf("%s is code: %t", name, !want)
		}
	}
}
