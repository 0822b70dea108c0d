package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/filecontext"
)

func TestListFilesShowsATree(t *testing.T) {
	other := folderOf(t, map[string]string{"lib/x.go": ""})
	w := workspaceOf(t, folderOf(t, map[string]string{
		"a.go": "", "src/b.go": "", "src/deep/c.ts": "", "src/deep/c_test.ts": "", ".gitignore": "out/\n", "out/x.js": "", "odd\nname": "",
	}), other)
	for _, tt := range []struct {
		input members
		want  string
	}{
		{members{}, ".: 6 files\n.gitignore\na.go\n\"odd\\nname\"\nsrc/\n  b.go\n  deep/\n    c.ts\n    c_test.ts\n" + other + ": 1 file\nlib/\n  x.go\n"},
		{members{"path": "src"}, "src: 3 files\nb.go\ndeep/\n  c.ts\n  c_test.ts\n"},
		{members{"path": "out"}, "out: 1 file\nx.js\n"},
		{members{"path": other + "/lib"}, other + "/lib: 1 file\nx.go\n"},
		{members{"path": "a.go"}, "a.go is a file with 0 bytes."},
		{members{"path": ".", "pattern": "*.{ts,tsx}"}, ".: 2 files\nsrc/deep/c.ts\nsrc/deep/c_test.ts\n"},
		{members{"path": "src", "pattern": "deep/*.ts"}, "src: 2 files\nsrc/deep/c.ts\nsrc/deep/c_test.ts\n"},
		{members{"path": "src", "pattern": "src/**/*_test.ts"}, "src: 1 file\nsrc/deep/c_test.ts\n"},
		{members{"path": "src", "pattern": "!*_test.ts"}, "src: 2 files\nsrc/b.go\nsrc/deep/c.ts\n"},
		{members{"path": "src", "pattern": "*.rs"}, "src: 0 files\n"},
	} {
		equal(t, fmt.Sprint(tt.input), said(t, w, "list_files", tt.input), tt.want)
	}
	hasAll(t, complained(t, w, "list_files", members{"path": "nowhere"}), "nowhere does not exist")
	hasAll(t, complained(t, w, "list_files", members{"path": ".."}), "outside the workspace")
	hasAll(t, complained(t, w, "list_files", members{"pattern": "{a,b"}), "pattern has a { without }")
}

func TestListFilesIsBounded(t *testing.T) {
	folder := folderOf(t, nil)
	for i := range 3000 {
		name := filepath.Join(folder, fmt.Sprintf("folder-%d/a-file-with-a-long-name-%04d.txt", i/1000, i))
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, nil, 0o600))
	}
	w := workspaceOf(t, folder)
	equal(t, "tree", strings.Count(said(t, w, "list_files", members{}), "\n"), 1004)
	hasAll(t, said(t, w, "list_files", members{}), ".: 3000 files\n", "folder-1/ (1000 files)\nfolder-2/ (1000 files)\n")
	flat := said(t, w, "list_files", members{"pattern": "*.txt"})
	shown := strings.Count(flat, ".txt\n")
	hasAll(t, flat, fmt.Sprintf("[%d files more; a narrower pattern or path shows them]\n", 3000-shown))
	if len(flat) < MaxResult-200 {
		t.Errorf("%d bytes", len(flat))
	}
	for _, limit := range []int{0, 50, 500} {
		for _, in := range []listInput{{}, {Pattern: "*.txt"}} {
			r, err := in.run(t.Context(), w.Roots, limit)
			must(t, err)
			if cut := Cut(r, limit); cut.Size() > limit {
				t.Errorf("%d bytes, limit %d", cut.Size(), limit)
			}
		}
	}
}

func TestListFilesSaysWhatIsMissing(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.go": "", "bad\xff.go": ""})
	must(t, os.MkdirAll(folder+strings.Repeat("/deep", 40), 0o700))
	equal(t, "tree", said(t, workspaceOf(t, folder), "list_files", members{}),
		".: 1 file\na.go\n[not included: 1 file with an invalid name, 1 folder nested too deeply]\n")
	gone := folderOf(t, nil)
	w := workspaceOf(t, folder, gone)
	must(t, os.Remove(gone))
	hasAll(t, said(t, w, "list_files", members{}), ".: 1 file\n")
}

func TestListFilesEndsWithItsContext(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{"a.go": ""}))
	ctx, cancel := context.WithCancel(t.Context())
	all, err := folders(ctx, w.Roots, "", false)
	must(t, err)
	cancel()
	pattern, err := filecontext.NewPattern("*.go")
	must(t, err)
	if _, err := all[0].matching(ctx, pattern); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
