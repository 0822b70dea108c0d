package filecontext

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestExportedFilesAreRestored(t *testing.T) {
	f := New()
	folding := text("Folding", "x")
	folding.foldsCase = true
	put(t, f, folding, AddOptions{State: SummaryOnly, Reason: "asked for", Once: true, LineNumbers: true})
	put(t, f, text("range", "1\n2\n3\n"), AddOptions{Range: Range{2, 3}})
	put(t, f, text("unsaved", "text"), AddOptions{Unsaved: true})
	put(t, f, text("unsaved and empty", ""), AddOptions{Unsaved: true})
	put(t, f, text("sent", "x"), AddOptions{})
	f.MarkSent("sent", "abc", true)
	e := put(t, f, text("unreadable", "x"), AddOptions{})
	f.Apply([]Change{{Path: e.Path, Kind: Unreadable, Reason: ReasonDirectory, version: e.version}})

	restored, err := Restore(stored(f))
	must(t, err)
	want := f.List()
	for i := range want {
		if !want[i].Unsaved {
			want[i].Text = "" // not stored
		}
	}
	same := cmp.Options{cmp.AllowUnexported(Content{}), cmpopts.IgnoreUnexported(Entry{}), cmpopts.IgnoreFields(Content{}, "stamp")}
	if diff := cmp.Diff(want, restored.List(), same); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(stored(f), stored(restored)); diff != "" {
		t.Errorf("exported again (-want +got):\n%s", diff)
	}
	if !restored.Remove("FOLDING") {
		t.Error("the disk no longer folds case")
	}
}

func TestOnlyUnsavedTextsAreStored(t *testing.T) {
	if file := put(t, New(), text("a", "secret"), AddOptions{}).Stored(); file.Buffer != nil || strings.Contains(string(file.State), "secret") {
		t.Errorf("stored %+v", file)
	}
	if file := put(t, New(), text("a", "typed"), AddOptions{Unsaved: true}).Stored(); string(file.Buffer) != "typed" {
		t.Errorf("stored %+v", file)
	}
}

func TestRestoreOmitsDamagedFiles(t *testing.T) {
	good := StoredFile{Path: "good", State: json.RawMessage(`{"state":"full","hash":"abc","size":3,"lines":1}`)}
	for name, bad := range map[string]StoredFile{
		"not JSON":       {Path: "bad", State: json.RawMessage(`{"state":`)},
		"no state":       {Path: "bad"},
		"unknown state":  {Path: "bad", State: json.RawMessage(`{"state":"everything"}`)},
		"no path":        {State: good.State},
		"NUL in path":    {Path: "b\x00", State: good.State},
		"long path":      {Path: strings.Repeat("a", maxPath+1), State: good.State},
		"backward range": {Path: "bad", State: json.RawMessage(`{"state":"partial","range":{"start":3,"end":1}}`)},
		"negative size":  {Path: "bad", State: json.RawMessage(`{"state":"full","size":-1}`)},
		"broken text":    {Path: "bad", State: json.RawMessage(`{"state":"full","unsaved":true}`), Buffer: []byte("\xff")},
		"twice":          good,
		"too much text": {Path: "bad", State: json.RawMessage(`{"state":"full","unsaved":true}`),
			Buffer: []byte(strings.Repeat("a", MaxBufferBytes+1))},
	} {
		f, err := Restore([]StoredFile{good, bad})
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: error %v", name, err)
		}
		if _, ok := f.Get("good"); !ok || len(f.List()) != 1 {
			t.Errorf("%s: restored %v", name, paths(f.List()))
		}
	}
}

func TestRestoreIsBounded(t *testing.T) {
	var files []StoredFile
	for i := range MaxFiles + 1 {
		files = append(files, StoredFile{Path: fmt.Sprint(i), State: json.RawMessage(`{"state":"full"}`)})
	}
	if f, err := Restore(files); err == nil || len(f.List()) != MaxFiles {
		t.Errorf("restored %d, %v", len(f.List()), err)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add("a", []byte(`{"state":"full","range":{"start":1,"end":2},"unsaved":true}`), []byte("text"))
	f.Add("b", []byte(`{"state":"partial","problem":"missing","lines":3}`), []byte(nil))
	f.Fuzz(func(t *testing.T, path string, state, buffer []byte) {
		set, err := Restore([]StoredFile{{Path: path, State: state, Buffer: buffer}})
		if (err == nil) != (len(set.List()) == 1) {
			t.Errorf("restored %d files, %v", len(set.List()), err)
		}
		for _, e := range set.List() {
			e.Render()
			again, err := Restore([]StoredFile{e.Stored()})
			if err != nil {
				t.Fatalf("the stored files cannot be restored: %v", err)
			}
			if diff := cmp.Diff(stored(set), stored(again)); diff != "" {
				t.Errorf("exported again (-want +got):\n%s", diff)
			}
		}
	})
}

// stored returns the stored form of all files of a set.
func stored(f *FileContext) []StoredFile {
	var out []StoredFile
	for _, e := range f.List() {
		out = append(out, e.Stored())
	}
	return out
}
