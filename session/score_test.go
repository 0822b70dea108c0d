package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// touch gives what is shown of a file another content.
func (m *managed) touch(name string) {
	m.t.Helper()
	m.write(name, linesOf(fmt.Sprint("touched", m.nextID), 60))
	m.nextID++
}

// leftFiles returns the files that the next request leaves out, by path.
func (m *managed) leftFiles() []string {
	m.t.Helper()
	_, b := m.build()
	return slices.DeleteFunc(keysOf(b.leftOut), func(key string) bool { return !strings.HasPrefix(key, "file:") })
}

func TestFilesNotTouchedLatelyGoFirst(t *testing.T) {
	m := manage(t, 4000)
	for _, name := range []string{"c.go", "a.go", "b.go"} { // in this order
		m.add(name, linesOf(name, 60))
	}
	m.ask("start")
	for i := range touchedRequests {
		for _, name := range []string{"a.go", "b.go", "c.go"} {
			if e, _ := m.files.Get(name); filePriority(&e) != priorityFile {
				t.Errorf("after %d requests %s has %d", i, name, filePriority(&e))
			}
		}
		m.request()
		m.answer("yes")
		m.ask("more")
	}
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		if e, _ := m.files.Get(name); filePriority(&e) != priorityOldFile {
			t.Errorf("%s has %d", name, filePriority(&e))
		}
	}
	m.touch("a.go")
	m.request()
	m.answer("yes")
	again := m.restarted()
	for name, m := range map[string]*managed{"running": m, "restarted": again} {
		m.document("notes", wordsOf(1500), true) // 1,500 of 3,000 tokens: two of the files have to go
		m.ask("and now?")
		if diff := cmp.Diff([]string{"file:b.go", "file:c.go"}, m.leftFiles()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestByScore(t *testing.T) {
	pieces := []piece{
		{priority: 80},
		{priority: 80, since: 9, file: nil},
		{priority: 40},
		{priority: 80, since: 3},
		{priority: 50, since: 2},
		{priority: 50, since: -1},
	}
	order := []int{0, 1, 2, 3, 4, 5}
	byScore(pieces, order)
	if diff := cmp.Diff([]int{2, 5, 4, 0, 3, 1}, order); diff != "" {
		t.Error(diff)
	}
}
