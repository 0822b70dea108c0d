package history

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fileLines() *FileLines {
	return &FileLines{Path: "a.go", Version: "v", Lines: []Lines{{Start: 2, End: 5}}, Of: 9}
}

func resultOf(content ...Block) Message {
	return Message{ID: "msg_1", Role: RoleTool, Blocks: []Block{{Type: BlockToolResult, CallID: "tc_1", Content: content}}}
}

func TestTypedLinesAreStored(t *testing.T) {
	m := resultOf(Block{Type: BlockText, Text: "x", File: fileLines()}, Block{Type: BlockText, Text: "y", Shows: []FileLines{*fileLines()}})
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Message
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, back); diff != "" {
		t.Error(diff)
	}
	plain, err := json.Marshal(Block{Type: BlockText, Text: "x"})
	if err != nil || string(plain) != `{"type":"text","text":"x"}` {
		t.Errorf("a plain text is stored as %s, %v", plain, err)
	}
}

func TestAPatchedTextShowsNoLines(t *testing.T) {
	m := resultOf(Block{Type: BlockText, Text: "x", File: fileLines()}, Block{Type: BlockText, Text: "y", Shows: []FileLines{*fileLines(), *fileLines()}})
	for _, tt := range []struct {
		patches []Patch
		want    int
	}{
		{nil, 3},
		{[]Patch{{Message: "msg_1", Part: 0, Text: "shorter"}}, 2},
		{[]Patch{{Message: "msg_1", Part: 1, Text: "shorter"}}, 1},
	} {
		if shown := ShownLines([]Message{Patched(m, tt.patches)}); len(shown) != tt.want {
			t.Errorf("%v: %v", tt.patches, shown)
		}
	}
	if shown := ShownLines([]Message{{Role: RoleUser, Blocks: []Block{{Type: BlockText, Text: "x", File: fileLines()}}}}); len(shown) > 0 {
		t.Errorf("a text outside a result shows %v", shown)
	}
}

func TestClientsCannotClaimThatLinesWereShown(t *testing.T) {
	m := resultOf(Block{Type: BlockText, Text: "x", File: fileLines(), Shows: []FileLines{*fileLines()}})
	blocks, err := CheckBlocks(RoleTool, m.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	if shown := ShownLines([]Message{{Role: RoleTool, Blocks: blocks}}); len(shown) > 0 {
		t.Errorf("an appended message shows %v", shown)
	}
}

func TestLinesThatAreTheWholeFile(t *testing.T) {
	for _, tt := range []struct {
		file FileLines
		want bool
	}{
		{FileLines{}, true},
		{FileLines{Lines: []Lines{{1, 9}}, Of: 9}, true},
		{FileLines{Lines: []Lines{{1, 8}}, Of: 9}, false},
		{FileLines{Lines: []Lines{{2, 9}}, Of: 9}, false},
		{FileLines{Lines: []Lines{{1, 4}, {6, 9}}, Of: 9}, false},
		{FileLines{Of: 9}, false},
	} {
		if tt.file.Whole() != tt.want {
			t.Errorf("%+v is whole: %v", tt.file, !tt.want)
		}
	}
}

func TestLinesThatAChangeCarries(t *testing.T) {
	c := Derivation{Hunks: []LineHunk{
		{OldStart: 3, OldLines: 2, NewStart: 3, NewLines: 1}, // 3, 4 -> 3
		{OldStart: 7, OldLines: 0, NewStart: 6, NewLines: 3}, // before 7
		{OldStart: 9, OldLines: 1, NewStart: 11, NewLines: 0},
	}}
	for _, tt := range []struct{ lines, want []Lines }{
		{nil, nil},
		{[]Lines{{1, 2}}, []Lines{{1, 2}}},
		{[]Lines{{1, 3}}, []Lines{{1, 2}}},
		{[]Lines{{3, 4}}, nil},
		{[]Lines{{4, 6}}, []Lines{{4, 5}}},
		{[]Lines{{5, 8}}, []Lines{{4, 5}, {9, 10}}},
		{[]Lines{{9, 9}, {12, 20}}, []Lines{{13, 21}}},
		{[]Lines{{1, 20}}, []Lines{{1, 2}, {4, 5}, {9, 10}, {11, 21}}},
	} {
		if got := c.Carried(tt.lines); !slices.Equal(got, tt.want) {
			t.Errorf("%v are carried to %v, want %v", tt.lines, got, tt.want)
		}
	}
}
