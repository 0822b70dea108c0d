package crash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/testclient"
)

// models are those of a workshop, by wire format.
var models = map[string]string{"chat": chatModel, "claude": claudeModel}

// pointsOfSteps are the failpoints of a turn with three steps, and the hits at which a server dies: the commit of a step's
// message, with its layout, of its results, of chunks of its text, and of the turn's end.
var pointsOfSteps = map[string][]int{
	"step.before": {1, 2, 3}, "step.after": {1, 2, 3},
	"append.before": {1, 2, 3}, "append.after": {1, 2, 3},
	"partial.before": {1, 2, 5}, "partial.after": {1, 2, 5},
	"layout.before": {2}, "layout.after": {2},
	"begin.after": {1}, "end.before": {1}, "end.after": {1},
}

// After a crash at a failpoint of a step, what was stored exists once, each call has a result, and the session goes on.
func TestDeathAtEveryFailpointOfAStep(t *testing.T) {
	t.Parallel()
	for point, hits := range pointsOfSteps {
		for _, n := range hits {
			for wire, model := range models {
				spec := fmt.Sprintf("%s:%d", point, n)
				t.Run(spec+" "+wire, func(t *testing.T) {
					t.Parallel()
					s := newShift(t, shop{}, model, armed(spec))
					if strings.HasPrefix(point, "partial.") {
						s.work.gap = 30 * time.Millisecond // a step is saved in several chunks
					}
					s.dies().goesOn()
				})
			}
		}
	}
}

// The same holds for a server that dies while it settles the calls of a crashed one.
func TestDeathWhileSettlingCalls(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"end.before", "end.after"} {
		for wire, model := range models {
			t.Run(spec+" "+wire, func(t *testing.T) {
				t.Parallel()
				s := newShift(t, shop{}, model, armed("append.before:2")).dies()
				s.Restart(armed(spec))
				if _, err := s.work.send(s.editor()).Wait(); err == nil || fault(err) != nil {
					t.Fatalf("the server is still running: %v", err)
				}
				s.Wait()
				s.goesOn()
			})
		}
	}
}

// A server that is killed while some calls of a step have results, and one waits for the editor.
func TestDeathBetweenCalls(t *testing.T) {
	t.Parallel()
	for step := range 3 {
		for wire, model := range models {
			t.Run(fmt.Sprintf("step %d %s", step+1, wire), func(t *testing.T) {
				t.Parallel()
				s := newShift(t, shop{}, model, binary.Options{})
				e, err := s.connectWith(map[string]any{"fs": map[string]any{"readTextFile": true}})
				if err != nil {
					t.Fatal(err)
				}
				turn := s.work.send(e)
				for n := range step {
					if err := e.Respond(e.Asked("fs/read_text_file", n+1), map[string]any{"content": "unsaved " + fileOfStep(n+1)}); err != nil {
						t.Fatal(err)
					}
				}
				e.Asked("fs/read_text_file", step+1)
				e.Expect(completedCalls(s.session, 3*step+2))
				s.Kill()
				if _, err := turn.Wait(); err == nil || fault(err) != nil {
					t.Fatalf("the prompt to a killed server ended with %v", err)
				}
				s.goesOn()
			})
		}
	}
}

// completedCalls holds when so many calls have completed.
func completedCalls(session string, n int) testclient.Condition {
	return testclient.Condition{Name: fmt.Sprintf("%d completed calls", n), Met: func(fs testclient.Frames) bool {
		done := 0
		for _, f := range fs.Of(session).Kind("tool_call_update") {
			var update struct{ Update struct{ Status string } }
			if json.Unmarshal(f.Params, &update) == nil && update.Update.Status == "completed" {
				done++
			}
		}
		return done >= n
	}}
}

// shift is one session with one work during which the server dies, and a viewer.
type shift struct {
	*world
	session string
	viewer  *viewer
	work    *work
}

func newShift(t *testing.T, in shop, model string, opt binary.Options) *shift {
	t.Helper()
	w := newWorkshop(t, in, opt)
	session, err := w.newSession(w.editor(), model)
	if err != nil {
		t.Fatal(err)
	}
	s := &shift{world: w, session: session, viewer: newViewer(t, session)}
	s.work = &work{session: session, name: "cut", steps: 3, parts: 20, gap: time.Millisecond}
	s.viewer.attach(w)
	return s
}

// dies sends the work to a server that dies during it.
func (s *shift) dies() *shift {
	s.t.Helper()
	if _, err := s.work.send(s.editor()).Wait(); err == nil || fault(err) != nil {
		s.t.Fatalf("the server does not die: %v", err)
	}
	s.Wait()
	return s
}

// goesOn starts the server again and checks everything.
func (s *shift) goesOn() {
	s.t.Helper()
	saved := begunOnDisk(s.t, s.Database)
	s.Restart(binary.Options{})
	s.viewer.attach(s.world)
	e := s.editor()
	if _, there := s.sessions(e)[s.session]; !there {
		s.t.Errorf("session %s is missing", s.session)
	}
	s.check(e)
	stillThere(s.t, s.Database, saved)
	s.workAgain(e, s.work)
	s.do(e, &work{session: s.session, name: "next", steps: 2, parts: 3})
	s.check(e)
}

// check checks what is stored, and that an attached client and an export show the same.
func (s *shift) check(e *testclient.Editor) {
	s.t.Helper()
	transcripts := s.audit(e, s.session)
	s.viewer.catchUp(e)
	s.viewer.compare(transcripts)
	s.exported(e, s.session, transcripts[s.session])
}

// Nothing is lost or duplicated, and no request holds a call without its result, whenever the server is killed in turns
// with steps. The moments are derived from a seed.
func TestRandomKillsInTurnsWithSteps(t *testing.T) {
	inWorlds(t, func(t *testing.T, seed uint64, kills int) { randomKillsInSteps(t, shop{}, seed, kills) })
}

// The same in windows so small that turns are compacted while they run. The test continues until one was.
func TestRandomKillsWhileTurnsAreCompacted(t *testing.T) {
	inWorlds(t, func(t *testing.T, seed uint64, kills int) { randomKillsInSteps(t, smallShop, seed, kills) })
}

func randomKillsInSteps(t *testing.T, in shop, seed uint64, n int) {
	w := newWorkshop(t, in, binary.Options{})
	workers := newWorkers(w, seed)
	sessions := workedIn(workers)
	v := newViewer(t, sessions...)
	v.attach(w)
	chance := rand.New(rand.NewPCG(seed, 7))
	const most = 300
	for round := 0; round < n || in == smallShop && round < most && w.compactedWithin(sessions) == 0; round++ {
		working := startWorkers(w, workers)
		v.moment(chance)
		w.Kill()
		working.Wait()
		saved, compacted := begunOnDisk(t, w.Database), w.compactionsOf(sessions)
		w.Restart(binary.Options{})

		v.attach(w)
		e := w.editor()
		judgeWorkers(w, e, v, workers)
		stillThere(t, w.Database, saved)
		for i, session := range sessions {
			w.compacted(e, session, &compacted[i])
		}
		e.Close()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	finishWorkers(w, v, workers)
	within := w.compactedWithin(sessions)
	t.Logf("%d compactions between two steps", within)
	if in == smallShop && within == 0 {
		t.Error("no turn was compacted while it ran")
	}
}
