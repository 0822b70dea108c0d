package crash

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
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
	desk          *desk             // whose files its works change; nil for works that change none
	errands       *errands          // that its works run; nil for works that run no command
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
		f := fault(err)
		if f != nil && f.Code == codeBusy && u.open.stops {
			return nil // the server is being stopped
		}
		if err != nil && (f == nil || f.Code != codeProvider) {
			return err
		}
		if err == nil && u.desk != nil {
			u.desk.files = u.open.leaves
		}
		u.open = nil
	}
}

func (u *worker) next() *work {
	k := &work{
		session: u.session, name: fmt.Sprintf("%s-%d", u.name, len(u.asked)),
		steps: u.chance.IntN(workFiles + 1), parts: 1 + u.chance.IntN(8), gap: randomTime(u.chance, time.Millisecond),
	}
	if u.desk != nil {
		k.steps = 1 + u.chance.IntN(5)
		k.plan, k.leaves = u.desk.plan(u.chance, k.steps)
	}
	if u.errands != nil {
		k.steps, k.stops = 1+u.chance.IntN(4), true
		k.plan = u.errands.plan(u.chance, k)
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

func workedIn(workers []*worker) (sessions []string) {
	for _, u := range workers {
		sessions = append(sessions, u.session)
	}
	return sessions
}

// startWorkers starts all workers, which work until the server dies. It returns when they are connected.
func startWorkers(w *world, workers []*worker) *sync.WaitGroup {
	w.t.Helper()
	var all sync.WaitGroup
	for _, u := range workers {
		e := w.editor()
		all.Go(func() {
			if err := u.work(e); fault(err) != nil {
				w.t.Errorf("%s: %v", u.name, err)
			}
		})
	}
	return &all
}

// judgeWorkers checks, after a restart, what is stored of all works and what a viewer and an export show of it.
func judgeWorkers(w *world, e *testclient.Editor, v *viewer, workers []*worker) {
	w.t.Helper()
	transcripts := w.audit(e, workedIn(workers)...)
	v.catchUp(e)
	v.compare(transcripts)
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	for _, u := range workers {
		u.judge(w, db)
		w.exported(e, u.session, transcripts[u.session])
		if u.desk != nil {
			u.desk.audit(db, u.session)
		}
	}
}

// finishWorkers sends the open works again, lets each worker do a last one, and checks everything.
func finishWorkers(w *world, v *viewer, workers []*worker) {
	w.t.Helper()
	e := w.editor()
	for _, u := range workers {
		if u.open != nil {
			w.workAgain(e, u.open)
		}
		w.do(e, &work{session: u.session, name: "end-of-" + u.name, steps: 2, parts: 3})
		w.t.Logf("%s: %d prompts, %d sent again after a crash; %v", u.name, len(u.asked), u.again, u.figures())
	}
	v.catchUp(e)
	v.compare(w.audit(e, workedIn(workers)...))
	w.Stop()
}
