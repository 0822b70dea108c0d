package graph

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"strata/filecontext/outline"
	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A workspace is a parsed archive.
type workspace struct {
	files           []File
	options         Options
	edges, clusters string
}

func load(t testing.TB, archive []byte) workspace {
	t.Helper()
	parser := outline.New(outline.Options{CacheDir: t.TempDir(), Timeout: time.Hour})
	t.Cleanup(parser.Close)
	w := workspace{options: Options{GoMods: make(map[string]string)}}
	for _, f := range txtar.Parse(archive).Files {
		switch text := string(f.Data); {
		case f.Name == "edges":
			w.edges = text
		case f.Name == "clusters":
			w.clusters = text
		case strings.HasSuffix(f.Name, "go.mod"):
			w.options.GoMods[f.Name] = text
		default:
			o, err := parser.Parse(t.Context(), f.Name, text)
			if err != nil {
				t.Fatal(err)
			}
			if o.Partial {
				t.Fatalf("%s has syntax errors", f.Name)
			}
			w.files = append(w.files, File{f.Name, o})
		}
	}
	return w
}

func describe(g *Graph) (edges, clusters string) {
	var e, c strings.Builder
	for _, edge := range g.Edges() {
		fmt.Fprintf(&e, "%s -> %s %d\n", edge.From, edge.To, edge.Weight)
	}
	for _, keys := range g.Clusters() {
		for i, key := range keys {
			keys[i] = strings.TrimPrefix(key, "outline:")
		}
		fmt.Fprintln(&c, strings.Join(keys, " "))
	}
	return e.String(), c.String()
}

func TestGraphOfAWorkspace(t *testing.T) {
	w := load(t, read(t, "testdata/workspace.txtar"))
	for range 5 { // in any order
		edges, clusters := describe(New(w.files, w.options))
		if d := cmp.Diff(w.edges, edges); d != "" {
			t.Error("edges (-want +got)", d)
		}
		if d := cmp.Diff(w.clusters, clusters); d != "" {
			t.Error("clusters (-want +got)", d)
		}
		rand.Shuffle(len(w.files), func(i, j int) { w.files[i], w.files[j] = w.files[j], w.files[i] })
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// file returns a file whose outline has imports and, as functions, definitions.
func file(path string, imports, defines, uses string) File {
	o := &outline.Outline{Language: outline.LanguageOf(path), Uses: strings.Fields(uses)}
	for _, i := range strings.Fields(imports) {
		o.Imports = append(o.Imports, outline.Import{Path: i, Line: 1})
	}
	for i, n := range strings.Fields(defines) {
		o.Symbols = append(o.Symbols, outline.Symbol{Kind: "func", Name: n, Line: i + 2, EndLine: i + 2})
	}
	return File{path, o}
}

// paths returns files without content.
func paths(names ...string) []File {
	var files []File
	for _, n := range names {
		files = append(files, file(n, "", "", ""))
	}
	return files
}

func TestImports(t *testing.T) {
	from := func(path, language string, imports ...outline.Import) File {
		return File{path, &outline.Outline{Language: language, Imports: imports}}
	}
	imports := func(path string, names ...string) outline.Import {
		return outline.Import{Path: path, Names: names, Line: 1}
	}
	modules := map[string]string{
		"go.mod":       "// module no\nmodule \"example.org/a\" // comment\n",
		"tools/go.mod": "module\texample.org/a/tools\r\n",
		"x/go.mod":     "module",
	}
	inModule := func(f File) File {
		f.Outline.Symbols = []outline.Symbol{{Kind: "module", Name: "tests", Line: 1, EndLine: 9}, {Kind: "module", Name: "deep", Line: 2, EndLine: 8, Depth: 1}}
		f.Outline.Imports[0].Line = 5
		return f
	}
	tests := []struct {
		name string
		from File
		to   []File
		want string
	}{
		{"the root of a module", from("x/x.go", "go", imports("example.org/a")), paths("a.go", "tools/b.go"), "a.go"},
		{"a nested module", from("x/x.go", "go", imports("example.org/a/tools")), paths("tools/b.go"), "tools/b.go"},
		{"only the start of a module's name", from("x/x.go", "go", imports("example.org/ab")), paths("b/b.go", "a.go"), ""},
		{"a package without its tests", from("x/x.go", "go", imports("example.org/a/p")), paths("p/a.go", "p/a_test.go"), "p/a.go"},
		{"a large package", from("x/x.go", "go", imports("example.org/a/p")), paths("p/1.go", "p/2.go", "p/3.go", "p/4.go", "p/5.go", "p/6.go", "p/7.go", "p/8.go", "p/9.go"), ""},

		{"script means TypeScript", from("a/x.ts", "typescript", imports("./y.js")), paths("a/y.js", "a/y.ts"), "a/y.ts"},
		{"script means script", from("a/x.js", "javascript", imports("./y.js")), paths("a/y.js", "a/y.ts"), "a/y.js"},
		{"an index", from("a/x.ts", "typescript", imports("..")), paths("index.ts"), "index.ts"},
		{"a file before an index", from("x.ts", "typescript", imports("./y")), paths("y.d.ts", "y/index.ts"), "y.d.ts"},
		{"another dot", from("x.ts", "typescript", imports("./y.service?raw")), paths("y.service.ts"), "y.service.ts"},
		{"out of the workspace", from("x.ts", "typescript", imports("../y")), paths("y.ts"), ""},
		{"a package", from("x.ts", "typescript", imports("react")), paths("react.ts"), ""},

		{"a package beside", from("a/x.py", "python", imports("b.c")), paths("a/b/c.py", "b/c.py"), "a/b/c.py"},
		{"not inside of a package", from("a/x.py", "python", imports("logging")), paths("a/__init__.py", "a/logging.py", "src/logging.py"), "src/logging.py"},
		{"a stub", from("x.py", "python", imports("b", "name")), paths("b.pyi"), "b.pyi"},
		{"names that are modules, and one that is not", from("x.py", "python", imports("b", "c", "name")), paths("b/__init__.py", "b/c.py"), "b/__init__.py b/c.py"},
		{"a package around", from("a/b/x.py", "python", imports("..", "y")), paths("a/y.py"), "a/y.py"},
		{"the root as a package", from("x.py", "python", imports(".", "y", "name")), paths("y.py", "__init__.py"), "__init__.py y.py"},
		{"too many dots", from("a/x.py", "python", imports("....y")), paths("y.py"), ""},
		{"absurdly many dots", from("a/x.py", "python", imports(strings.Repeat(".", 200))), paths("y.py"), ""},

		{"an include beside", from("a/x.c", "c", imports("y.h")), paths("a/y.h", "b/y.h"), "a/y.h"},
		{"the nearest include", from("a/b/x.c", "c", imports("y.h")), paths("a/c/y.h", "d/y.h"), "a/c/y.h"},
		{"an ambiguous include", from("a/x.c", "c", imports("y.h")), paths("b/y.h", "c/y.h"), ""},
		{"the end of a path", from("a/x.c", "c", imports("<p/y.h>")), paths("b/p/y.h", "b/qp/y.h", "y.h"), "b/p/y.h"},
		{"an include above", from("x.c", "c", imports("../p/y.h")), paths("p/y.h"), "p/y.h"},
		{"C++", from("x.cc", "cpp", imports("y.hpp")), paths("y.hpp"), "y.hpp"},

		{"a path of a gem", from("bin/x.rb", "ruby", imports("shop/y")), paths("lib/shop/y.rb", "lib/y.rb"), "lib/shop/y.rb"},
		{"a Ruby file above", from("a/x.rb", "ruby", imports("../y.rb")), paths("y.rb"), "y.rb"},
		{"a PHP file by its end", from("a/x.php", "php", imports("inc/y.php")), paths("inc/y.php"), "inc/y.php"},

		{"a crate", from("a/src/x.rs", "rust", imports("my_lib::y::Type")), paths("b/my-lib/src/lib.rs", "b/my-lib/src/y.rs"), "b/my-lib/src/y.rs"},
		{"two crates of one name", from("a/src/x.rs", "rust", imports("l::Type")), paths("b/l/src/lib.rs", "c/l/src/lib.rs"), ""},
		{"a library", from("a/src/x.rs", "rust", imports("serde::Type")), paths("a/src/lib.rs"), ""},
		{"the root of a crate", from("a/src/x/y.rs", "rust", imports("crate::Type")), paths("a/src/main.rs"), "a/src/main.rs"},
		{"a module below", from("a/src/x.rs", "rust", imports("self::y")), paths("a/src/x/y.rs", "a/src/y.rs"), "a/src/x/y.rs"},
		{"a module around", from("src/x/mod.rs", "rust", imports("super::y")), paths("src/y/mod.rs", "src/x/y.rs"), "src/y/mod.rs"},
		{"from a module in the file", inModule(from("src/x.rs", "rust", imports("super::super::y::T"))), paths("src/x/y.rs", "src/y.rs"), "src/x/y.rs"},
		{"the file around a module", inModule(from("src/x.rs", "rust", imports("super::super::*"))), paths("src/lib.rs"), ""},
		{"too many supers", from("src/x.rs", "rust", imports(strings.Repeat("super::", 40)+"y")), paths("y.rs"), "y.rs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range New(append(test.to, test.from), Options{modules}).Edges() {
				if e.From == test.from.Path {
					got = append(got, e.To)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("imports %q, want %q", got, test.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	definers := func(n int) []File {
		var files []File
		for i := range n {
			files = append(files, file(fmt.Sprintf("p%d/x.go", i), "", "Common", ""))
		}
		return files
	}
	method := file("m.ts", "", "", "")
	method.Outline.Symbols = []outline.Symbol{{Kind: "class", Name: "Box"}, {Kind: "method", Name: "openBox", Depth: 1}}
	member := func(path, name string) File {
		f := file(path, "", "", "")
		f.Outline.Symbols = []outline.Symbol{{Kind: "method", Name: name}}
		return f
	}
	settings := func(path, namespace, defines, uses string) File {
		f := file(path, "", "", uses)
		f.Outline.Symbols = []outline.Symbol{{Kind: "namespace", Name: namespace}, {Kind: "class", Name: defines, Depth: 1}}
		return f
	}
	mod := Options{map[string]string{"go.mod": "module m"}}
	tests := []struct {
		name  string
		files []File
		want  string
	}{
		{"defined once", []File{file("a.ts", "", "openDoor", ""), file("b.js", "", "", "openDoor")}, "b.js -> a.ts 1\n"},
		{"defined twice", []File{file("a.ts", "", "openDoor", ""), file("c.ts", "", "openDoor", ""), file("b.ts", "", "", "openDoor")}, ""},
		{"defined twice, imported once", []File{file("a.ts", "", "openDoor", ""), file("c.ts", "", "openDoor", ""), file("b.ts", "./c", "", "openDoor")}, "b.ts -> c.ts 4\n"},
		{"another family", []File{file("a.py", "", "openDoor", ""), file("b.ts", "", "", "openDoor")}, ""},
		{"a word", []File{file("a.ts", "", "push", ""), file("b.ts", "", "", "push")}, ""},
		{"an imported word", []File{file("a.ts", "", "push", ""), file("b.ts", "./a", "", "push")}, "b.ts -> a.ts 4\n"},
		{"a method", []File{method, file("b.ts", "", "", "openBox")}, ""},
		{"an imported method", []File{method, file("b.ts", "./m", "", "openBox")}, "b.ts -> m.ts 4\n"},
		{"Go sees only its package and its imports", []File{file("p/a.go", "", "OpenDoor", ""), file("p/b.go", "", "", "OpenDoor"), file("q/c.go", "", "", "OpenDoor")}, "p/b.go -> p/a.go 1\n"},
		{"a method in the own package", []File{member("p/a.go", "Box.OpenDoor"), file("p/b.go", "", "", "OpenDoor")}, ""},
		{"a method of a Go package, in lower case", []File{member("p/a.go", "Box.openDoor"), file("p/b.go", "", "", "openDoor")}, "p/b.go -> p/a.go 1\n"},
		{"a method outside of its class", []File{{"a.cc", &outline.Outline{Language: "cpp", Symbols: []outline.Symbol{{Kind: "func", Name: "Box::openDoor"}}}}, file("b.cc", "", "", "openDoor")}, ""},
		{"a test of an imported package", []File{file("p/a.go", "", "Other", ""), file("p/a_test.go", "", "OpenDoor", ""), file("z/z.go", "m/p", "", "OpenDoor")}, "z/z.go -> p/a.go 3\n"},
		{"a namespace around", []File{settings("a.cs", "Shop", "Settings", ""), settings("b.cs", "Other", "Settings", ""), settings("c.cs", "Shop.Views.Main", "Window", "Settings")}, "c.cs -> a.cs 1\n"},
		{"a function before methods", []File{method, file("f.ts", "", "openBox", ""), file("b.ts", "./m ./f", "", "openBox")}, "b.ts -> f.ts 4\nb.ts -> m.ts 3\n"},
		{"one of many definers is imported", append(definers(maxDefiners), file("z/z.go", "m/p7", "", "Common")), "z/z.go -> p7/x.go 4\n"},
		{"too many definers", append(definers(maxDefiners+1), file("p0/z.go", "", "", "Common")), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, _ := describe(New(test.files, mod)); got != test.want {
				t.Errorf("edges\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestNear(t *testing.T) {
	files := []File{
		file("a/open.ts", "./mutual ../b/used", "openFile", ""),
		file("a/mutual.ts", "./open", "", ""),
		file("b/used.ts", "", "", ""),
		file("c/user.ts", "../a/open", "", "openFile"),
		file("a/x.md", "", "", ""),
		{"a/none.bin", nil},
		file("0.ts", "", "", ""),
	}
	g := New(files, Options{})
	tests := []struct {
		paths []string
		n     int
		want  string
	}{
		{[]string{"a/open.ts"}, 9, "a/mutual.ts c/user.ts b/used.ts a/none.bin a/x.md | 0.ts"},
		{[]string{"a/open.ts", "a/open.ts"}, 3, "a/mutual.ts c/user.ts b/used.ts"},
		{[]string{"a/open.ts", "a/mutual.ts", "0.ts"}, 2, "c/user.ts b/used.ts"},
		{[]string{"b/unknown.ts"}, 2, "b/used.ts | a/open.ts"},
		{nil, 9, "| a/open.ts a/mutual.ts b/used.ts 0.ts a/none.bin a/x.md c/user.ts"},
		{nil, 3, "| a/open.ts a/mutual.ts b/used.ts"},
		{nil, 0, ""},
		{nil, -1, ""},
	}
	for _, test := range tests {
		near, related := g.Near(test.paths, test.n)
		if related < len(near) {
			near = slices.Insert(near, related, "|")
		}
		if got := strings.Join(near, " "); got != test.want {
			t.Errorf("Near(%q, %d) is %q, want %q", test.paths, test.n, got, test.want)
		}
	}
}

func TestNearnessIsTheSumOfBothDirections(t *testing.T) {
	g := New([]File{
		file("open.ts", "./a ./b", "openOne openTwo", "openA"),
		file("a.ts", "./open", "openA", ""),           // 4 and 3
		file("b.ts", "./open", "", "openOne openTwo"), // 3 and 5
	}, Options{})
	if near, _ := g.Near([]string{"open.ts"}, 2); strings.Join(near, " ") != "b.ts a.ts" {
		t.Errorf("near are %q", near)
	}
}

// The weaker direction of a pair counts: a file that only one direction ties strongly joins last.
func TestStrongestPairsJoinFirst(t *testing.T) {
	pair := func(a, b int32, there, back uint8, out [][]edge) {
		out[a] = strongest(append(out[a], edge{b, there}))
		out[b] = strongest(append(out[b], edge{a, back}))
	}
	out := make([][]edge, maxCluster+1)
	for i := range int32(maxCluster - 1) { // all but the last two are one cluster with room for one
		if i > 0 {
			pair(i-1, i, 9, 9, out)
		}
	}
	pair(0, maxCluster-1, 8, 1, out)
	pair(0, maxCluster, 2, 2, out)
	clusters := clustersOf(out)
	if len(clusters) != 1 || len(clusters[0]) != maxCluster || clusters[0][maxCluster-1] != maxCluster {
		t.Errorf("clusters %v", clusters)
	}
}

func TestClustersAreBounded(t *testing.T) {
	var files []File
	for i := range 3 * maxCluster {
		files = append(files, file(fmt.Sprintf("f%03d.ts", i), fmt.Sprintf("./f%03d ./f%03d", i-1, i+1), "", ""))
	}
	clusters := New(files, Options{}).Clusters()
	count := 0
	for i, c := range clusters {
		if len(c) > maxCluster || i > 0 && len(c) > len(clusters[i-1]) {
			t.Errorf("cluster %d has %d files", i, len(c))
		}
		count += len(c)
	}
	if len(clusters[0]) != maxCluster || count != len(files) {
		t.Errorf("the largest of the clusters has %d files, all have %d", len(clusters[0]), count)
	}
}

func TestStrongestReferencesAreKept(t *testing.T) {
	hub := file("hub.ts", "", "", "")
	var files []File
	for i := range maxReferences + 10 {
		n := fmt.Sprintf("openDoor%03d", i)
		files = append(files, file(n+".ts", "", n, ""))
		hub.Outline.Uses = append(hub.Outline.Uses, n)
	}
	hub.Outline.Imports = []outline.Import{{Path: "./openDoor265"}}
	edges := New(append(files, hub), Options{}).Edges()
	if len(edges) != maxReferences || edges[len(edges)-1] != (Edge{"hub.ts", "openDoor265.ts", 4}) {
		t.Errorf("%d references, the last %v", len(edges), edges[len(edges)-1])
	}
}

func TestImportsAndUsesAreBounded(t *testing.T) {
	const per = maxFileImports
	idle := &outline.Outline{Language: "go", Imports: make([]outline.Import, per), Uses: make([]string, outline.MaxUses)}
	tests := []struct {
		name string
		idle int // files that use up what is left
		want string
	}{
		{"few", 3, "b.ts -> a.ts 3\nb.ts -> c.ts 1\n"},
		{"imports", maxImports / per, "b.ts -> a.ts 3\nb.ts -> c.ts 1\n"},
		{"too many imports", maxImports/per + 1, "b.ts -> c.ts 1\n"},
		{"too many uses", maxUses/outline.MaxUses + 1, ""},
	}
	for _, test := range tests {
		files := []File{file("a.ts", "", "", ""), file("b.ts", "./a", "", "openDoor"), file("c.ts", "", "openDoor", "")}
		for i := range test.idle {
			files = append(files, File{fmt.Sprintf("a/%d.go", i), idle})
		}
		if got, _ := describe(New(files, Options{})); got != test.want {
			t.Errorf("%s: edges\n%swant\n%s", test.name, got, test.want)
		}
	}
	many := file("x.ts", strings.Repeat("./z ", per)+"./a", "", "")
	if got, _ := describe(New([]File{many, file("a.ts", "", "", "")}, Options{})); got != "" {
		t.Errorf("imports beyond the limit of a file are resolved: %s", got)
	}
}

func TestHostileFiles(t *testing.T) {
	odd := []string{"", ".", "..", "../..", "/", "a//b", "a\x00b", "../x.ts", "x\n.py", strings.Repeat("a/", 5000) + "x.rs", "\xff.go", "::", "...", "<>", `\`, "crate", "super::super", "*.*", ".*"}
	var files []File
	for i, p := range odd {
		for _, language := range []string{"go", "typescript", "javascript", "python", "java", "rust", "c", "cpp", "csharp", "ruby", "php", "markdown", "klingon", ""} {
			o := &outline.Outline{Language: language, Uses: odd}
			for j, q := range odd {
				o.Imports = append(o.Imports, outline.Import{Path: q, Names: odd, Line: -j})
				o.Symbols = append(o.Symbols, outline.Symbol{Kind: []string{"class", "namespace", "method", "module", "package", "what"}[j%6], Name: q, Depth: (j * 7 % 5) - 1, Line: j - 3, EndLine: -j})
			}
			files = append(files, File{p + strings.Repeat("x", i%3) + language, o})
		}
	}
	g := New(files, Options{map[string]string{"": "module ..", "\x00": "module /", "a": "module \xff"}})
	for _, e := range g.Edges() {
		if e.From == e.To || e.Weight < 1 || e.Weight > maxWeight {
			t.Errorf("edge %v", e)
		}
	}
	if near, _ := g.Near(odd, 1<<30); len(near) == 0 || len(near) > len(files) {
		t.Errorf("%d of %d files are near", len(near), len(files))
	}
}
