package transfer

import (
	"strings"
	"testing"

	"strata/history"
	"strata/rpc"
)

// called returns a message with a call, answered one with a result.
func called(seq int64, id string) history.Message {
	m := words(seq, "")
	m.Role, m.Blocks = history.RoleAssistant, []history.Block{{Type: history.BlockToolCall, CallID: id, Name: "look", Args: "{}"}}
	return m
}

func answered(seq int64, id string) history.Message {
	m := words(seq, "")
	m.Role, m.Blocks = history.RoleTool, []history.Block{{Type: history.BlockToolResult, CallID: id}}
	return m
}

func restored(seq, to int64) Line {
	return Line{Type: "edit", Edit: &history.Edit{ID: "edit_r", Seq: seq, Kind: history.EditRestore, To: to}}
}

// An import with a result for a call that does not exist, or with a second result, is refused with the place of the result,
// across pages too. A page can be sent again. If an earlier state was restored, a call can have another result.
func TestF21ImportsOfResults(t *testing.T) {
	for name, tt := range map[string]struct {
		pages [][]history.Message
		edits []Line
		want  string // a part of the error of the last page; empty: none
	}{
		"paired":             {[][]history.Message{{words(1, "go"), called(2, "c1"), answered(3, "c1")}}, nil, ""},
		"on two pages":       {[][]history.Message{{words(1, "go"), called(2, "c1")}, {answered(3, "c1")}}, nil, ""},
		"missing and late":   {[][]history.Message{{words(1, "go"), called(2, "c1"), words(3, "so"), answered(4, "c1")}}, nil, ""},
		"of nobody":          {[][]history.Message{{words(1, "go"), answered(2, "c1")}}, nil, "lines[2].message.blocks[0].callId"},
		"second":             {[][]history.Message{{called(1, "c1"), answered(2, "c1"), answered(3, "c1")}}, nil, "lines[3].message.blocks[0].callId"},
		"second on page two": {[][]history.Message{{called(1, "c1"), answered(2, "c1")}, {words(3, "x"), answered(4, "c1")}}, nil, "lines[1].message.blocks[0].callId"},
		"after a restore":    {[][]history.Message{{called(1, "c1"), answered(2, "c1")}, {answered(4, "c1")}}, []Line{restored(3, 1)}, ""},
		"restored before":    {[][]history.Message{{called(2, "c1"), answered(3, "c1")}, {answered(4, "c1")}}, []Line{restored(1, 0)}, "lines[0].message.blocks[0].callId"},
	} {
		in := newTestImporter(t)
		id := ""
		for i, page := range tt.pages {
			lines := firstLines(page...)
			if i > 0 {
				lines = lines[1:]
			} else {
				lines = append(lines, tt.edits...)
				if len(tt.edits) > 0 { // edits come first
					lines = append(append(lines[:1:1], tt.edits...), lines[1:1+len(page)]...)
				}
			}
			last := i == len(tt.pages)-1
			for range 2 { // the second time it is stored already
				result, err := in.Import(t.Context(), ImportPage{ImportID: id, Lines: lines})
				if last && tt.want != "" {
					fault, ok := err.(*rpc.Error)
					if !ok || fault.Code != rpc.CodeInvalidParams || !strings.Contains(fault.Message, tt.want) {
						t.Errorf("%s: %v, want %q", name, err, tt.want)
					}
					break
				}
				if err != nil {
					t.Fatalf("%s, page %d: %v", name, i, err)
				}
				if id == "" {
					id = result.ImportID
					break // a first page makes another session
				}
			}
		}
	}
}
