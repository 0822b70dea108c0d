package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// smallDisk is the size of the file system that tests fill, in bytes.
const smallDisk = "16777216"

// disk is a small file system with a database on it.
type disk struct {
	*world
	dir string
}

// newDisk starts a server whose database is on a small file system.
func newDisk(t *testing.T) *disk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("strata-test", dir, "tmpfs", 0, "size="+smallDisk); err != nil {
		t.Skipf("cannot mount a file system: %v", err)
	}
	t.Cleanup(func() { // after the server has ended
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return &disk{newWorld(t, "db: "+filepath.Join(dir, "strata.db")+"\n", binary.Options{}), dir}
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill uses all free bytes.
func (d *disk) fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		n, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC) && n == 0:
			size /= 2
		case err != nil && !errors.Is(err, syscall.ENOSPC):
			d.t.Fatal(err)
		}
	}
}

func (d *disk) free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}

// large returns a prompt that needs more room than the database has free.
func large(name string) string { return name + strings.Repeat(" and much more of the same", 12_000) }

func wantFull(t *testing.T, err error) {
	t.Helper()
	var data struct{ Reason string }
	f := wantFault(t, err, codeStorage)
	if json.Unmarshal(f.Data.(json.RawMessage), &data) != nil || !strings.Contains(data.Reason, "full") {
		t.Errorf("refused with %+v", f)
	}
}

// A prompt that does not fit on a full disk is refused without loss, and works when there is room again.
func TestPromptOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	e := d.editor()
	session := e.NewSession(d.Home.Project)
	d.tell(e, &ask{session: session, name: "before", parts: 20})
	before := d.audit(e, session)[session]

	d.fill()
	reply, err := e.Prompt(session, large("refused"))
	wantFull(t, err)
	if reply.Said() != "" {
		t.Errorf("of a refused prompt, the client received %q", reply.Said())
	}
	if got := listed(t, e, session); len(got) != len(before) {
		t.Errorf("the transcript is %v", got)
	}

	d.free()
	if reply, err := e.Prompt(session, large("taken")); err != nil || reply.StopReason != "end_turn" {
		t.Errorf("with free space, a prompt ended with %q, %v", reply.StopReason, err)
	}
	d.crash()
	e = d.editor()
	after := d.audit(e, session)[session]
	if len(after) != len(before)+2 || after[0] != before[0] || after[1] != before[1] {
		t.Errorf("transcript %v", after)
	}
}

// largeAnswer is a large reply that pauses near its start until the test has filled the disk.
func largeAnswer(gate <-chan struct{}) upstream.Script {
	steps := []upstream.Step{upstream.Text("It begins. "), upstream.Hold(gate)}
	for range 100 {
		steps = append(steps, upstream.Text(strings.Repeat("It goes on. ", 200)))
	}
	return upstream.Script{Steps: steps}
}

// fillDuring starts a reply, fills the disk, and waits until the client has the reply and the notice that it is not saved.
func (d *disk) fillDuring(e *testclient.Editor, session string) (said string) {
	d.t.Helper()
	if _, err := e.Attach(session, testclient.Place{}); err != nil {
		d.t.Fatal(err)
	}
	gate := make(chan struct{})
	d.teller.Push(largeAnswer(gate))
	turn := e.Start(session, "Tell me much.")
	e.Expect(testclient.Says(session, testclient.AgentChunk, "It begins."))
	beginningSaved(d.t, d.Database, session)
	d.fill()
	close(gate)
	e.Expect(testclient.Sees(session, "save_failed"))
	reply, err := turn.Wait()
	if err != nil || reply.StopReason != "end_turn" {
		d.t.Fatalf("the turn ended with %q, %v", reply.StopReason, err)
	}
	return reply.Said()
}

// A reply that does not fit on the disk is kept, and stored when there is room.
func TestAnswerOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	e := d.editor()
	session := e.NewSession(d.Home.Project)
	said := d.fillDuring(e, session)
	_, err := e.Prompt(session, "And now?")
	wantFault(t, err, codeStorage)

	if n := strings.Count(d.Log(), "partial answer not saved"); n > 1 {
		t.Errorf("%d log lines about an unsaved partial reply", n)
	}

	d.free()
	e.Expect(testclient.Sees(session, "saved"))
	d.tell(e, &ask{session: session, name: "afterwards", parts: 3})
	if got := d.audit(e, session)[session]; len(got) != 4 || got[1].Status != "complete" || got[1].Text != said {
		t.Errorf("transcript %v", got)
	}
}

// A reply that does not fit on the disk until the server stops is in the recovery file, and remains there until a start
// has enough room for it.
func TestAnswerOutlivesStartsOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		room int64 // free bytes at the start on the full disk
	}{
		{"none", 0},
		{"little", 256 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t)
			e := d.editor()
			session := e.NewSession(d.Home.Project)
			said := d.fillDuring(e, session)
			d.Stop()
			if files := recoveryFiles(t, d.Home); len(files) != 1 {
				t.Errorf("recovery files %q", files)
			}

			d.fill() // closing the database has freed some space
			d.leave(tt.room)
			d.startFull(session)
			if files := recoveryFiles(t, d.Home); len(files) != 1 {
				t.Errorf("recovery files after a start on a full disk: %q", files)
			}
			d.free()
			d.Restart(binary.Options{})
			e = d.editor()
			if got := d.audit(e, session)[session]; len(got) != 2 || got[1].Status != "complete" || got[1].Text != said {
				t.Errorf("transcript %v, the reply had %d bytes", got, len(said))
			}
			d.tell(e, &ask{session: session, name: "afterwards", parts: 3})
		})
	}
}

// A session whose last turn was interrupted by a kill can be read on a full disk. Its turn is settled when there is room,
// and only then it takes a prompt.
func TestR07AnUnsettledSessionIsReadableOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	e := d.editor()
	session := e.NewSession(d.Home.Project)
	gate := make(chan struct{})
	defer close(gate)
	d.teller.Push(largeAnswer(gate))
	e.Start(session, "Tell me much.")
	e.Expect(testclient.Says(session, testclient.AgentChunk, "It begins."))
	beginningSaved(t, d.Database, session)
	d.Kill()
	d.fill()

	d.Restart(binary.Options{})
	e = d.editor()
	if got := listed(t, e, session); len(got) != 1 || got[0].Text != "Tell me much." {
		t.Errorf("the transcript on a full disk is %v", got)
	}
	if a, err := e.Attach(session, testclient.Place{}); err != nil || !strings.Contains(string(a.Snapshot), "It begins.") {
		t.Errorf("the session on a full disk is %s, %v", a.Snapshot, err)
	}
	_, err := e.Prompt(session, "And now?")
	wantFault(t, err, codeStorage)

	d.free()
	e.Expect(testclient.Sees(session, "saved"))
	d.tell(e, &ask{session: session, name: "afterwards", parts: 3})
	if got := d.audit(e, session)[session]; len(got) != 4 || got[1].Status != "interrupted" || got[1].Text != "It begins. " {
		t.Errorf("transcript %v", got)
	}
}

// leave frees some bytes.
func (d *disk) leave(room int64) {
	d.t.Helper()
	info, err := os.Stat(d.ballast())
	if err == nil {
		err = os.Truncate(d.ballast(), info.Size()-room)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// startFull starts a server, which may fail, lets a client read the session with the reply, and stops the server.
func (d *disk) startFull(session string) {
	d.t.Helper()
	var out bytes.Buffer
	cmd := d.Home.Command(d.t.Context(), "serve")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	eventually(d.t, "the start or the end of a server on a full disk", func() bool {
		info, err := d.Home.ServerFile()
		if d.Info = info; err == nil && info.PID == cmd.Process.Pid {
			return true
		}
		return len(ended) > 0
	})
	if len(ended) == 0 {
		e := d.editor()
		if a, err := e.Attach(session, testclient.Place{}); err != nil || !strings.Contains(string(a.Snapshot), "It goes on.") {
			d.t.Errorf("the session on a full disk is %.300s, %v", a.Snapshot, err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			d.t.Fatal(err)
		}
	}
	err := within(d.t, "the end of a server on a full disk", ended)
	d.t.Logf("the server on a full disk ended with %v\n%s", err, out.String())
}
