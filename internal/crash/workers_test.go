package crash

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"strata/internal/testclient"
)

// worker does works in one session, and repeats those that a crash left without a response.
type worker struct {
	session, name string
	chance        *rand.Rand
	open          *work // without a response yet
	asked         []*work
	judged        int               // of asked
	again         int               // that were sent again
	ended         map[string]string // where, by the name of the work
}

// newWorkers creates a session for each wire format.
func newWorkers(w *world, seed uint64) (all []*worker) {
	w.t.Helper()
	e := w.editor()
	defer e.Close()
	for i, model := range []string{chatModel, claudeModel} {
		session, err := w.newSession(e, model)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, &worker{
			session: session, name: fmt.Sprintf("worker%d", i), chance: rand.New(rand.NewPCG(seed, uint64(i+1))), ended: make(map[string]string),
		})
	}
	return all
}

// work sends prompts until the connection ends.
func (u *worker) work(e *testclient.Editor) error {
	for {
		if u.open != nil {
			u.again++
		} else {
			u.open = u.next()
		}
		_, err := u.open.send(e).Wait()
		if f := fault(err); err != nil && (f == nil || f.Code != codeProvider) {
			return err
		}
		u.open = nil
	}
}

func (u *worker) next() *work {
	k := &work{
		session: u.session, name: fmt.Sprintf("%s-%d", u.name, len(u.asked)),
		steps: u.chance.IntN(workFiles + 1), parts: 1 + u.chance.IntN(8), gap: randomTime(u.chance, time.Millisecond),
	}
	u.asked = append(u.asked, k)
	return k
}

// judge checks the works since the last call.
func (u *worker) judge(w *world, db *sql.DB) {
	w.t.Helper()
	for _, k := range u.asked[u.judged:] {
		_, u.ended[k.name] = w.judgeWork(db, k)
	}
	u.judged = len(u.asked)
	if u.open != nil {
		u.judged-- // still without a response
	}
}

// figures returns how often works ended where.
func (u *worker) figures() map[string]int {
	times := make(map[string]int)
	for _, at := range u.ended {
		times[at]++
	}
	return times
}
