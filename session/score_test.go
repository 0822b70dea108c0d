package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/session/fit"
	"strata/session/workspace"
)

// touch changes the content of a file.
func (m *managed) touch(name string) {
	m.t.Helper()
	m.write(name, linesOf(fmt.Sprint("touched", m.nextID), 60))
	m.nextID++
}

// leftFiles returns the files that the next request omits, by path.
func (m *managed) leftFiles() []string {
	m.t.Helper()
	_, b := m.build()
	return slices.DeleteFunc(keysOf(b.Omitted), func(key string) bool { return !strings.HasPrefix(key, "file:") })
}

func TestPinnedFilesAreNotEvicted(t *testing.T) {
	m := manage(t, 4000)
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		m.write(name, linesOf(name, 60))
		pinned := name == "a.go"
		m.attach(workspace.FileRequest{Path: name, Pinned: &pinned}) // the oldest, which would be evicted first
	}
	m.ask("start")
	m.request()
	m.answer("yes")
	unsaved := linesOf("a.go", 61)
	m.attach(workspace.FileRequest{Path: "a.go", Content: &unsaved}) // by a prompt, which does not unpin it
	again := m.restarted()
	for name, m := range map[string]*managed{"running": m, "restarted": again} {
		m.document("notes", wordsOf(1700), true) // two of the files must be evicted
		m.ask("and now?")
		if diff := cmp.Diff([]string{"file:b.go", "file:c.go"}, m.leftFiles()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFilesNotTouchedLatelyGoFirst(t *testing.T) {
	m := manage(t, 4000)
	for _, name := range []string{"c.go", "a.go", "b.go"} { // in this order
		m.add(name, linesOf(name, 60))
	}
	m.ask("start")
	for i := range fit.TouchedRequests {
		for _, name := range []string{"a.go", "b.go", "c.go"} {
			if e, _ := m.file(name); fit.FilePriority(&e) != fit.PriorityFile {
				t.Errorf("after %d requests %s has %d", i, name, fit.FilePriority(&e))
			}
		}
		m.request()
		m.answer("yes")
		m.ask("more")
	}
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		if e, _ := m.file(name); fit.FilePriority(&e) != fit.PriorityOldFile {
			t.Errorf("%s has %d", name, fit.FilePriority(&e))
		}
	}
	m.touch("a.go")
	m.request()
	m.answer("yes")
	again := m.restarted()
	for name, m := range map[string]*managed{"running": m, "restarted": again} {
		m.document("notes", wordsOf(1480), true) // 1,480 of 3,000 tokens: two of the files must be evicted
		m.ask("and now?")
		if diff := cmp.Diff([]string{"file:b.go", "file:c.go"}, m.leftFiles()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
