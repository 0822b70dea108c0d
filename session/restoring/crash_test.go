package restoring

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"strata/filecontext"
	"strata/historystore"
	"strata/internal/failpoint"
)

// crashEnv is the folder of a database: the test's program does a restore with it in its working folder. A failpoint kills it.
const crashEnv = "STRATA_TEST_RESTORE"

func crash() {
	ctx := context.Background()
	folder, err1 := os.Getwd()
	roots, err2 := filecontext.NewRoots(ctx, folder, nil, filecontext.Limits{})
	store, err3 := historystore.Open(ctx, filepath.Join(os.Getenv(crashEnv), "strata.db"), historystore.Options{})
	if err := cmp.Or(err1, err2, err3, failpoint.Arm(os.Getenv(failpoint.Env))); err != nil {
		panic(err)
	}
	files := &Files{Session: session, Store: store.FileChangeStore(), Saver: store, Roots: roots}
	if _, err := files.Do(ctx, After(0), false); err != nil {
		panic(err)
	}
	failpoint.Hit("restore.done")
}

// A restore that a crash ends at any place is completed by the same request, and nothing that was there is lost.
func TestARestoreThatCrashesIsRepeated(t *testing.T) {
	points := []string{"restore.kept", "restore.done"}
	for n := 1; n <= 5; n++ {
		points = append(points, fmt.Sprint("restore.file:", n), fmt.Sprint("change.before:", n), fmt.Sprint("change.after:", n))
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"a": "one", "b": "one", "m": "moved"})
			d.edits("a", "two")
			c, images := d.tool("b", file{"formatted", 0o644})
			d.commit(images[:1], c, d.move("m", "n"))
			d.edits("new", "new")
			must(t, d.store.Close())
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Dir = d.folder
			child.Env = append(os.Environ(), crashEnv+"="+d.database, failpoint.Env+"="+point)
			if out, err := child.CombinedOutput(); err == nil || len(out) > 0 {
				t.Fatalf("no crash: %v\n%s", err, out)
			}
			d.open()
			done := d.restore(After(0), "edit_1")
			if left := done.Left(); left != "" {
				t.Error(left)
			}
			for name, text := range map[string]string{"a": "one", "b": "one", "m": "moved", "n": "", "new": ""} {
				d.want(name, text)
			}
			equal(t, "states", d.states(), "fc_1 restored edit_1; fc_2 restored edit_1; fc_3 restored edit_1; fc_4 restored edit_1")
			d.restore(UndoOf("edit_1"), "edit_2")
			for name, text := range map[string]string{"a": "two", "b": "formatted", "m": "", "n": "moved", "new": "new"} {
				d.want(name, text)
			}
		})
	}
}
