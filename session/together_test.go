package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"strata/history"
	"strata/llm/reply"
)

// counting returns a file with a line for each of some writers.
func counting(writers int, count func(writer int) int) string {
	var b strings.Builder
	for w := range writers {
		fmt.Fprintf(&b, "writer %d has counted to %d\n", w, count(w))
	}
	return b.String()
}

// counts lets the model of a session count up in its line of a file, and read the file again whenever a change is refused. It
// returns how often that was.
func (a *acted) counts(writer, to int) (refused int) {
	result := a.prompt("count", nil)
	next := a.asked()
	calls := 1
	read := func() {
		next.act(reply.StopToolUse, callsOf(calls, `read_file{"path":"shared.txt"}`)...)
		next, calls = a.asked(), calls+1
	}
	read()
	for n := 0; n < to; calls++ {
		line := fmt.Sprintf("writer %d has counted to ", writer)
		next.act(reply.StopToolUse, callsOf(calls, fmt.Sprintf(`edit_file{"path":"shared.txt","edits":[{"old_text":"%s%d\n","new_text":"%s%d\n"}]}`, line, n, line, n+1))...)
		next = a.asked()
		switch got := a.results()[0]; {
		case strings.HasPrefix(got, "Edited shared.txt"):
			n++
		case strings.HasPrefix(got, "Nothing was changed") && (strings.Contains(got, "has changed since") || strings.Contains(got, "you have not seen")):
			refused++
			calls++
			read()
		default:
			a.t.Errorf("the result is %q", got)
			return refused
		}
	}
	next.end("done")
	<-result
	return refused
}

// Sessions that change one file at a time lose nothing of each other: each change is made of the file as it is, or refused with
// what to read first.
func TestSessionsThatChangeOneFile(t *testing.T) {
	const sessions, to = 3, 12
	folder := t.TempDir()
	path := filepath.Join(folder, "shared.txt")
	if err := os.WriteFile(path, []byte(counting(sessions, func(int) int { return 0 })), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []*acted
	for range sessions {
		a, _ := editing(t, "edits")
		a.Close(ReasonClosed, func() {})
		<-a.Done()
		a.store = newLockedStore()
		a.deps.Store = a.store
		a.Session = closedLater(t, Create(a.deps, history.Session{ID: a.deps.NewID("sess_"), CWD: folder}))
		a.set("edits")
		all = append(all, a)
	}
	var wg sync.WaitGroup
	refused := make([]int, sessions)
	for i, a := range all {
		wg.Go(func() { refused[i] = a.counts(i, to) })
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	if want := counting(sessions, func(int) int { return to }); err != nil || string(data) != want {
		t.Errorf("the file is %q, want %q: %v", data, want, err)
	}
	t.Logf("refused were %d", refused)
	for i, a := range all {
		done := 0
		for _, line := range a.fileChanges() {
			if line == "edit shared.txt done with its result" {
				done++
			}
		}
		if done != to {
			t.Errorf("session %d has %d changes that were made", i, done)
		}
	}
}
