package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"strata/history"
)

// use appends a tool call and its result.
func (m *managed) use(name string, args map[string]any, result string) {
	text, err := json.Marshal(args)
	if err != nil {
		m.t.Fatal(err)
	}
	id := m.deps.NewID("call_")
	m.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: id, Name: name, Args: string(text)})
	m.say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{{Type: history.BlockText, Text: result}}})
}

// Of the texts that tools read and wrote, the newest text of each file is kept; calls keep their results.
func TestDedupeOfWhatToolsReadAndWrote(t *testing.T) {
	m := manage(t, 400_000)
	m.ask("start")
	m.use("read_file", map[string]any{"path": "a.go"}, linesOf("first", 40))
	m.use("write_file", map[string]any{"path": "./a.go", "content": linesOf("second", 40), "mode": "w"}, "written")
	m.use("read_file", map[string]any{"path": "a.go", "offset": 3}, linesOf("part", 40))
	m.use("write_file", map[string]any{"path": "b.go", "content": linesOf("other", 40)}, "written")
	m.use("write_file", map[string]any{"path": "a.go", "content": linesOf("third", 40)}, "written")
	m.ask("go on")
	_, b := m.request()

	var all strings.Builder
	for _, e := range b.Request.Entries {
		for _, block := range e.Blocks {
			all.WriteString(textOf(block) + block.Args + "\n")
			if block.Type == history.BlockToolCall && !json.Valid([]byte(block.Args)) {
				t.Errorf("the arguments %s are no JSON", block.Args)
			}
		}
	}
	for word, want := range map[string]bool{"first 00001": false, "second 00001": false, "part 00001": true, "other 00001": true, "third 00001": true} {
		if has := strings.Contains(all.String(), word); has != want {
			t.Errorf("%s is sent: %v", word, has)
		}
	}
	if !strings.Contains(all.String(), `"mode":"w"`) {
		t.Error("the other arguments are missing")
	}
	if n := len(b.Changes.Dedupe); n != 2 {
		t.Errorf("%d copies were removed", n)
	}
}

// Copies are recognized by each usual heading of a file, in what users write and in results of any tool: of nine, one is
// sent, whatever the headings are, and the words around the others stay.
func TestP03NineCopiesUnderOneHeading(t *testing.T) {
	content := linesOf("x", 40)
	for name, form := range map[string]string{
		"the usual one":       "--- FULL CONTENT: a.go ---\n%s",
		"a leading symbol":    "📄 FULL CONTENT of file: a.go\n%s",
		"without of file":     "FULL CONTENT: a.go\n%s",
		"backticks":           "FULL CONTENT of file: `a.go`\n%s",
		"in lower case":       "full content of file: ./a.go\n%s",
		"with an end":         "FULL CONTENT of file: a.go\n%sEND FULL CONTENT\n",
		"a final content":     "<final_file_content path=\"a.go\">\n%s</final_file_content>\n",
		"a tag in upper case": "<FILE_CONTENT path='a.go'>\n%s</FILE_CONTENT>\n",
		"a result":            "[read_file for 'a.go'] Result:\n%s",
	} {
		for _, speaker := range []string{"user", "edit tool"} {
			m := manage(t, 400_000)
			m.ask("start")
			for i := range 9 {
				text := fmt.Sprintf("BEFORE %d\n"+form, i, content)
				switch speaker {
				case "user":
					m.ask(text)
					m.answer("fine")
				default:
					m.use("replace_in_file", map[string]any{"path": "a.go", "diff": "+x"}, text)
				}
			}
			m.ask("go on")
			_, b := m.request()
			sent := sentText(&b)
			if n := strings.Count(sent, "x 00020"); n != 1 {
				t.Errorf("%s of a %s: %d copies are sent", name, speaker, n)
			}
			if b.Counted > 1000 {
				t.Errorf("%s of a %s: %d tokens", name, speaker, b.Counted)
			}
			if n := strings.Count(sent, "BEFORE"); n != 9 {
				t.Errorf("%s of a %s: %d times the words before it", name, speaker, n)
			}
		}
	}
}

// A heading that is a text of its own belongs to the next text. One without any text is no copy, so that it replaces none.
func TestP03AHeadingInABlockOfItsOwn(t *testing.T) {
	content := linesOf("x", 40)
	texts := func(texts ...string) (blocks []history.Block) {
		for _, text := range texts {
			blocks = append(blocks, history.Block{Type: history.BlockText, Text: text})
		}
		return blocks
	}
	for name, tt := range map[string]struct {
		second []history.Block
		want   int
	}{
		"a file":          {texts("[read_file for 'a.go'] Result:", content), 1},
		"after a heading": {texts("FULL CONTENT of file: a.go\n", content), 1},
		"a failure":       {texts("[read_file for 'a.go'] Result:", "The tool execution failed with the following error:\nno such file"), 1},
		"nothing":         {texts("[read_file for 'a.go'] Result:\n"), 1},
	} {
		m := manage(t, 400_000)
		m.say(history.RoleUser, texts("[read_file for 'a.go'] Result:", content)...)
		m.answer("I see")
		m.say(history.RoleUser, tt.second...)
		m.answer("and again")
		m.ask("go on")
		_, b := m.request()
		if n := strings.Count(sentText(&b), "x 00020"); n != tt.want {
			t.Errorf("%s: %d copies are sent", name, n)
		}
	}
}

// The result of a tool that reads a file is its text, even if that contains the heading of another file.
func TestP03HeadingsInTheTextOfAFile(t *testing.T) {
	content := linesOf("x", 40) + "FULL CONTENT of file: b.go\n"
	m := manage(t, 400_000)
	m.ask("start")
	for range 2 {
		m.use("read_file", map[string]any{"path": "a.go"}, content)
	}
	m.ask("go on")
	_, b := m.request()
	if n := strings.Count(sentText(&b), "x 00020"); n != 1 || b.Changes.Dedupe[0].Origin != "a.go" {
		t.Errorf("%d copies are sent: %+v", n, b.Changes.Dedupe)
	}
}
