package finding

import (
	"fmt"
	"testing"

	"strata/history"
	"strata/historystore/fulltext"
)

// Each block that a reader can see is searched in the form in which it is shown.
func TestEveryKindOfBlockIsSearched(t *testing.T) {
	m := history.Message{ID: "msg_1", Seq: 7, Role: history.RoleAssistant, Blocks: []history.Block{
		{Type: history.BlockText, Text: "a **nee**dle and a Needle"},
		{Type: history.BlockThinking, Text: "needle?"},
		{Type: history.BlockLink, URI: "file:///needle", Name: "needle.go"},
		{Type: history.BlockResource, URI: "file:///a", Text: "in a needle"},
		{Type: history.BlockToolCall, Name: "needle_tool", Args: `{"needle": "a \"needle\"\nneedle", "n": 12}`},
		{Type: history.BlockToolCall, Name: "cut", Args: `{"text": "needle`, Incomplete: true},
		{Type: history.BlockToolResult, Content: []history.Block{{Type: history.BlockText, Text: "no"}, {Type: history.BlockText, Text: "needle"}}},
		{Type: history.BlockImage, Data: []byte("needle")},
	}}
	got := fmt.Sprint(appendPlaces(nil, &m, fulltext.NewPhrase("needle")))
	want := fmt.Sprint([]Place{
		{"msg_1", 7, "assistant", "text", 0, 0, 2}, {"msg_1", 7, "assistant", "thinking", 1, 0, 1}, {"msg_1", 7, "assistant", "resource_link", 2, 0, 1},
		{"msg_1", 7, "assistant", "resource", 3, 0, 1}, {"msg_1", 7, "assistant", "tool_call", 4, 0, 4}, {"msg_1", 7, "assistant", "tool_call", 5, 0, 1},
		{"msg_1", 7, "assistant", "tool_result", 6, 1, 1},
	})
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
