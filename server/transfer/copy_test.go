package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
)

// shown is what clients were shown of a call.
func shown() *history.CallShown {
	return &history.CallShown{Title: "Read a.go", Kind: "read", Locations: []history.Location{{Path: "/project/a.go", Line: 3}}}
}

// full returns the lines of a session with everything that an export has.
func full() []Line {
	reply := words(2, "second")
	reply.Role, reply.Turn = history.RoleAssistant, "turn_a"
	reply.Blocks = append(reply.Blocks, history.Block{Type: history.BlockToolCall, CallID: "c", Name: "read_file", Args: "{}"})
	result := words(3, "found")
	result.Role, result.Turn = history.RoleTool, "turn_a"
	result.Blocks = []history.Block{{Type: history.BlockToolResult, CallID: "c", Content: result.Blocks, Call: shown()}}
	lines := firstLines(words(1, "first"), reply, result)
	lines[0].Header.Session.Roots = []string{"/further"}
	lines[0].Header.Session.DeletedAt = noon
	return append(lines,
		Line{Type: "edit", Edit: &history.Edit{ID: "edit_a", Seq: 4, Kind: history.EditClear, At: noon, Messages: []string{"msg_1"}}},
		Line{Type: "file", File: &File{Path: "a.go", State: json.RawMessage(`{}`), Buffer: []byte("unsaved")}},
		Line{Type: "call", Call: &history.Call{ID: "call_a", Turn: "turn_a", Step: 2, Purpose: history.PurposeTurn, Model: "local/m", At: noon}},
	)
}

// imported imports lines and returns the id of the session.
func imported(t *testing.T, in *Importer, page ImportPage) string {
	t.Helper()
	page.Done = true
	result, err := in.Import(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	return result.SessionID
}

// exported returns all lines of a session's export.
func exported(t *testing.T, in *Importer, id string) (all []Line) {
	t.Helper()
	for cursor, first := "", true; first || cursor != ""; first = false {
		page, err := Export(t.Context(), in.Store, id, cursor)
		if err != nil {
			t.Fatal(err)
		}
		if page.NextCursor == cursor {
			t.Fatalf("the cursor %q leads to itself", cursor)
		}
		all, cursor = append(all, page.Lines...), page.NextCursor
	}
	return all
}

// An import is a session of its own with all that was exported: its ids are new, and refer to each other as before.
func TestAnImportHasAllThatWasExported(t *testing.T) {
	in := newTestImporter(t)
	lines := exported(t, in, imported(t, in, ImportPage{Lines: full()}))
	var types []string
	var turns, ids []string
	for _, line := range lines {
		types = append(types, line.Type)
		switch {
		case line.Header != nil:
			if s := line.Header.Session; s.Title != "Old" || !slices.Equal(s.Roots, []string{"/further"}) || !s.DeletedAt.IsZero() || s.Messages != 3 {
				t.Errorf("the record is %+v", s)
			}
		case line.Message != nil:
			ids = append(ids, line.Message.ID)
			if line.Message.Role == history.RoleTool {
				if diff := cmp.Diff(shown(), line.Message.Blocks[0].Call); diff != "" {
					t.Error(diff)
				}
			}
			if line.Message.Turn != "" {
				turns = append(turns, line.Message.Turn)
			}
		case line.Call != nil:
			turns = append(turns, line.Call.Turn)
			if line.Call.Step != 2 {
				t.Errorf("the call belongs to step %d", line.Call.Step)
			}
			if line.Call.ID == "call_a" || !strings.HasPrefix(line.Call.ID, "call_") {
				t.Errorf("the call has the id %s", line.Call.ID)
			}
		case line.File != nil:
			if string(line.File.Buffer) != "unsaved" || line.File.Path != "a.go" {
				t.Errorf("the file is %+v", line.File)
			}
		}
	}
	if diff := cmp.Diff([]string{"header", "edit", "file", "message", "message", "message", "call"}, types); diff != "" {
		t.Error(diff)
	}
	if len(turns) != 3 || turns[0] != turns[1] || turns[0] != turns[2] || turns[0] == "turn_a" {
		t.Errorf("the reply, its result and its call are of the turns %q", turns)
	}
	if edit := lines[1].Edit; len(ids) != 3 || !slices.Equal(edit.Messages, ids[:1]) || ids[0] == "msg_1" {
		t.Errorf("the edit is of %q, the messages are %q", edit.Messages, ids)
	}
	moved := exported(t, in, imported(t, in, ImportPage{Lines: full(), CWD: "/elsewhere"}))
	if s := moved[0].Header.Session; s.CWD != "/elsewhere" || len(s.Roots) != 0 {
		t.Errorf("in another folder the record is %+v", s)
	}
}

func TestLinesThatAreRefused(t *testing.T) {
	in := newTestImporter(t)
	without, role, meta := words(0, "x"), words(1, "x"), words(1, "x")
	role.Role, meta.Meta = "system", json.RawMessage(`{"progressScore": "high"}`)
	call, result := words(1, "x"), words(2, "x")
	call.Role, call.Blocks = history.RoleAssistant, []history.Block{{Type: history.BlockToolCall, CallID: "c", Name: "read_file"}}
	result.Role = history.RoleTool
	result.Blocks = []history.Block{{Type: history.BlockToolResult, CallID: "c", Call: &history.CallShown{Title: strings.Repeat("x", 5000)}}}
	newer := firstLines()
	newer[0].Header.Version = Version + 1
	long := append(firstLines(), make([]Line, maxImportLines-1)...)
	for name, tt := range map[string]struct {
		lines []Line
		want  string
	}{
		"no number":              {firstLines(without), "params.lines[1].message.seq: must be a whole number from 1"},
		"no role":                {firstLines(role), "params.lines[1].message.role: must be user, assistant or tool"},
		"meta":                   {firstLines(meta), "params.lines[1].message.meta.progressScore: must be a number"},
		"a long title":           {firstLines(call, result), "params.lines[2].message.blocks[0].call.title: 5000 bytes exceeds the limit of 4096"},
		"an edit of no number":   {append(firstLines(), Line{Edit: &history.Edit{ID: "edit_a"}}), "params.lines[1].edit.seq: must be"},
		"a newer version":        {newer, "version 2 is newer than version 1"},
		"as many lines as may":   {long, `unknown line type ""`},
		"one more line than may": {append(long, Line{}), "lines: 20001 exceeds the limit of 20000"},
	} {
		_, err := in.Import(t.Context(), ImportPage{Lines: tt.lines})
		if fault, ok := errors.AsType[*rpc.Error](err); !ok || fault.Code != rpc.CodeInvalidParams || !strings.Contains(fault.Message, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The sessions under construction are limited; one that is complete makes room.
func TestImportsAndForksAreLimited(t *testing.T) {
	in := newTestImporter(t)
	source := stateOf(t, in, imported(t, in, ImportPage{Lines: full()}))
	for range maxOpen + 1 { // none of them stays open
		if _, err := in.Fork(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		imported(t, in, ImportPage{Lines: full()})
	}
	var open []string
	for range maxOpen {
		begun, err := in.Import(t.Context(), ImportPage{Lines: firstLines()})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, begun.ImportID)
	}
	_, first := in.Import(t.Context(), ImportPage{Lines: firstLines()})
	_, second := in.Fork(t.Context(), source)
	for _, err := range []error{first, second} {
		if fault, ok := errors.AsType[*rpc.Error](err); !ok || fault.Code != wire.CodeBusy {
			t.Errorf("one more is refused with %v", err)
		}
	}
	if _, err := in.Import(t.Context(), ImportPage{ImportID: open[0], Done: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Fork(t.Context(), source); err != nil {
		t.Errorf("after one was completed: %v", err)
	}
}

// stateOf returns the whole state of a session, with a checkpoint.
func stateOf(t *testing.T, in *Importer, id string) session.Fork {
	t.Helper()
	l, err := in.Store.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	l.Checkpoints = []history.Checkpoint{{ID: "cp_a", Seq: 1, Name: "before", At: noon}}
	l.Documents = []history.Document{{Name: "design", Text: "text", At: noon}}
	return session.Fork{Loaded: l, Seq: 4}
}

func TestAForkHasItsSourcesState(t *testing.T) {
	in := newTestImporter(t)
	source := imported(t, in, ImportPage{Lines: full()})
	record, err := in.Fork(t.Context(), stateOf(t, in, source))
	if err != nil || record.ID == source || record.Messages != 3 || record.Title != "Old" {
		t.Fatalf("%+v, %v", record, err)
	}
	l, err := in.Store.Load(t.Context(), record.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Heads) != 3 || len(l.Edits) != 1 || len(l.Files) != 1 || len(l.Documents) != 1 || l.Edits[0].Messages[0] != l.Heads[0].ID {
		t.Errorf("%+v", l)
	}
	if len(l.Checkpoints) != 1 || l.Checkpoints[0].Name != "before" || l.Checkpoints[0].ID == "cp_a" || l.Checkpoints[0].Seq != 1 {
		t.Errorf("checkpoints %+v", l.Checkpoints)
	}
}

// fileChange returns the creation of a file with a text, and its content.
func fileChange(seq int64, text string) (history.FileChange, history.Blob) {
	sum := sha256.Sum256([]byte(text))
	content := history.Blob{Hash: hex.EncodeToString(sum[:]), Bytes: []byte(text)}
	return history.FileChange{ID: fmt.Sprint("fc_", seq), Turn: "turn_a", Step: 1, Call: fmt.Sprint("tc_", seq), Seq: seq,
		Kind: history.FileCreated, Path: "/project/" + text, After: content.Hash, Mode: 0o644, At: noon, State: history.FileChangeDone}, content
}

// withFileChanges stores a session with a file change at each of the places 1 to n.
func withFileChanges(t *testing.T, in *Importer, n int64) (source string) {
	t.Helper()
	source = imported(t, in, ImportPage{Lines: full()})
	for seq := range n {
		c, content := fileChange(seq+1, fmt.Sprint("text ", seq+1))
		ch := history.Change{Session: source, PutFileChanges: []history.FileChange{c}, FileImages: []history.Blob{content}}
		if err := in.Store.Commit(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
	}
	return source
}

// A fork can put back the files that were changed up to its place, also when its source is gone.
func TestAForkHasTheFileChangesUpToItsPlace(t *testing.T) {
	in := newTestImporter(t)
	source := withFileChanges(t, in, 4)
	state := stateOf(t, in, source)
	state.Seq = 3
	record, err := in.Fork(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Store.Delete(t.Context(), source, noon); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Store.Purge(t.Context(), noon.Add(1)); err != nil {
		t.Fatal(err)
	}
	changes, err := in.Store.FileChangeStore().List(t.Context(), record.ID, history.FileChangeQuery{})
	if err != nil || len(changes) != 3 {
		t.Fatalf("%+v, error %v", changes, err)
	}
	turn := ownID(record.ID, "turn_a")
	for i, c := range changes {
		want, content := fileChange(int64(i+1), fmt.Sprint("text ", i+1))
		want.ID, want.Turn, want.HasAfter = ownID(record.ID, want.ID), turn, true
		if diff := cmp.Diff(want, c); diff != "" {
			t.Error(diff)
		}
		images, err := in.Store.FileChangeStore().Images(t.Context(), record.ID, []string{c.After})
		if err != nil || !bytes.Equal(images[c.After], content.Bytes) {
			t.Errorf("image %q, error %v", images, err)
		}
	}
}

func TestAnExportHasNoFileChanges(t *testing.T) {
	in := newTestImporter(t)
	with, without := exported(t, in, withFileChanges(t, in, 2)), exported(t, in, imported(t, in, ImportPage{Lines: full()}))
	if len(with) != len(without) {
		t.Errorf("%d lines with file changes, %d without", len(with), len(without))
	}
}

// dying is a context that is cancelled when it has been asked so many times.
type dying struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (d *dying) spend() {
	if d.left.Add(-1) < 0 {
		d.cancel()
	}
}

func (d *dying) Done() <-chan struct{} { d.spend(); return d.Context.Done() }
func (d *dying) Err() error            { d.spend(); return d.Context.Err() }

// A client can leave at any time: a fork that is cancelled removes what it has stored.
func TestAForkThatIsCancelledLeavesNothing(t *testing.T) {
	in := newTestImporter(t)
	var log bytes.Buffer
	in.Log = slog.New(slog.NewTextHandler(&log, nil))
	source := stateOf(t, in, withFileChanges(t, in, 2))
	cancelled := 0
	for n := range int64(1000) {
		ctx, cancel := context.WithCancel(t.Context())
		d := &dying{Context: ctx, cancel: cancel}
		d.left.Store(n)
		_, err := in.Fork(d, source)
		cancel()
		if err == nil {
			break
		}
		cancelled++
	}
	if cancelled < 2 || cancelled == 1000 || log.Len() > 0 || len(in.open) > 0 {
		t.Errorf("%d forks were cancelled, %d are open: %s", cancelled, len(in.open), log.String())
	}
}

// A page of an export ends after the line that reaches its size, and after so many lines.
func TestPagesOfAnExport(t *testing.T) {
	heads := func(n, bytes int) (all []history.Head) {
		for i := range n {
			all = append(all, history.Head{ID: fmt.Sprint("msg_", i), Seq: int64(i + 1), Bytes: bytes})
		}
		return all
	}
	for _, tt := range []struct{ n, bytes, want int }{
		{0, 0, 0}, {1, 10 * pageBytes, 1}, {5, pageBytes / 2, 2}, {5, pageBytes/2 - 1, 3}, {pageLines, 1, pageLines}, {pageLines + 1, 1, pageLines},
	} {
		seqs, rest := page(heads(tt.n, tt.bytes))
		if len(seqs) != tt.want || len(rest) != tt.n-tt.want {
			t.Errorf("%d messages of %d bytes: %d on the page, %d left", tt.n, tt.bytes, len(seqs), len(rest))
		}
	}
}
