package crash

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"strata/history"
	"strata/internal/binary"
	"strata/internal/testclient"
)

// compactions are those of a session that are on disk.
type compactions struct {
	newest history.Compaction // what is stored of the one that began last
	edits  []history.Edit     // of all, oldest first
}

func compactionsOnDisk(t testing.TB, db *sql.DB, session string) (c compactions) {
	t.Helper()
	read := func(body string, v any) {
		if err := json.Unmarshal([]byte(body), v); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range rows(t, db, "SELECT body FROM compaction WHERE session = ?", session) {
		read(row[0], &c.newest)
	}
	for _, row := range rows(t, db, "SELECT body FROM edit WHERE session = ? AND kind = ? ORDER BY seq", session, string(history.EditCompact)) {
		c.edits = append(c.edits, history.Edit{})
		read(row[0], &c.edits[len(c.edits)-1])
	}
	return c
}

// wrong returns what is wrong with stored compactions, "" for nothing: the record of one and its edit exist together.
func (c *compactions) wrong() string {
	stored := slices.ContainsFunc(c.edits, func(e history.Edit) bool { return e.Seq == c.newest.Seq })
	if (c.newest.Outcome == "compacted") != stored {
		return fmt.Sprintf("the newest compaction is %+v, there is an edit of it: %t", c.newest, stored)
	}
	covered := make(map[string]bool)
	for _, e := range c.edits {
		for _, id := range e.Messages {
			if covered[id] {
				return fmt.Sprintf("two compactions remove %s", id)
			}
			covered[id] = true
		}
		if e.Summary == "" {
			return fmt.Sprintf("%s has no summary", e.ID)
		}
	}
	return ""
}

// withinTurns returns how many of them were stored between two steps of a turn.
func (c *compactions) withinTurns(messages []history.Message) (n int) {
	for _, e := range c.edits {
		next := slices.IndexFunc(messages, func(m history.Message) bool { return m.Seq > e.Seq })
		if next > 0 && messages[next].Role == history.RoleAssistant && messages[next-1].Role == history.RoleTool && messages[next].Turn == messages[next-1].Turn {
			n++
		}
	}
	return n
}

// compactionsOf returns the stored compactions of sessions, in their order.
func (w *world) compactionsOf(sessions []string) (all []compactions) {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	for _, session := range sessions {
		all = append(all, compactionsOnDisk(w.t, db, session))
	}
	return all
}

// compactedWithin returns how many compactions of sessions were stored between two steps of a turn.
func (w *world) compactedWithin(sessions []string) (n int) {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	for _, session := range sessions {
		c := compactionsOnDisk(w.t, db, session)
		n += c.withinTurns(messagesOnDisk(w.t, db, session))
	}
	return n
}

// compacted checks the compactions of an idle session after a restart: what was stored is there whole, and the client is told
// of it; one that was under way was interrupted. before is what the server left on disk.
func (w *world) compacted(e *testclient.Editor, session string, before *compactions) {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	now := compactionsOnDisk(w.t, db, session)
	if wrong := cmp.Or(before.wrong(), now.wrong()); wrong != "" {
		w.t.Error(wrong)
	}
	var status struct {
		Running     bool
		LastOutcome string
	}
	if err := e.Call("_strata/context/compaction", map[string]any{"sessionId": session}, &status); err != nil {
		w.t.Fatal(err)
	}
	want := before.newest.Outcome
	if want == "running" {
		want = "interrupted"
	}
	if status.Running || status.LastOutcome != want || now.newest.Outcome != want || len(now.edits) != len(before.edits) {
		w.t.Errorf("after a restart the compaction is %+v, stored as %+v with %d edits; before it was %+v with %d", status, now.newest, len(now.edits), before.newest, len(before.edits))
	}
	inView := make(map[string]bool)
	for _, m := range w.inView(e, session) {
		inView[m] = true
	}
	for _, edit := range now.edits {
		for _, id := range edit.Messages {
			if inView[id] {
				w.t.Errorf("%s is in the view, a compaction has removed it", id)
			}
		}
	}
}

// inView returns the ids of the messages in a session's view.
func (w *world) inView(e *testclient.Editor, session string) []string {
	w.t.Helper()
	v := viewEditor{world: w, session: session}
	now, err := v.look(e)
	if err != nil {
		w.t.Fatal(err)
	}
	return now.ids
}

// pointsOfCompactions are the failpoints around the commits of compactions in a turn that outgrows its window, and the hits at
// which a server dies: a compaction is stored when it begins, and when it is applied.
var pointsOfCompactions = map[string][]int{
	"compaction.before": {1, 2}, "compaction.after": {1, 2}, "edit.before": {1}, "edit.after": {1},
}

// A compaction between two steps is stored whole or not at all, and the turn loses nothing by it. A server that dies at its
// commit goes on like any other.
func TestDeathWhileATurnIsCompacted(t *testing.T) {
	t.Parallel()
	for point, hits := range pointsOfCompactions {
		for _, n := range hits {
			for wire, model := range models {
				spec := fmt.Sprintf("%s:%d", point, n)
				t.Run(spec+" "+wire, func(t *testing.T) {
					t.Parallel()
					s := newShift(t, smallShop, model, armed(spec))
					s.work.steps, s.work.gap = workFiles, 10*time.Millisecond // the compaction ends in a step before the last one
					if _, err := s.work.send(s.editor()).Wait(); fault(err) != nil {
						t.Fatal(err)
					}
					s.Wait() // on a slow machine it dies after the turn
					db := open(t, s.Database, "ro")
					left := compactionsOnDisk(t, db, s.session)
					t.Logf("it died with %d compactions, the newest is %q", len(left.edits), left.newest.Outcome)
					saved := begunOnDisk(t, s.Database)
					s.Restart(binary.Options{})
					s.viewer.attach(s.world)
					e := s.editor()
					s.check(e)
					stillThere(t, s.Database, saved)
					s.compacted(e, s.session, &left)
					s.workAgain(e, s.work)
					if status, _ := s.judgeWork(db, s.work); status != "completed" {
						s.finishes(e)
					}
					db.Close()
				})
			}
		}
	}
}
