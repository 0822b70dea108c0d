package architecture

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var compileFor = flag.String("systems", "", "systems for which TestEverythingCompiles checks all types: windows,darwin")

// TestEverythingCompiles checks the types of all packages and tests as the compiler for other systems does. It reads only
// the declarations of dependencies: a build would take minutes for the database alone.
func TestEverythingCompiles(t *testing.T) {
	if *compileFor == "" {
		t.Skip("`make check` gives the systems")
	}
	for _, system := range strings.Split(*compileFor, ",") {
		t.Run(system, func(t *testing.T) {
			packages := listToCompile(t, system)
			for _, fault := range compileFaults(packages) {
				t.Error(fault)
			}
			if len(packages) < 100 {
				t.Errorf("%d packages were checked", len(packages))
			}
		})
	}
}

func TestCompileFaults(t *testing.T) {
	write := func(dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lower, upper := t.TempDir(), t.TempDir()
	write(lower, "lower.go", "package lower\n\nfunc Known() int { return wrong }\n") // of a dependency only the declaration counts
	write(upper, "upper.go", "package upper\n\nimport \"x/lower\"\n\nvar A int = lower.Known()\n\nfunc f() { lower.Missing() }\n")
	all := []compiled{
		{ImportPath: "x/lower", Dir: lower, GoFiles: []string{"lower.go"}},
		{ImportPath: "strata/upper", Dir: upper, GoFiles: []string{"upper.go"}, Imports: []string{"x/lower"}},
	}
	faults := compileFaults(all)
	if len(faults) != 1 || !strings.Contains(faults[0], "lower.Missing") {
		t.Errorf("faults %q", faults)
	}
	all[0].ImportPath = "strata/lower"
	all[1].ImportMap = map[string]string{"x/lower": "strata/lower"}
	if faults := compileFaults(all); len(faults) != 2 || !strings.Contains(faults[0], "wrong") {
		t.Errorf("faults %q although both packages are ours", faults)
	}
	write(upper, "upper.go", "package upper\n\nfunc {\n")
	if faults := compileFaults(all); len(faults) != 2 || !strings.Contains(faults[1], "upper.go:3") {
		t.Errorf("faults %q of a file that cannot be parsed", faults)
	}
}

// compiled describes a package to compile, from `go list`; a package with its test files is named "path [path.test]".
type compiled struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	ImportMap  map[string]string // from the path in a file to the ImportPath, where they differ
	Standard   bool
}

// ours reports whether p belongs to this module.
func (p compiled) ours() bool { return !p.Standard && strings.HasPrefix(p.ImportPath, "strata/") }

// listToCompile returns the packages and tests of this module and all dependencies on a system, each after its own.
func listToCompile(t *testing.T, system string) []compiled {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,Imports,ImportMap,Standard", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaints.String())
	}
	var packages []compiled
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p compiled
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		if !strings.HasSuffix(p.ImportPath, ".test") { // the main package of a test, which does not exist yet
			packages = append(packages, p)
		}
	}
}

// compileFaults returns the syntax and type errors in packages of this module. Each package must come after its imports.
func compileFaults(packages []compiled) (faults []string) {
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	for _, p := range packages {
		if p.ImportPath == "unsafe" {
			continue
		}
		report := func(err error) {
			if p.ours() {
				faults = append(faults, err.Error())
			}
		}
		set := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				report(err)
				continue
			}
			files = append(files, file)
		}
		config := types.Config{
			IgnoreFuncBodies: !p.ours(),
			Error:            report,
			Importer:         listed{known, p.ImportMap},
			Sizes:            types.SizesFor("gc", runtime.GOARCH),
		}
		known[p.ImportPath], _ = config.Check(p.ImportPath, set, files, nil) // the error was reported
	}
	return faults
}

// listed finds packages that were checked before.
type listed struct {
	known  map[string]*types.Package
	mapped map[string]string
}

// Import implements types.Importer.
func (l listed) Import(path string) (*types.Package, error) {
	if other := l.mapped[path]; other != "" {
		path = other
	}
	if p := l.known[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s was not listed before its use", path)
}
