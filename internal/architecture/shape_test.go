package architecture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackagesKeepTheirShape(t *testing.T) {
	for _, s := range shapes(t) {
		for _, fault := range shapeFaults(s) {
			t.Error(fault)
		}
	}
}

// shapes measures all packages of the tree.
func shapes(t *testing.T) []shape {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var packages []listed
	exports := make(map[string]string)
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		exports[p.ImportPath] = p.Export
		if ours(p.ImportPath) {
			packages = append(packages, p)
		}
	}
	var measured []shape
	for _, p := range packages {
		for i, name := range p.GoFiles {
			p.GoFiles[i] = filepath.Join(p.Dir, name)
		}
		s, err := shapeOf(p.ImportPath, p.GoFiles, func(path string) (io.ReadCloser, error) {
			if exports[path] == "" {
				return nil, fmt.Errorf("no export data of %s", path)
			}
			return os.Open(exports[path])
		})
		if err != nil {
			t.Fatal(err)
		}
		measured = append(measured, s)
	}
	return measured
}

func TestShapeFaults(t *testing.T) {
	ring := func(n int) map[string]map[string]bool {
		uses := make(map[string]map[string]bool)
		for i := range n {
			uses[fmt.Sprint("f", i)] = map[string]bool{fmt.Sprint("f", (i+1)%n): true}
		}
		uses["apart"] = map[string]bool{"f0": true}
		return uses
	}
	tests := []struct {
		name string
		of   shape
		want []string
	}{
		{"at the limits", shape{importPath: "p", lines: maxPackage, methods: map[string]int{"T": maxMethods}, uses: ring(maxFileCycle)}, nil},
		{"too long", shape{importPath: "p", lines: 3501}, []string{"p has 3501 lines without its tests, more than 3500"}},
		{"too many methods", shape{importPath: "p", methods: map[string]int{"T": 61, "U": 1}}, []string{"p.T has 61 methods, more than 60"}},
		{"a knot", shape{importPath: "p", uses: ring(9)}, []string{"p: 9 files need each other, more than 8: f0, f1, f2, f3, f4, f5, f6, f7, f8"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, shapeFaults(tt.of)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShapeOf(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for name, text := range map[string]string{
		"a.go": "package p\n\ntype T[K any] struct{ field int }\n\nfunc (t *T[K]) one() { two() }\n",
		"b.go": "package p\n\nfunc two() {}\n\nfunc (t T[K]) three() { _ = t.field }\n",
		"c.go": "package p\n\nfunc four() { two := 1; _ = two }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	got, err := shapeOf("p", paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := shape{
		importPath: "p", lines: 13, methods: map[string]int{"T": 2},
		uses: map[string]map[string]bool{"a.go": {"b.go": true}, "b.go": {"a.go": true}, "c.go": {}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(shape{})); diff != "" {
		t.Errorf("shape (-want +got):\n%s", diff)
	}
}
