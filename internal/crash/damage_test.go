package crash

import (
	"bytes"
	"fmt"

	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/binary"
	"strata/internal/testclient"
)

// A session with a damaged message opens without it, reports it, continues to work, and does not change the stored bytes.
func TestK4_02_DamagedMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	session := e.NewSession(w.Home.Project)
	for i := range 3 {
		w.tell(e, &ask{session: session, name: fmt.Sprintf("story%d", i), parts: 3})
	}
	before := listed(t, e, session)
	w.Stop()
	const damage = `{"id":"msg_`
	change(t, w.Database, "UPDATE message SET body = CAST(? AS BLOB) WHERE session = ? AND seq = 4", damage, session)

	w.Restart(binary.Options{})
	e = w.editor()
	if _, there := w.sessions(e)[session]; !there {
		t.Error("the session is not listed")
	}
	if err := load(w, e, session, ""); err != nil {
		t.Fatal(err)
	}
	frames := e.Frames().Of(session) // the response is sent after the replay
	if notices := frames.Kind("notice"); len(notices) != 1 {
		t.Errorf("%d notices about a damaged message", len(notices))
	}
	want := before[1].Text + before[5].Text
	if got := frames.Text(testclient.AgentChunk); got != want {
		t.Errorf("the replay has %d bytes of replies, want %d", len(got), len(want))
	}

	w.tell(e, &ask{session: session, name: "afterwards", parts: 3})
	after := listed(t, e, session)
	if len(after) != 8 || after[3].Status != string(history.StatusDamaged) || after[3].ID != before[3].ID {
		t.Errorf("transcript %v", after)
	}
	w.crash()
	db := open(t, w.Database, "ro")
	if got := rows(t, db, "SELECT body FROM message WHERE session = ? AND seq = 4", session); got[0][0] != damage {
		t.Errorf("the damaged message became %q", got[0][0])
	}
}

// A session without its project folder remains listed and readable, and works without files.
func TestK4_02_RemovedFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	folder := filepath.Join(w.Home.Project, "removed")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	session := e.NewSession(folder)
	w.tell(e, &ask{session: session, name: "before", parts: 3})
	w.Stop()
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}

	w.Restart(binary.Options{})
	e = w.editor()
	if _, there := w.sessions(e)[session]; !there {
		t.Error("the session is not listed")
	}
	if err := e.Call("session/load", map[string]any{"sessionId": session, "cwd": folder, "mcpServers": []any{}}, nil); err != nil {
		t.Fatal(err)
	}
	v := newViewer(t, session)
	v.attach(w)
	w.tell(e, &ask{session: session, name: "after", parts: 3})
	v.catchUp(e)
	v.compare(w.audit(e, session))
	var info struct{ Notices []string }
	if err := e.Call("_strata/session/info", map[string]any{"sessionId": session}, &info); err != nil || !strings.Contains(strings.Join(info.Notices, "\n"), folder) {
		t.Errorf("the notices are %q, error %v", info.Notices, err)
	}
	if _, there := w.sessions(e)[session]; !there {
		t.Error("opening the session removed it from the list")
	}
}

// With a damaged database the server does not start, explains why, and does not change the file.
func TestK4_02_OverwrittenDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	session := e.NewSession(w.Home.Project)
	for i := range 8 {
		w.tell(e, &ask{session: session, name: fmt.Sprintf("story%d", i), parts: 300})
	}
	w.Stop()
	whole := withoutFreePages(t, w.Database)
	const hole = 4 << 10
	inUse := bytes.Index(whole, []byte("story4, part 150 of 300"))
	if inUse < 0 {
		t.Fatal("the story is not in the database")
	}
	fills := map[string][]byte{
		"zeros": make([]byte, hole), "ones": bytes.Repeat([]byte{0xff}, hole), "text": []byte(strings.Repeat("damage. ", hole/8)),
	}
	for fill, content := range fills {
		for _, at := range []int{inUse &^ (hole - 1), inUse&^(hole-1) + hole/2} {
			damaged := bytes.Clone(whole)
			copy(damaged[at:], content)
			folder := t.TempDir()
			path := filepath.Join(folder, "copy.db")
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := w.serve(binary.Options{Args: []string{"--db", path}})
			if err == nil || !strings.Contains(out, "damaged") || !strings.Contains(out, path) || !strings.Contains(out, "nothing was deleted") {
				t.Errorf("%s at %d: strata serve = %v\n%s", fill, at, err, out)
			}
			left, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(left, damaged) {
				t.Errorf("%s at %d: the database was changed, or %v", fill, at, err)
			}
			if others := databases(t, folder); len(others) != 1 {
				t.Errorf("%s at %d: unexpected files %v", fill, at, others)
			}
		}
	}

	w.Restart(binary.Options{}) // the original database is undamaged
	w.audit(w.editor(), session)
}

// withoutFreePages returns the bytes of a database without pages that are free, in which damage is none.
func withoutFreePages(t *testing.T, path string) []byte {
	t.Helper()
	packed := filepath.Join(t.TempDir(), "packed.db")
	db := open(t, path, "ro")
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", packed); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// databases returns the SQLite files in a folder.
func databases(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, name := range names {
		if content, err := os.ReadFile(name); err == nil && bytes.HasPrefix(content, []byte("SQLite format 3\x00")) {
			found[name] = true
		}
	}

	return found
}
