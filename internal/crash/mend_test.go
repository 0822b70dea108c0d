package crash

import (
	"strings"
	"testing"

	"strata/internal/binary"
)

// A server refuses a database with a damaged search index; doctor --fix rebuilds the index from the messages.
func TestADamagedSearchIndexIsRebuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	session := e.NewSession(w.Home.Project)
	a := &ask{session: session, name: "story", parts: 3}
	w.tell(e, a)
	word := strings.Fields(a.story())[0]
	found := hits(t, w, word)
	if found == 0 {
		t.Fatalf("%q is not found", word)
	}
	w.Stop()
	change(t, w.Database, "DELETE FROM message_fts_data WHERE id > 10")

	doctor := func(args ...string) (out string, ok bool) {
		text, err := w.Home.Command(t.Context(), append([]string{"doctor"}, args...)...).CombinedOutput()
		return string(text), err == nil
	}
	if out, ok := doctor(); ok || !strings.Contains(out, "only indexes are damaged (message_fts)") || strings.Contains(out, "\nfix ") {
		t.Errorf("doctor: %v\n%s", ok, out)
	}
	if out, ok := doctor("--fix"); !ok || !strings.Contains(out, "\ndone  database   rebuild the damaged indexes of "+w.Database+": message_fts\n") {
		t.Errorf("doctor --fix: %v\n%s", ok, out)
	}
	if out, ok := doctor(); !ok || strings.Contains(out, "damaged") {
		t.Errorf("doctor after it: %v\n%s", ok, out)
	}
	w.Restart(binary.Options{})
	if again := hits(t, w, word); again != found {
		t.Errorf("%d hits, before %d", again, found)
	}
}

// hits returns the number of messages with a word.
func hits(t *testing.T, w *world, word string) int {
	t.Helper()
	var result struct{ Hits []struct{} }
	if err := w.editor().Call("_strata/history/search", map[string]any{"query": word}, &result); err != nil {
		t.Fatal(err)
	}
	return len(result.Hits)
}
