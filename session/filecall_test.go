package session

import (
	"encoding/json"
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
