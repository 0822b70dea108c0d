package crash

import (
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
)

// mostForks is the number of forks above which a user deletes the oldest.
const mostForks = 3

// forks are the forks that a user made of its session. A request that a kill left without a response has either been carried
// out completely or not at all.
type forks struct {
	kept    []fork
	leaving *fork // is being deleted
	gone    []string
}

// fork is a fork that the server reported.
type fork struct {
	session string
	says    []string // texts of messages that it was forked with
}

// change forks the session of a user, or deletes the oldest fork.
func (f *forks) change(e *testclient.Editor, u *user, folder string) error {
	if len(f.kept) < mostForks {
		var made struct{ SessionID string }
		err := e.Call("session/fork", map[string]any{"sessionId": u.session, "cwd": folder, "mcpServers": []any{}}, &made)
		if f := fault(err); f != nil && f.Code == codeBusy { // too many at once
			return nil
		}
		if err != nil {
			return err
		}
		one := fork{session: made.SessionID}
		for _, text := range u.told {
			one.says = append(one.says, text)
		}
		f.kept = append(f.kept, one)
		return nil
	}
	f.leaving, f.kept = &f.kept[0], slices.Clone(f.kept[1:])
	if err := e.Call("session/delete", map[string]any{"sessionId": f.leaving.session}, nil); err != nil {
		return err
	}
	f.gone, f.leaving = append(f.gone, f.leaving.session), nil
	return nil
}

// settle learns after a restart whether the fork that was being deleted is gone, and returns those that must be there.
func (f *forks) settle(e *testclient.Editor) (sessions []string) {
	if one := f.leaving; one != nil {
		if opened(e, one.session) {
			f.kept = append(f.kept, *one)
		} else {
			f.gone = append(f.gone, one.session)
		}
		f.leaving = nil
	}
	for _, one := range f.kept {
		sessions = append(sessions, one.session)
	}
	return sessions
}

// judge checks that no fork is lost and no deleted one is back.
func (f *forks) judge(w *world, e *testclient.Editor, transcripts map[string][]message) {
	w.t.Helper()
	for _, one := range f.kept {
		one.judge(w.t, transcripts[one.session])
	}
	for _, session := range f.gone {
		if opened(e, session) {
			w.t.Errorf("the deleted session %s is back", session)
		}
	}
}

// judge checks that the messages of a fork are there once.
func (f *fork) judge(t *testing.T, transcript []message) {
	t.Helper()
	for _, text := range f.says {
		n := 0
		for _, m := range transcript {
			if m.Text == text {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the fork %s has %d messages %.60q", f.session, n, text)
		}
	}
}

// opened reports whether a session exists.
func opened(e *testclient.Editor, session string) bool {
	err := e.Call("_strata/session/info", map[string]any{"sessionId": session}, nil)
	return err == nil || !strings.Contains(err.Error(), "not found")
}
