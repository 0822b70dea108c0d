package change

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"testing"

	"strata/filecontext"
	"strata/internal/failpoint"
)

// crashEnv makes the test's program make the change that it names, in its working folder. A failpoint kills it.
const crashEnv = "STRATA_TEST_CHANGE"

// crashing returns a change by its name.
func crashing(name string, files Files) (*Plan, error) {
	at := func(path string) filecontext.Ref {
		ref, err := files.Roots.Locate(path)
		if err != nil {
			panic(err)
		}
		return ref
	}
	ctx := context.Background()
	switch name {
	case "edit":
		return files.Edit(ctx, at("dir/a.txt"), []Edit{{OldText: "a", NewText: "b"}})
	case "delete":
		return files.Delete(ctx, at("dir/a.txt"))
	case "move":
		return files.Move(ctx, at("dir/a.txt"), at("dir/b.txt"))
	case "new":
		return files.Write(ctx, at("dir/n.txt"), "n\n")
	}
	return files.Write(ctx, at("x/y/n.txt"), "n\n")
}

func crash() {
	err := failpoint.Arm(os.Getenv(failpoint.Env))
	folder, err1 := os.Getwd()
	roots, err2 := filecontext.NewRoots(context.Background(), folder, nil, filecontext.Limits{})
	if err := cmp.Or(err, err1, err2); err != nil {
		panic(err)
	}
	p, err := crashing(os.Getenv(crashEnv), Files{Roots: roots})
	if err == nil {
		err = p.Make(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

// After a crash a file is as it was or as it became, the hashes tell which, and the next change in the folder removes what the
// crash has left.
func TestACrashLeavesTheOldOrTheNewFile(t *testing.T) {
	for _, tt := range []struct {
		change, at string
		want       State
	}{
		{"edit", "before", NotDone}, {"edit", "after", Done},
		{"delete", "before", NotDone}, {"delete", "after", Done},
		{"new", "before", NotDone}, {"new", "after", Done},
		{"new in a folder", "before", NotDone}, {"new in a folder", "after", Done},
		{"move", "before", NotDone}, {"move", "after", Unknown}, {"move", "before:2", Unknown}, {"move", "after:2", Done},
	} {
		t.Run(tt.change+" "+tt.at, func(t *testing.T) {
			d := newDesk(t, map[string]string{"dir/a.txt": "a\n"})
			p, err := crashing(tt.change, d.files)
			must(t, err)
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Dir = d.folder
			child.Env = append(os.Environ(), crashEnv+"="+tt.change, failpoint.Env+"=change."+tt.at)
			if out, err := child.CombinedOutput(); err == nil || len(out) > 0 {
				t.Fatalf("no crash: %v\n%s", err, out)
			}
			d.wantState(p, tt.want)
			for _, e := range p.Effects {
				if text := d.text(e.Path); text != "none" && hashOf([]byte(text)) != e.Before && hashOf([]byte(text)) != e.After {
					t.Errorf("%s is %q", e.Path, text)
				}
			}
			must(t, d.write("dir/next.txt", "x").Make(t.Context()))
			if tt.change == "new in a folder" {
				must(t, d.write("x/y/next.txt", "x").Make(t.Context()))
			}
			d.wantNoTemps()
		})
	}
}
