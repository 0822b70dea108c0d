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

// paused is a reply that continues when the test allows it.
type paused struct {
	*world
	editor  *testclient.Editor
	session string
	turn    *testclient.Turn
	finish  chan struct{}
}

const firstHalf, secondHalf = "This is the first half. ", "This is the second."

// pause starts a reply and waits until its first half is on disk.
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

// beginningSaved waits until part of the running reply is on disk.
func beginningSaved(t *testing.T, path, session string) {
	t.Helper()
	db := open(t, path, "ro")
	defer db.Close()
	eventually(t, "the beginning of the answer on the disk", func() bool {
		return len(rows(t, db, "SELECT text FROM partial WHERE session = ?", session)) > 0
	})
}

// answered expects the whole reply, even if it could not be stored.
func (p *paused) answered() {
	p.t.Helper()
	reply, err := p.turn.Wait()
	if err != nil {
		p.t.Fatal(err)
	}
	if reply.StopReason != "end_turn" || reply.Said() != firstHalf+secondHalf {
		p.t.Errorf("ended with %q and text %q", reply.StopReason, reply.Said())
	}
}

// isStored expects the whole reply in the transcript.
func (p *paused) isStored(e *testclient.Editor) {
	p.t.Helper()
	transcript := p.audit(e, p.session)[p.session]
	if len(transcript) < 2 || transcript[1].Status != "complete" || transcript[1].Text != firstHalf+secondHalf {
		p.t.Errorf("transcript %v", transcript)
	}
}

// busyTimeout is the minimum time for which the server waits for the lock; see historystore.
const busyTimeout = 5 * time.Second

// If another process holds the lock for three seconds at the end of a reply, the server waits and no client notices. On a
// very busy machine the three seconds may exceed the server's timeout; such a round is not evaluated.
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
	<-time.After(3 * time.Second) // as in the case
	if len(p.editor.Frames().Of(p.session).Kind("saved")) > 0 {
		t.Error("a reply is reported as saved while the database is locked")
	}
	release()
	held = time.Since(start)
	p.answered()
	p.editor.Expect(testclient.Sees(p.session, "saved"))
	if failed := p.editor.Frames().Of(p.session).Kind("save_failed"); len(failed) > 0 && held < busyTimeout {
		t.Errorf("the client received %s", failed[0].Raw)
	}
	p.isStored(p.editor)
	return held
}

// If another process holds the lock longer, no reply is lost: the client receives it with a notice that it is not saved,
// can continue to read, and the reply is saved when the database is free.
func TestK4_03_LockedForLonger(t *testing.T) {
	t.Parallel()
	p := pause(t, newWorld(t, "", binary.Options{}))
	release := lock(t, p.Database)
	close(p.finish)
	p.editor.Expect(testclient.Sees(p.session, "save_failed")) // after the busy timeout
	p.answered()

	_, err := p.editor.Prompt(p.session, "And now?")
	var data struct{ Reason string }
	if f := wantFault(t, err, codeStorage); json.Unmarshal(f.Data.(json.RawMessage), &data) != nil || data.Reason == "" {
		t.Errorf("a prompt while a reply is not saved is refused with %+v", f)
	}
	if got := listed(t, p.editor, p.session); len(got) != 1 {
		t.Errorf("the stored transcript is %v", got)
	}
	release()
	p.editor.Expect(testclient.Sees(p.session, "saved"))
	p.tell(p.editor, &ask{session: p.session, name: "afterwards", parts: 3})
	p.isStored(p.editor)
}

// A prompt that cannot be stored is refused, and nothing of its reply is shown, although the provider is called meanwhile.
func TestK4_03_PromptWhileLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	a := &ask{session: e.NewSession(w.Home.Project), name: "refused", parts: 3}
	release := lock(t, w.Database)
	reply, err := a.send(e).Wait()
	wantFault(t, err, codeStorage)
	if n := w.teller.times(a); n > 1 || reply.Said() != "" {
		t.Errorf("%d requests to the provider; the client received %q", n, reply.Said())
	}
	release()
	w.tell(e, a)
	if transcript := w.audit(e, a.session)[a.session]; len(transcript) != 2 {
		t.Errorf("transcript %v", transcript)
	}
}

// A server that must stop while the database is locked writes the result that it cannot store to a recovery file, which
// the next start reads.
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
		t.Errorf("recovery files %q remain", files)
	}
	e := p.world.editor()
	p.isStored(e)
	p.tell(e, &ask{session: p.session, name: "afterwards", parts: 3})
	p.audit(e, p.session)
}

// A running turn that is interrupted by a shutdown while the database is locked is recovered, too.
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

// If a server is killed before it can store a result, the saved chunks of the reply are kept.
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

// A second server on the same database reports the process that has it open, and does not affect that process.
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
		t.Errorf("the database is held by %d, %t; want %d", pid, held, p.PID)
	}
	close(p.finish)
	p.answered()
	p.isStored(p.editor)
}
