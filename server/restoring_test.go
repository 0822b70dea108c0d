package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/server/wire"
	"strata/session/restoring"
)

// restoredFiles is the result of a method that puts files back.
type restoredFiles struct {
	Seq     int64            `json:"seq"`
	Removed int              `json:"removed"`
	Files   []restoring.File `json:"files"`
	Note    string           `json:"note"`
}

func (r restoredFiles) outcomes() string {
	var lines []string
	for _, f := range r.Files {
		lines = append(lines, filepath.Base(f.Path)+" "+string(f.Outcome)+" "+string(f.Change))
	}
	return strings.Join(lines, "; ")
}

// startEditing starts a server with a session whose model edits files without asking.
func startEditing(t *testing.T) (*askable, *testclient.Editor, string) {
	t.Helper()
	ts := startActing(t)
	ts.write("a.txt", "one\n")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if err := e.Call("session/set_config_option", map[string]any{"sessionId": sid, "configId": "approval", "value": "edits"}, nil); err != nil {
		t.Fatal(err)
	}
	return ts, e, sid
}

func (ts *askable) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(ts.work, name))
	if os.IsNotExist(err) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The changes of a turn are listed with their diffs, and taken back: all with the view, or each by itself.
func TestFileChangesAreListedAndTakenBack(t *testing.T) {
	t.Parallel()
	ts, e, sid := startEditing(t)
	mustPrompt(t, e, sid, `call read_file {"path": "a.txt"}`)
	mustPrompt(t, e, sid, "call edit_file {\"path\": \"a.txt\", \"edits\": [{\"old_text\": \"one\", \"new_text\": \"two\"}]}\n"+
		`call write_file {"path": "b.txt", "content": "new\n"}`)
	listed := call[wire.ChangesPage](ts.testServer, e, "_strata/turn/changes", sid, nil)
	if len(listed.Changes) != 2 {
		t.Fatalf("%+v", listed)
	}
	edit, create := listed.Changes[0], listed.Changes[1]
	if edit.Kind != "edit" || edit.State != "done" || !edit.HasBefore || !edit.HasAfter || edit.Diff == nil || edit.Diff.Hunks[0].New != "two\n" {
		t.Errorf("edit: %+v, %+v", edit.FileChange, edit.Diff)
	}
	if create.Kind != "create" || create.Before != "" || create.Diff == nil || !create.Diff.Created {
		t.Errorf("create: %+v, %+v", create.FileChange, create.Diff)
	}
	same := call[wire.ChangesPage](ts.testServer, e, "_strata/turn/changes", sid, map[string]any{"turnId": edit.Turn})
	if !slices.EqualFunc(same.Changes, listed.Changes, func(a, b restoring.Change) bool { return a.FileChange == b.FileChange }) {
		t.Errorf("of the turn: %+v", same)
	}

	preview := call[restoredFiles](ts.testServer, e, "_strata/changes/revert", sid, map[string]any{"changeIds": []string{create.ID}, "preview": true})
	if preview.outcomes() != "b.txt restored deleted" || ts.text(t, "b.txt") != "new\n" {
		t.Errorf("preview: %+v", preview)
	}
	reverted := call[restoredFiles](ts.testServer, e, "_strata/changes/revert", sid, map[string]any{"changeIds": []string{create.ID}})
	if reverted.outcomes() != "b.txt restored deleted" || ts.text(t, "b.txt") != "none" || reverted.Note != "" {
		t.Errorf("revert: %+v", reverted)
	}

	var messages []string
	for _, m := range transcript(t, e, sid) {
		messages = append(messages, m.ID)
	}
	restore := map[string]any{"beforeMessageId": messages[4], "files": true}
	restored := call[restoredFiles](ts.testServer, e, "_strata/checkpoint/restore", sid, restore)
	if restored.outcomes() != "a.txt restored put_back" || restored.Note != restoring.Note || ts.text(t, "a.txt") != "one\n" {
		t.Errorf("restore: %+v", restored)
	}
	undone := call[restoredFiles](ts.testServer, e, "_strata/checkpoint/undo", sid, nil)
	if undone.outcomes() != "a.txt restored put_back" || ts.text(t, "a.txt") != "two\n" || ts.text(t, "b.txt") != "none" {
		t.Errorf("undo: %+v", undone)
	}
	forward := map[string]any{"changeIds": []string{create.ID}, "forward": true}
	if r := call[restoredFiles](ts.testServer, e, "_strata/changes/revert", sid, forward); r.outcomes() != "b.txt restored created" || ts.text(t, "b.txt") != "new\n" {
		t.Errorf("forward: %+v", r)
	}

	for name, params := range map[string]map[string]any{
		"no ids": {"changeIds": []string{}}, "an unknown id": {"changeIds": []string{"fc_x"}}, "too many ids": {"changeIds": make([]string, 1001)},
	} {
		params["sessionId"] = sid
		if err := e.Call("_strata/changes/revert", params, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A fork has the changes up to its place, and takes back its own ones only.
func TestAForkTakesBackItsOwnChanges(t *testing.T) {
	t.Parallel()
	ts, e, sid := startEditing(t)
	mustPrompt(t, e, sid, `call write_file {"path": "b.txt", "content": "new\n"}`)
	var fork struct {
		SessionID string `json:"sessionId"`
	}
	if err := e.Call("session/fork", map[string]any{"sessionId": sid, "cwd": ts.work}, &fork); err != nil {
		t.Fatal(err)
	}
	listed := call[wire.ChangesPage](ts.testServer, e, "_strata/turn/changes", fork.SessionID, nil)
	if len(listed.Changes) != 1 || listed.Changes[0].Diff == nil {
		t.Fatalf("%+v", listed)
	}
	revert := map[string]any{"changeIds": []string{listed.Changes[0].ID}}
	if r := call[restoredFiles](ts.testServer, e, "_strata/changes/revert", fork.SessionID, revert); r.outcomes() != "b.txt restored deleted" {
		t.Errorf("%+v", r)
	}
	restored := call[restoredFiles](ts.testServer, e, "_strata/checkpoint/restore", sid, map[string]any{"seq": 1, "files": true})
	if restored.outcomes() != "b.txt unchanged " || ts.text(t, "b.txt") != "none" {
		t.Errorf("%+v", restored)
	}
}
