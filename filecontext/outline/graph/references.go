package graph

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/filecontext/outline"
)

// references returns the references of all files.
func (x *index) references() [][]edge {
	r := &reader{
		index: x, imports: maxImports, uses: maxUses, weights: make([]int, len(x.files)), imported: make([]int32, len(x.files)),
		importedPackages: make([]int32, len(x.contents)), ownPackages: make([]int32, len(x.contents)),
	}
	out := make([][]edge, len(x.files))
	for f := range x.files {
		if x.families[f] != none {
			out[f] = r.read(int32(f))
		}
	}
	for _, p := range r.pairs {
		if weightOf(out[p.header], p.source) == 0 {
			out[p.header] = strongest(append(out[p.header], edge{p.source, importWeight}))
		}
	}
	return out
}

// A reader finds the references of one file after the other.
type reader struct {
	*index
	file  int32
	mark  int32 // of this file
	pairs []pair

	imports, uses int // that may still be resolved

	weights []int   // of references to each file
	touched []int32 // files with a weight

	// What the file imports, and its packages, have its mark.
	imported, importedPackages, ownPackages []int32
	whole                                   []int32 // imported packages
}

// A pair is a C header and the source file of the same name that includes it: the header references its definitions.
type pair struct{ header, source int32 }

func (r *reader) read(f int32) []edge {
	r.file, r.mark = f, f+1
	r.touched, r.whole = r.touched[:0], r.whole[:0]
	r.seeOwnPackages()
	o := r.files[f].Outline
	for _, i := range firstOf(o.Imports, maxFileImports, &r.imports) {
		resolvers[r.families[f]](r, i)
	}
	for _, text := range firstOf(o.Uses, outline.MaxUses, &r.uses) {
		r.use(text)
	}
	for _, pkg := range r.whole {
		r.takeWhole(pkg)
	}
	edges := make([]edge, 0, len(r.touched))
	for _, to := range r.touched {
		edges = append(edges, edge{to, uint8(min(r.weights[to], maxWeight))})
		r.weights[to] = 0
	}
	return strongest(edges)
}

// firstOf returns at most limit and at most *left elements, and takes their number from *left.
func firstOf[T any](all []T, limit int, left *int) []T {
	all = all[:min(len(all), limit, *left)]
	*left -= len(all)
	return all
}

// seeOwnPackages marks the packages whose names the file sees without an import.
func (r *reader) seeOwnPackages() {
	for _, pkg := range r.packages[r.file] {
		r.ownPackages[pkg] = r.mark
	}
	if r.families[r.file] != csharp {
		return
	}
	for _, y := range r.files[r.file].Outline.Symbols {
		if y.Kind != "namespace" || y.Depth > 0 {
			continue
		}
		for around := y.Name; strings.Contains(around, "."); {
			around = around[:strings.LastIndexByte(around, '.')]
			if pkg, known := r.packageIDs[name{csharp, around}]; known {
				r.ownPackages[pkg] = r.mark
			}
		}
	}
}

func (r *reader) reference(to int32, weight int) {
	if to == r.file {
		return
	}
	if r.weights[to] == 0 {
		r.touched = append(r.touched, to)
	}
	r.weights[to] += weight
}

// importFile adds an import of a file.
func (r *reader) importFile(to int32) {
	if r.imported[to] != r.mark {
		r.imported[to] = r.mark
		r.reference(to, importWeight)
	}
}

// importFirst adds an import of the first path that is a file, and reports whether there is one.
func (r *reader) importFirst(paths ...string) bool {
	for _, p := range paths {
		if to, found := r.at[p]; found {
			r.importFile(to)
			return true
		}
	}
	return false
}

// importPackage adds an import of a package and reports whether it is known.
func (r *reader) importPackage(pkg string) bool {
	id, known := r.packageIDs[name{r.families[r.file], pkg}]
	if known && r.importedPackages[id] != r.mark {
		r.importedPackages[id] = r.mark
		r.whole = append(r.whole, id)
	}
	return known
}

// importQualified adds an import of the file that defines a name with its package, and reports whether it is known.
func (r *reader) importQualified(text string) bool {
	to, known := r.qualified[name{r.families[r.file], text}]
	if known && to != several {
		r.importFile(to)
	}
	return known
}

// takeWhole references all files of an imported package if no name told which, unless there are many.
func (r *reader) takeWhole(pkg int32) {
	if len(r.contents[pkg]) > maxWhole {
		return
	}
	for _, f := range r.contents[pkg] {
		if r.weights[f] > 0 {
			return
		}
	}
	for _, f := range r.contents[pkg] {
		if !r.isHidden(f) {
			r.reference(f, importWeight)
		}
	}
}

// isHidden reports a file whose names only its own package sees.
func (r *reader) isHidden(f int32) bool {
	return r.families[f] == golang && isGoTest(r.files[f].Path)
}

// use adds a reference to the file that defines a name: the only one among the imports and packages of this file, or
// the only one in the workspace. A member of a type counts only if nothing else has the name.
func (r *reader) use(text string) {
	fam := r.families[r.file]
	i, known := r.names[fam][text]
	if !known {
		return
	}
	def := &r.definitions[i]
	if def.files > maxDefiners {
		return
	}
	found := r.visible(def, text, false)
	if found.count == 0 {
		found = r.visible(def, text, true)
	}
	switch {
	case found.count > 1:
	case found.count == 1:
		if found.throughPackage {
			r.importFile(found.file)
		}
		r.reference(found.file, 1)
	case def.files == 1 && !def.first.member && fam != golang && isTelling(text):
		r.reference(def.first.file, 1)
	}
}

// A sight has the files that this one sees defining a name.
type sight struct {
	file           int32 // one of them
	count          int
	throughPackage bool // file is in a package that is imported
}

// visible returns the definers that this file sees: members of types, or others.
func (r *reader) visible(def *definition, text string, members bool) sight {
	var s sight
	look := func(d definer) {
		if d.member != members {
			return
		}
		if seen, through := r.sees(d, text); seen {
			s = sight{d.file, s.count + 1, through}
		}
	}
	look(def.first)
	for _, d := range def.more {
		look(d)
	}
	return s
}

// sees reports whether this file sees a definition, and whether through the import of a package. Members of types of
// the own package do not count: their names are often those of other types. A Go name in lower case belongs to its
// package, so these do.
func (r *reader) sees(d definer, text string) (seen, throughPackage bool) {
	if r.imported[d.file] == r.mark {
		return true, false
	}
	own := false
	for _, pkg := range r.packages[d.file] {
		if r.importedPackages[pkg] == r.mark && !r.isHidden(d.file) {
			return true, true
		}
		own = own || r.ownPackages[pkg] == r.mark
	}
	if d.file == r.file {
		own = false
	}
	return own && (!d.member || r.families[d.file] == golang && !isExported(text)), false
}

func isExported(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsUpper(first)
}

// isTelling reports a name that is more than a word in lower case. Such a word is more often the name of something in a
// library.
func isTelling(text string) bool {
	return len(text) > 2 && strings.ContainsFunc(text[1:], func(c rune) bool { return !unicode.IsLower(c) }) || isExported(text) && len(text) > 2
}

// resolvers add the files of an import to the references.
var resolvers = [...]func(*reader, outline.Import){
	golang: importGo, script: importScript, python: importPython, java: importJava, rust: importRust, c: importC,
	csharp: importCsharp, ruby: importRuby, php: importPHP,
}

// importNearest adds an import of the file whose path ends with a text: of several the one that shares most folders
// with this file, if it is only one.
func (r *reader) importNearest(end string, base string) bool {
	candidates := r.bases[base]
	if len(candidates) > maxCandidates {
		return false
	}
	best, score, tie := int32(-1), -1, false
	for _, f := range candidates {
		p := r.files[f].Path
		if r.families[f] != r.families[r.file] || p != end && !strings.HasSuffix(p, "/"+end) {
			continue
		}
		shared := sharedFolders(p, r.files[r.file].Path)
		switch {
		case shared > score:
			best, score, tie = f, shared, false
		case shared == score:
			tie = true
		}
	}
	if best < 0 || tie {
		return false
	}
	r.importFile(best)
	return true
}

// sharedFolders returns the number of folders at the start of both paths.
func sharedFolders(p, q string) int {
	n := 0
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			break
		}
		if p[i] == '/' {
			n++
		}
	}
	return n
}

// pairWith notes that this source file defines the declarations of a header.
func (r *reader) pairWith(header int32) {
	if p := (pair{header, r.file}); !slices.Contains(r.pairs[max(0, len(r.pairs)-4):], p) {
		r.pairs = append(r.pairs, p)
	}
}
