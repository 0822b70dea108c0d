package graph

import (
	"maps"
	"path"
	"slices"
	"strings"

	"strata/filecontext/outline"
)

// A goModule is a Go module in the workspace.
type goModule struct{ folder, path string }

// goModules reads the modules of go.mod files, longest path first.
func goModules(texts map[string]string) []goModule {
	var modules []goModule
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		if p := modulePath(texts[file]); p != "" && len(modules) < maxModules {
			modules = append(modules, goModule{path.Dir(file), p})
		}
	}
	slices.SortStableFunc(modules, func(a, b goModule) int { return len(b.path) - len(a.path) })
	return modules
}

// modulePath returns the module path of a go.mod file.
func modulePath(text string) string {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return strings.Trim(fields[1], "\"`")
		}
	}
	return ""
}

// goPackage returns the name of a file's package in the index: its folder, or another one for tests outside of it.
func goPackage(f *File) string {
	if isGoTest(f.Path) {
		for _, y := range f.Outline.Symbols {
			if y.Kind == "package" && strings.HasSuffix(y.Name, "_test") {
				return path.Dir(f.Path) + " test"
			}
		}
	}
	return path.Dir(f.Path)
}

func isGoTest(p string) bool { return strings.HasSuffix(p, "_test.go") }

func importGo(r *reader, i outline.Import) {
	for _, m := range r.modules {
		rest, within := strings.CutPrefix(i.Path, m.path)
		if within && (rest == "" || rest[0] == '/') {
			r.importPackage(path.Join(m.folder, rest))
			return
		}
	}
}

var scriptExtensions = []string{".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}

// importScript resolves relative imports. In TypeScript, an import of x.js means x.ts if there is one.
func importScript(r *reader, i outline.Import) {
	p := i.Path
	if p != "." && p != ".." && !strings.HasPrefix(p, "./") && !strings.HasPrefix(p, "../") {
		return
	}
	p, _, _ = strings.Cut(p, "?") // a loader
	file, within := r.relative(p)
	if !within {
		return
	}
	var sources []string
	for _, e := range []struct{ script, sources string }{{".js", ".ts .tsx .d.ts"}, {".jsx", ".tsx"}, {".mjs", ".mts"}, {".cjs", ".cts"}} {
		if stem, cut := strings.CutSuffix(file, e.script); cut {
			for _, s := range strings.Fields(e.sources) {
				sources = append(sources, stem+s)
			}
		}
	}
	if r.files[r.file].Outline.Language == "javascript" {
		sources = append([]string{file}, sources...)
	} else {
		sources = append(sources, file)
	}
	for _, base := range []string{file, path.Join(file, "index")} {
		for _, e := range scriptExtensions {
			sources = append(sources, base+e)
		}
	}
	r.importFirst(sources...)
}

// relative returns the path that a file means by a relative one; false if it leads out of the workspace.
func (r *reader) relative(p string) (string, bool) {
	p = path.Join(path.Dir(r.files[r.file].Path), p)
	return p, p != ".." && !strings.HasPrefix(p, "../")
}

// importPython resolves a module: a relative one by its dots, others from each folder around the file that is no
// package, and from a folder src in it.
func importPython(r *reader, i outline.Import) {
	module := strings.TrimLeft(i.Path, ".")
	dots := len(i.Path) - len(module)
	parts := strings.ReplaceAll(module, ".", "/")
	folder := path.Dir(r.files[r.file].Path)
	if dots > 0 {
		for range min(dots-1, 32) {
			if folder == "." {
				return
			}
			folder = path.Dir(folder)
		}
		r.importModule(path.Join(folder, parts), i.Names)
		return
	}
	for range 32 {
		_, isPackage := r.at[path.Join(folder, "__init__.py")]
		if !isPackage && (r.importModule(path.Join(folder, parts), i.Names) || r.importModule(path.Join(folder, "src", parts), i.Names)) {
			return
		}
		if folder == "." {
			return
		}
		folder = path.Dir(folder)
	}
}

// importModule adds imports of the names that are modules in a package, and of the module itself if any is not.
func (r *reader) importModule(module string, names []string) bool {
	if !r.folders[path.Dir(module)] {
		return false
	}
	count := 0
	if !r.folders[module] {
		names = nil
	}
	names = firstOf(names, maxFileImports, &r.imports)
	for _, n := range names {
		if r.importFirst(pythonFiles(path.Join(module, n))...) {
			count++
		}
	}
	return count > 0 && count == len(names) || r.importFirst(pythonFiles(module)...) || count > 0
}

func pythonFiles(module string) []string {
	if module == "." {
		return []string{"__init__.py", "__init__.pyi"}
	}
	return []string{module + ".py", module + "/__init__.py", module + ".pyi", module + "/__init__.pyi"}
}

// importJava resolves a type, a member of a type, or all types of a package.
func importJava(r *reader, i outline.Import) {
	text, all := strings.CutSuffix(i.Path, ".*")
	if all && r.importPackage(text) {
		return
	}
	for range 3 {
		if r.importQualified(text) {
			return
		}
		end := strings.LastIndexByte(text, '.')
		if end < 0 {
			return
		}
		text = text[:end]
	}
}

func importCsharp(r *reader, i outline.Import) {
	if !r.importPackage(i.Path) {
		r.importQualified(i.Path)
	}
}

// importPHP resolves the name of a class or function, or a file.
func importPHP(r *reader, i outline.Import) {
	if !strings.HasSuffix(i.Path, ".php") {
		r.importQualified(i.Path)
		return
	}
	if file, within := r.relative(i.Path); within && r.importFirst(file) {
		return
	}
	if !strings.HasPrefix(i.Path, ".") {
		r.importNearest(path.Clean(i.Path), path.Base(i.Path))
	}
}

// importC resolves an include: next to the file, or by the end of the path.
func importC(r *reader, i outline.Import) {
	p := strings.Trim(i.Path, "<>")
	file, within := r.relative(p)
	if p != i.Path || !within || !r.importFirst(file) {
		end := path.Clean(p)
		for strings.HasPrefix(end, "../") {
			end = end[len("../"):]
		}
		r.importNearest(end, path.Base(end))
	}
	stem := stemOf(r.files[r.file].Path)
	if stemOf(p) != stem || isHeader(r.files[r.file].Path) {
		return
	}
	for _, f := range r.bases[path.Base(p)] {
		if r.imported[f] == r.mark && isHeader(r.files[f].Path) {
			r.pairWith(f)
		}
	}
}

func stemOf(p string) string { return strings.TrimSuffix(path.Base(p), path.Ext(p)) }

func isHeader(p string) bool { return strings.HasPrefix(path.Ext(p), ".h") }

func importRuby(r *reader, i outline.Import) {
	p := strings.TrimSuffix(i.Path, ".rb") + ".rb"
	if strings.HasPrefix(p, ".") {
		if file, within := r.relative(p); within {
			r.importFirst(file)
		}
		return
	}
	r.importNearest(path.Clean(p), path.Base(p))
}
