package crash

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/internal/binary"
	"strata/internal/testclient"
)

// deaths are failpoints at which a server dies in a turn after its first step has results, or at least the calls of it, and
// those at which the next server dies in the turn that goes on.
var deaths = []struct{ first, second string }{
	{"step.after:1", "begin.before:1"},
	{"append.before:1", "begin.after:1"},
	{"append.after:1", "partial.after:1"},
	{"step.before:2", "edit.before:1"},
	{"append.before:2", "step.after:1"},
	{"append.after:2", "append.before:1"},
	{"step.before:3", "edit.after:1"},
	{"append.after:3", "partial.before:1"},
	{"end.before:1", "end.before:2"}, // the first end of the next server is that of this turn
}

// A prompt that is sent again after a crash, without the prompt id of the first one, goes on from the last finished step: its
// requests contain the prompt once and each finished step with its results, and nothing that was said after it. The same holds
// if the turn that goes on is hit by a crash, too.
func TestTheSamePromptGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	for _, at := range deaths {
		for _, second := range []string{"", at.second} {
			for wire, model := range models {
				t.Run(fmt.Sprintf("%s %s %s", at.first, second, wire), func(t *testing.T) {
					t.Parallel()
					s := newShift(t, shop{}, model, armed(at.first))
					s.work.gap = 10 * time.Millisecond
					if strings.HasPrefix(at.second, "edit.") {
						s.work.gap = 30 * time.Millisecond // a step is saved in several chunks
					}
					s.dies()
					if second != "" {
						s.Restart(armed(second))
						s.viewer.attach(s.world)
						s.diesAgain()
					}
					s.resumes()
				})
			}
		}
	}
}

// diesAgain sends the work again to a server that dies during it.
func (s *shift) diesAgain() {
	s.t.Helper()
	s.work.resumed++
	if _, err := s.work.sendAs(s.editor(), "").Wait(); err == nil || fault(err) != nil {
		s.t.Fatalf("the server does not die: %v", err)
	}
	s.Wait()
}

// resumes starts the server again, sends the work again, and checks everything.
func (s *shift) resumes() {
	s.t.Helper()
	saved := begunOnDisk(s.t, s.Database)
	s.Restart(binary.Options{})
	s.viewer.attach(s.world)
	e := s.editor()
	s.check(e)
	stillThere(s.t, s.Database, saved)
	s.finishes(e)
}

// finishes sends the work again, the first time without a prompt id, then under another one, and after it another work.
func (s *shift) finishes(e *testclient.Editor) {
	s.t.Helper()
	promptID := ""
	if s.work.resumed++; s.work.resumed > 1 {
		promptID = "another"
	}
	if reply, err := s.work.sendAs(e, promptID).Wait(); err != nil || reply.StopReason != "end_turn" {
		s.t.Fatalf("the work ended with %q, %v", reply.StopReason, err)
	}
	db := open(s.t, s.Database, "ro")
	defer db.Close()
	s.judgeResumed(db, s.work)
	s.do(e, &work{session: s.session, name: "next", steps: 2, parts: 3})
	s.check(e)
}

// judgeResumed checks a work that has ended and whose prompt has several turns: their messages without those that broke off
// are the work.
func (w *world) judgeResumed(db *sql.DB, k *work) {
	w.t.Helper()
	j := &judgment{work: k}
	turns := make(map[string]bool)
	for _, row := range rows(w.t, db, `SELECT t.id, t.status, t.user_id, t.reply_id FROM turn t JOIN turn f ON f.session = t.session AND f.user_id = t.user_id
		WHERE f.session = ? AND f.prompt_id = ? ORDER BY t.started_at`, k.session, k.name) {
		j.turn, turns[row[0]] = ended{row[1], row[2], row[3]}, true
	}
	if j.turn.status != "completed" {
		w.t.Errorf("of %d turns of %s the last one is %q", len(turns), k.name, j.turn.status)
	}
	for _, m := range messagesOnDisk(w.t, db, k.session) {
		if turns[m.Turn] && m.Status != history.StatusInterrupted {
			j.messages = append(j.messages, m)
		}
	}
	w.report(j)
}
