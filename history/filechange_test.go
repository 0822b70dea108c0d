package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
)

// digest returns the hash of a text, empty for no file.
func digest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// changed returns a change that is done. Its contents are texts, an empty one is no file.
func changed(id string, kind FileChangeKind, path, before, after string) FileChange {
	return FileChange{ID: id, Turn: "turn_a", Step: 1, Call: "tc_" + id, Seq: 1, Kind: kind, Path: path, Before: digest(before), After: digest(after),
		Mode: 0o644, State: FileChangeDone, HasBefore: before != "", HasAfter: after != ""}
}

// moved returns a move that is done. Its content is stored nowhere.
func moved(id, path, to, text string) FileChange {
	c := changed(id, FileMoved, path, text, text)
	c.To, c.HasBefore, c.HasAfter = to, false, false
	return c
}

// disk is a model of a file system: texts by path.
type disk map[string]string

func (d disk) now(path string) FileVersion {
	text, there := d[path]
	if !there {
		return FileVersion{}
	}
	return FileVersion{Hash: digest(text), Mode: 0o644}
}

func TestChangesThatContradictThemselvesAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(c *FileChange){
		"no id":              func(c *FileChange) { c.ID = "" },
		"no turn":            func(c *FileChange) { c.Turn = "" },
		"no path":            func(c *FileChange) { c.Path = "" },
		"no place":           func(c *FileChange) { c.Seq = 0 },
		"negative step":      func(c *FileChange) { c.Step = -1 },
		"mode with a type":   func(c *FileChange) { c.Mode = 1 << 31 },
		"unknown kind":       func(c *FileChange) { c.Kind = "chmod" },
		"unknown state":      func(c *FileChange) { c.State = "lost" },
		"short hash":         func(c *FileChange) { c.Before = "ab" },
		"hash in capitals":   func(c *FileChange) { c.After = strings.ToUpper(c.After) },
		"edit of nothing":    func(c *FileChange) { c.Before = "" },
		"edit to nothing":    func(c *FileChange) { c.After = "" },
		"edit with a target": func(c *FileChange) { c.To = "b" },
		"create of a file":   func(c *FileChange) { c.Kind = FileCreated },
		"delete to a file":   func(c *FileChange) { c.Kind = FileDeleted },
		"move that edits":    func(c *FileChange) { c.Kind, c.To = FileMoved, "b" },
		"move without path":  func(c *FileChange) { c.Kind, c.After = FileMoved, c.Before },
		"move to itself":     func(c *FileChange) { c.Kind, c.After, c.To = FileMoved, c.Before, c.Path },
	} {
		c := changed("fc_1", FileEdited, "a", "old", "new")
		if spoil(&c); c.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, c := range []FileChange{
		changed("fc_1", FileEdited, "a", "old", "new"), changed("fc_1", FileCreated, "a", "", "new"),
		changed("fc_1", FileDeleted, "a", "old", ""), moved("fc_1", "a", "b", "old"),
	} {
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzFileChangeCheck(f *testing.F) {
	for _, c := range []FileChange{changed("fc_1", FileEdited, "a", "old", "new"), moved("fc_2", "a", "b", "old")} {
		raw, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var c FileChange
		if json.Unmarshal(raw, &c) != nil || c.Check() != nil {
			return
		}
		there := disk{c.Path: "x"}
		c.State = FileChangeDone
		for _, f := range PlanRestore([]FileChange{c}, there.now).Files {
			if f.Outcome == FileRestored && f.Path == c.Path {
				t.Errorf("overwrites a file of others: %+v", f)
			}
		}
	})
}
