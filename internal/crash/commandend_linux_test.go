package crash

import (
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
)

// endings are the ways in which the turn of a command ends while the server lives, with the result of the command.
var endings = map[string]struct {
	end    func(e *testclient.Editor, session string) error
	result string
}{
	"cancel": {(*testclient.Editor).Cancel, "cancelled by the user"},
	"close":  {calls("session/close"), "interrupted: the session was closed"},
	"delete": {calls("session/delete"), ""},
}

func calls(method string) func(e *testclient.Editor, session string) error {
	return func(e *testclient.Editor, session string) error {
		return e.Call(method, map[string]any{"sessionId": session}, nil)
	}
}

// No process of a command is left when its turn ends, however that ends.
func TestNoProcessOutlivesTheTurnOfItsCommand(t *testing.T) {
	t.Parallel()
	for line := range endlessLines {
		for how := range endings {
			t.Run(line+" "+how, func(t *testing.T) {
				t.Parallel()
				s := newErrandShift(t, endlessLines[line])
				e := s.editor()
				turn := s.work.send(e)
				const least = 3 // the supervisor, the shell, and one that the shell has started
				eventually(t, "the command", func() bool { return len(s.processes()) >= least })
				if err := endings[how].end(e, s.session); err != nil {
					t.Fatal(err)
				}
				turn.Wait()
				s.noProcesses(nil)
				if want := endings[how].result; want != "" {
					s.wantResult(want)
				}
			})
		}
	}
}

// A command that reaches its time limit ends with all its processes, and the turn goes on.
func TestNoProcessOutlivesTheTimeLimitOfItsCommand(t *testing.T) {
	t.Parallel()
	for name, line := range endlessLines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newErrandShift(t, line)
			limited := &s.work.plan[0][0].Input
			*limited = strings.TrimSuffix(*limited, "}") + `,"timeout_s":1}`
			if reply, err := s.work.send(s.editor()).Wait(); err != nil || reply.StopReason != "end_turn" {
				t.Fatalf("the turn ended with %q, %v", reply.StopReason, err)
			}
			s.noProcesses(nil)
			s.wantResult("Ended after 1 s, its time limit. Its output so far:")
		})
	}
}

// errandShift is a session with a work that runs one command, which does not end.
type errandShift struct {
	*world
	session string
	errands *errands
	work    *work
}

func newErrandShift(t *testing.T, line string) *errandShift {
	t.Helper()
	w := newWorkshop(t, commandShop, binary.Options{})
	e := w.editor()
	session, err := w.newSession(e, chatModel)
	if err != nil {
		t.Fatal(err)
	}
	w.approveAll(e, session)
	r := newErrands(w)
	return &errandShift{w, session, r, &work{session: session, name: "errand", steps: 1, parts: 2, plan: [][]toolCall{{r.call("endless", line)}}}}
}

// wantResult checks the stored result of the command.
func (s *errandShift) wantResult(first string) {
	s.t.Helper()
	result := s.commandResults(s.session)["endless"]
	if got, times := firstLine(&result), s.errands.times(s.t)["endless"]; got != first || times > 1 {
		s.t.Errorf("the result begins with %q, want %q; it ran %d times", got, first, times)
	}
}
