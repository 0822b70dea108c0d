package crash

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"strata/internal/binary"
)

// Whenever the server is killed in turns that change files, each file has its old or its new content, and the records and the
// results of the calls say which. The moments are derived from a seed: some are any, and some are around the commits and the
// effect of a change.
func TestRandomKillsAroundChangesOfFiles(t *testing.T) { inWorlds(t, randomKillsOfChanges) }

// changePoints are the failpoints around a change.
var changePoints = []string{
	"filechange.before", "filechange.after", "change.before", "change.after", "step.before", "step.after", "append.before", "append.after",
}

func randomKillsOfChanges(t *testing.T, seed uint64, n int) {
	w := newWorkshop(t, deskShop, binary.Options{})
	workers := newWorkers(w, seed)
	for _, u := range workers {
		u.desk = newDesk(w, u.name, files{"a.txt": "one\ntwo\n", "b.txt": "other\n", "in/c.txt": "three\nfour\nfive\n"})
	}
	v := newViewer(t, workedIn(workers)...)
	v.attach(w)
	chance := rand.New(rand.NewPCG(seed, 8))
	seen := make(map[string]int)
	for round := range n {
		at := "any moment"
		if chance.IntN(3) > 0 {
			at = changePoints[chance.IntN(len(changePoints))]
			w.Kill()
			w.Restart(armed(fmt.Sprintf("%s:%d", at, 1+chance.IntN(8))))
			v.attach(w)
		}
		working := startWorkers(w, workers)
		if at == "any moment" {
			v.moment(chance)
			w.Kill()
		} else {
			within(t, "death at "+at, w.Done())
			w.Wait()
		}
		working.Wait()
		seen["death at "+at]++
		planned := plannedIn(w, workers)
		w.Restart(binary.Options{})

		v.attach(w)
		e := w.editor()
		judgeWorkers(w, e, v, workers)
		for _, u := range workers {
			for _, r := range u.desk.records {
				if planned[r.id] {
					seen["settled as "+r.state]++
				}
			}
			_, temps := u.desk.look()
			seen["temporary files"] += len(temps)
		}
		for _, u := range workers {
			u.desk.listedChanges(e, u.session)
		}
		neverShown(t, e.Frames(), v.editor.Frames())
		e.Close()
		if chance.IntN(4) == 0 {
			restoreAll(w, workers, chance, seen)
			v.attach(w)
		}
		if t.Failed() {
			t.Fatalf("round %d: death at %s", round, at)
		}
	}
	finishChanges(w, v, workers)
	for _, u := range workers {
		for _, r := range u.desk.records {
			seen[r.kind+" "+r.state]++
		}
	}
	t.Logf("%v", seen)
}

// restoreAll restores all desks, while other programs write files, and sometimes undoes that. The server can die meanwhile; then
// the same restore does the rest.
func restoreAll(w *world, workers []*worker, chance *rand.Rand, seen map[string]int) {
	w.t.Helper()
	for _, u := range workers {
		u.open = nil // its plan is one for the files that there were
		u.judged = len(u.asked)
		r := u.desk.beforeRestore(chance, 20)
		dies := chance.IntN(2) == 0
		if dies {
			at := restorePoints[chance.IntN(len(restorePoints))]
			w.Kill()
			w.Restart(armed(fmt.Sprintf("%s:%d", at, 1+chance.IntN(3))))
			if _, err := w.restoreFiles(w.editor(), u.session); fault(err) != nil {
				w.t.Errorf("%s: %v", u.name, err)
			} else if err != nil {
				w.Wait()
				seen["death in a restore at "+at]++
			} else {
				w.Kill()
			}
			w.Restart(binary.Options{})
		}
		e := w.editor()
		told, err := w.restoreFiles(e, u.session)
		if err != nil {
			w.t.Fatal(err)
		}
		r.restored(told)
		for _, p := range told {
			seen["restore "+p.Outcome+" "+p.Change+p.Reason]++
		}
		if !dies && chance.IntN(2) == 0 {
			if err := e.Call("_strata/checkpoint/undo", map[string]any{"sessionId": u.session}, nil); err != nil {
				w.t.Errorf("undo: %v", err)
			}
			r.undone()
			seen["restore undone"]++
		}
		e.Close()
		u.desk.rebase(w, u.session)
	}
}

// plannedIn returns the ids of the changes that a server has left without a result.
func plannedIn(w *world, workers []*worker) map[string]bool {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	planned := make(map[string]bool)
	for _, u := range workers {
		for _, r := range recordsOf(w.t, db, u.session) {
			planned[r.id] = r.state == "planned"
		}
	}
	return planned
}

// finishChanges lets each worker change everything, and checks that no temporary files are left.
func finishChanges(w *world, v *viewer, workers []*worker) {
	w.t.Helper()
	e := w.editor()
	for _, u := range workers {
		if u.open != nil {
			w.workAgain(e, u.open)
			u.open = nil
			u.desk.audit(open(w.t, w.Database, "ro"), u.session)
		}
		w.changesAll(e, u.session, u.desk, "all-of-"+u.name)
		if _, left := u.desk.look(); len(left) > 0 {
			w.t.Errorf("%q are left", left)
		}
	}
	neverShown(w.t, e.Frames())
	finishWorkers(w, v, workers)
}
