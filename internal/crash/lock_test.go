package crash

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/historystore"
	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// paused is an answer that goes on when the test lets it.
type paused struct {
	*world
	editor  *testclient.Editor
	session string
	turn    *testclient.Turn
	finish  chan struct{}
}

const firstHalf, secondHalf = "This is the first half. ", "This is the second."

// pause starts an answer and waits until its first half is on the disk.
func pause(t *testing.T, w *world) *paused {
	t.Helper()
	p := &paused{world: w, editor: w.editor(), finish: make(chan struct{})}
	p.session = p.editor.NewSession(w.Home.Project)
	if _, err := p.editor.Attach(p.session, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	w.teller.Push(upstream.Script{Steps: []upstream.Step{upstream.Text(firstHalf), upstream.Hold(p.finish), upstream.Text(secondHalf)}})
	p.turn = p.editor.Start(p.session, "Tell me in two halves.")
	beginningSaved(t, w.Database, p.session)
	return p
}

// beginningSaved waits until some of the running answer is on the disk.
func beginningSaved(t *testing.T, path, session string) {
	t.Helper()
	db := open(t, path, "ro")
	defer db.Close()
	eventually(t, "the beginning of the answer on the disk", func() bool {
		return len(rows(t, db, "SELECT text FROM partial WHERE session = ?", session)) > 0
	})
}

// answered wants the whole answer, whatever became of its storing.
func (p *paused) answered() {
	p.t.Helper()
	reply, err := p.turn.Wait()
	if err != nil {
		p.t.Fatal(err)
	}
	if reply.StopReason != "end_turn" || reply.Said() != firstHalf+secondHalf {
		p.t.Errorf("ended with %q and said %q", reply.StopReason, reply.Said())
	}
}

// stands wants the whole answer in the transcript.
func (p *paused) stands(e *testclient.Editor) {
	p.t.Helper()
	transcript := p.audit(e, p.session)[p.session]
	if len(transcript) < 2 || transcript[1].Status != "complete" || transcript[1].Text != firstHalf+secondHalf {
		p.t.Errorf("transcript %v", transcript)
	}
}

// busyTimeout is how long the server waits for the lock at least; see historystore.
const busyTimeout = 5 * time.Second

// Another process that writes for three seconds when an answer ends is waited for, and no client notices. On a machine
// that stands still meanwhile the three seconds may become more than the server waits: such a round says nothing.
func TestK4_03_LockedForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	const rounds = 10
	for range rounds {
		if held := lockedForAWhile(t, w); held < busyTimeout || t.Failed() {
			return
		}
	}
	t.Skipf("in %d rounds the machine never let go of the lock within %v", rounds, busyTimeout)
}

func lockedForAWhile(t *testing.T, w *world) (held time.Duration) {
	t.Helper()
	p := pause(t, w)
	release := lock(t, p.Database)
	start := time.Now()
	close(p.finish)
	p.editor.Expect(testclient.Says(p.session, testclient.AgentChunk, secondHalf))
	<-time.After(3 * time.Second) // what the case is about
	if len(p.editor.Frames().Of(p.session).Kind("saved")) > 0 {
		t.Error("an answer is said to be saved while the database is locked")
	}
	release()
	held = time.Since(start)
	p.answered()
	p.editor.Expect(testclient.Sees(p.session, "saved"))
	if failed := p.editor.Frames().Of(p.session).Kind("save_failed"); len(failed) > 0 && held < busyTimeout {
		t.Errorf("the client was told %s", failed[0].Raw)
	}
	p.stands(p.editor)
	return held
}

// Another process that keeps the database for longer costs no answer: the client has it, hears that it is not
// saved, can read on, and it is saved when the database is free.
func TestK4_03_LockedForLonger(t *testing.T) {
	t.Parallel()
	p := pause(t, newWorld(t, "", binary.Options{}))
	release := lock(t, p.Database)
	close(p.finish)
	p.editor.Expect(testclient.Sees(p.session, "save_failed")) // this takes the busy timeout
	p.answered()

	_, err := p.editor.Prompt(p.session, "And now?")
	var data struct{ Reason string }
	if f := wantFault(t, err, codeStorage); json.Unmarshal(f.Data.(json.RawMessage), &data) != nil || data.Reason == "" {
		t.Errorf("a prompt while an answer is not saved is refused with %+v", f)
	}
	if got := listed(t, p.editor, p.session); len(got) != 1 {
		t.Errorf("the transcript that is stored is %v", got)
	}
	release()
	p.editor.Expect(testclient.Sees(p.session, "saved"))
	p.tell(p.editor, &ask{session: p.session, name: "afterwards", parts: 3})
	p.stands(p.editor)
}

// A prompt that cannot be stored is refused, and the provider never hears of it.
func TestK4_03_PromptWhileLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	a := &ask{session: e.NewSession(w.Home.Project), name: "refused", parts: 3}
	release := lock(t, w.Database)
	_, err := a.send(e).Wait()
	wantFault(t, err, codeStorage)
	if n := w.teller.times(a); n > 0 {
		t.Errorf("the provider was asked %d times", n)
	}
	release()
	w.tell(e, a)
	w.audit(e, a.session)
}

// A server that has to stop while the database is locked puts the ending that it cannot store into a file of its
// own, from which the next start takes it.
func TestK4_03_EndingOutlivesALockedShutdown(t *testing.T) {
	t.Parallel()
	p := pause(t, newWorld(t, "", binary.Options{}))
	release := lock(t, p.Database)
	close(p.finish)
	p.editor.Expect(testclient.Sees(p.session, "save_failed"))
	p.answered()
	p.Stop()
	if files := recoveryFiles(t, p.Home); len(files) != 1 {
		t.Errorf("recovery files %q", files)
	}
	release()
	p.Restart(binary.Options{})
	if files := recoveryFiles(t, p.Home); len(files) != 0 {
		t.Errorf("recovery files %q are left", files)
	}
	e := p.world.editor()
	p.stands(e)
	p.tell(e, &ask{session: p.session, name: "afterwards", parts: 3})
	p.audit(e, p.session)
}

// A running turn that a shutdown interrupts while the database is locked is recovered as well.
func TestK4_03_RunningTurnOutlivesALockedShutdown(t *testing.T) {
	t.Parallel()
	p := pause(t, newWorld(t, "", binary.Options{}))
	release := lock(t, p.Database)
	p.Stop()
	release()
	p.Restart(binary.Options{})
	e := p.world.editor()
	transcript := p.audit(e, p.session)[p.session]
	if len(transcript) != 2 || transcript[1].Status != "interrupted" || transcript[1].Text != firstHalf {
		t.Errorf("transcript %v", transcript)
	}
	p.tell(e, &ask{session: p.session, name: "afterwards", parts: 3})
}

// A server that is killed before it can store an ending keeps what it had stored of it.
func TestK4_03_KilledWhileUnsaved(t *testing.T) {
	t.Parallel()
	p := pause(t, newWorld(t, "", binary.Options{}))
	release := lock(t, p.Database)
	close(p.finish)
	p.editor.Expect(testclient.Sees(p.session, "save_failed"))
	p.Kill()
	release()
	p.Restart(binary.Options{})
	e := p.world.editor()
	transcript := p.audit(e, p.session)[p.session]
	if len(transcript) != 2 || transcript[1].Status != "interrupted" || transcript[1].Text != firstHalf {
		t.Errorf("transcript %v", transcript)
	}
	p.tell(e, &ask{session: p.session, name: "afterwards", parts: 3})
}

func recoveryFiles(t *testing.T, home *binary.Home) []string {
	t.Helper()
	var state string
	for _, setting := range home.Environment() {
		if dir, ok := strings.CutPrefix(setting, "XDG_STATE_HOME="); ok {
			state = dir
		}
	}
	files, err := filepath.Glob(filepath.Join(state, "strata", "recovery-*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A second server on one database says who has it, and disturbs nobody.
func TestK4_03_SecondServer(t *testing.T) {
	t.Parallel()
	p := pause(t, newWorld(t, "", binary.Options{}))
	link := filepath.Join(t.TempDir(), "linked.db")
	if err := os.Symlink(p.Database, link); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{nil, {"--db", p.Database}, {"--db", link}} {
		out, err := p.serve(binary.Options{Args: args})
		if err == nil || !strings.Contains(out, fmt.Sprintf("process %d", p.PID)) {
			t.Errorf("a second server %q ended with %v\n%s", args, err, out)
		}
	}
	if pid, held := historystore.Holder(p.Database); !held || pid != p.PID {
		t.Errorf("the database is held by %d, %t; it is %d", pid, held, p.PID)
	}
	close(p.finish)
	p.answered()
	p.stands(p.editor)
}
