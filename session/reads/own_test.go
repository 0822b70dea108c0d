package reads

import (
	"testing"

	"strata/filecontext"
	"strata/history"
)

// changed writes a file and adds the result of a call of the model that did.
func (d *desk) changed(name, before, after string, hunks ...history.LineHunk) {
	d.t.Helper()
	d.write(name, after)
	d.told(history.FileLines{Path: name, Version: sha(after), Of: countLines(after), From: &history.Derivation{Version: sha(before), Hunks: hunks}})
}

// told adds a result that says what a call has done.
func (d *desk) told(shows ...history.FileLines) {
	d.add(history.Block{Type: history.BlockText, Text: "done", Shows: shows})
}

func TestOwnChangesAreNotTold(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "1\n2\n3\n"})
	d.read("a")
	d.changed("a", "1\n2\n3\n", "1\ntwo\n3\n", history.LineHunk{OldStart: 2, OldLines: 1, NewStart: 2, NewLines: 1})
	d.wantStale(0)
	d.changed("a", "1\ntwo\n3\n", "1\ntwo\n3\n4\n", history.LineHunk{OldStart: 4, NewStart: 4, NewLines: 1})
	d.wantStale(0)
	d.wantFile("a", filecontext.Partial, ReasonRead) // line 4 stands in the call only
	d.write("a", "1\ntwo\n3\n4\n5\n")
	d.wantStale(0, "a has changed since it was read: line 2, lines 4 to 5.") // someone else's change is
}

// A change that the view does not show is told.
func TestAnOwnChangeThatIsGoneIsTold(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "1\n2\n3\n"})
	d.read("a")
	d.changed("a", "1\n2\n3\n", "1\ntwo\n3\n", history.LineHunk{OldStart: 2, OldLines: 1, NewStart: 2, NewLines: 1})
	d.view = d.view[:1]
	d.wantStale(0, "a has changed since it was read: line 2.")
}

func TestOwnDeletionsAndMovesAreNotTold(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "1\n", "b": "1\n"})
	d.read("a")
	d.read("b")
	d.remove("a")
	d.remove("b")
	d.wantStale(0, "a has been deleted since it was read.", "b has been deleted since it was read.")
	d.told(history.FileLines{Path: "a", From: &history.Derivation{Version: sha("1\n")}})
	d.wantStale(0, "b has been deleted since it was read.")
	d.write("c", "1\n")
	d.told(history.FileLines{Path: "c", Version: sha("1\n"), Of: 1, From: &history.Derivation{Path: "b", Version: sha("1\n")}},
		history.FileLines{Path: "b", From: &history.Derivation{Version: sha("1\n")}})
	d.wantStale(0)
	d.wantFile("a", filecontext.NotAvailable, ReasonChanged)
}
