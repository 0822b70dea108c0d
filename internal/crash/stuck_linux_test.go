package crash

import (
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/stuckfs"
)

// A server whose session waits for a file that never comes shuts down: the database is free, and the next server has the
// prompt. (The kernel keeps a process until its reads have returned.)
func TestR01TheServerEndsWhateverTheDiskDoes(t *testing.T) {
	t.Parallel()
	disk := stuckfs.Mount(t)
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	session := e.NewSession(disk.Folder)
	w.tell(e, &ask{session: session, name: "before", parts: 3})
	e.StartWith(session, []any{
		map[string]any{"type": "text", "text": "look"},
		map[string]any{"type": "resource_link", "name": stuckfs.Stuck, "uri": "file://" + disk.Folder + "/" + stuckfs.Stuck},
	}, "")
	for disk.Unanswered() == 0 {
		time.Sleep(time.Millisecond)
	}
	if out, err := w.Home.Command(t.Context(), "stop").CombinedOutput(); err != nil {
		t.Errorf("strata stop: %v, %s", err, out)
	}
	disk.Abort()
	w.Wait()

	w.Restart(binary.Options{})
	if got := listed(t, w.editor(), session); len(got) < 2 {
		t.Errorf("transcript %v", got)
	}
	w.Stop()
}
