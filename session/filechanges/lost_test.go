package filechanges

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/history"
)

// What a server that has ended left of a change is known from the files, also if it ended in the middle of a move.
func TestLostChangesAreSettledByTheirFiles(t *testing.T) {
	const before, after = "before", "after"
	for _, tt := range []struct {
		kind history.FileChangeKind
		now  map[string]string
		want string
	}{
		{history.FileEdited, map[string]string{"a": before}, "edit a not_done"},
		{history.FileEdited, map[string]string{"a": after}, "edit a done"},
		{history.FileEdited, map[string]string{"a": "else"}, "edit a unknown"},
		{history.FileEdited, nil, "edit a unknown"},
		{history.FileCreated, nil, "create a not_done"},
		{history.FileCreated, map[string]string{"a": after}, "create a done"},
		{history.FileDeleted, map[string]string{"a": before}, "delete a not_done"},
		{history.FileDeleted, nil, "delete a done"},
		{history.FileMoved, map[string]string{"a": before}, "move a b not_done"},
		{history.FileMoved, map[string]string{"b": before}, "move a b done"},
		{history.FileMoved, map[string]string{"a": before, "b": before}, "move a b not_done; create b done"},
		{history.FileMoved, map[string]string{"a": before, "b": "else"}, "move a b unknown"},
		{history.FileMoved, map[string]string{"a": "else", "b": before}, "move a b unknown"},
		{history.FileMoved, nil, "move a b unknown"},
	} {
		folder, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range tt.now {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		roots, err := filecontext.NewRoots(t.Context(), folder, nil, filecontext.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		planned := history.FileChange{
			ID: "fc_1", Turn: "turn_1", Call: "tc_1", Seq: 1, Kind: tt.kind, Path: filepath.Join(folder, "a"), State: history.FileChangePlanned,
		}
		if tt.kind != history.FileCreated {
			planned.Before = hashOf(before)
		}
		switch tt.kind {
		case history.FileMoved:
			planned.To, planned.After = filepath.Join(folder, "b"), planned.Before
		case history.FileDeleted:
		default:
			planned.After = hashOf(after)
		}
		settled, err := Lost(t.Context(), roots, []history.FileChange{planned})
		if err != nil {
			t.Fatal(err)
		}
		if got := told(settled); got != tt.want {
			t.Errorf("%s with %v: %q, want %q", tt.kind, tt.now, got, tt.want)
		}
		if settled, err = Lost(t.Context(), nil, []history.FileChange{planned}); err != nil || len(settled) != 1 || settled[0].State != history.FileChangeUnknown {
			t.Errorf("without a folder: %+v, %v", settled, err)
		}
	}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// told returns what records say, and what is wrong with them.
func told(records []history.FileChange) string {
	var all []string
	ids := make(map[string]bool)
	for _, r := range records {
		line := fmt.Sprint(r.Kind, " ", filepath.Base(r.Path))
		if r.To != "" {
			line += " " + filepath.Base(r.To)
		}
		line += " " + string(r.State)
		if err := r.Check(); err != nil || ids[r.ID] {
			line += fmt.Sprint(" of id ", r.ID, ": ", err)
		}
		ids[r.ID] = true
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}
