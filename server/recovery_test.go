package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/session"
)

// A server on one database must leave alone what a server on another one has not stored yet.
func TestRecoveryFileOfAnotherDatabaseStays(t *testing.T) {
	ts := startServer(t)
	ts.close()
	ending := history.Change{Session: "sess_elsewhere", End: &history.Turn{ID: "turn_elsewhere", StopReason: "end_turn"}}
	if err := writeRecovery(ts.dir, ending); err != nil {
		t.Fatal(err)
	}
	ts.start()
	if _, err := os.Stat(filepath.Join(ts.dir, recoveryPrefix+ending.End.ID+recoverySuffix)); err != nil {
		t.Error(err)
	}
}

// The answer is one of the worst: each of its bytes takes six in JSON.
func TestAnAnswerWithoutEndIsCutWhereItCanStillBeRead(t *testing.T) {
	ts := startServer(t)
	long := strings.Repeat("<", session.MaxAnswer/8)
	ts.upstream.Push(upstream.Script{Steps: upstream.Texts(long, long, long, long, long, long, long, long, long)})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	_, err := e.Prompt(sid, "go on")
	wireFault(t, err, codeProvider)
	if last := lastMessage(t, e, sid); last.Role != history.RoleAssistant || last.Status == history.StatusComplete {
		t.Errorf("the last message is one of %s, %s", last.Role, last.Status)
	}
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Error(err)
	}
}
