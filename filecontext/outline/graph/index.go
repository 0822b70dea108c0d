package graph

import (
	"path"
	"strings"

	"strata/filecontext/outline"
)

// A family has the languages whose files can use each other's names.
type family uint8

const (
	none family = iota
	golang
	script
	python
	java
	rust
	c
	csharp
	ruby
	php

	familyCount
)

var families = map[string]family{
	"go": golang, "javascript": script, "typescript": script, "tsx": script, "python": python, "java": java,
	"rust": rust, "c": c, "cpp": c, "csharp": csharp, "ruby": ruby, "php": php,
}

// A name is a qualified name, or that of a package, in a family.
type name struct {
	family family
	text   string
}

// several marks a qualified name that several files define.
const several = -1

// An index finds files by what they define.
type index struct {
	files    []File // by path
	families []family
	at       map[string]int32   // files by path
	bases    map[string][]int32 // files by the last part of the path, for languages that search for them

	packages   [][]int32 // packages of each file: Go folders, Java packages, namespaces
	packageIDs map[name]int32
	contents   [][]int32      // files of each package
	qualified  map[name]int32 // the file that defines a name with its package, or several

	names       [familyCount]map[string]int32 // positions in definitions
	definitions []definition

	modules []goModule
	folders map[string]bool   // that have Python files, or folders with them
	crates  map[string]string // folders of the sources of Rust crates, "" if ambiguous
}

// A definition has the files that define a name.
type definition struct {
	first definer
	more  []definer
	files int // may be more than are listed
}

type definer struct {
	file   int32
	member bool // of a type, in all places of the file
}

func newIndex(files []File, o Options) *index {
	x := &index{
		files: sorted(files), at: make(map[string]int32), bases: make(map[string][]int32),
		packageIDs: make(map[name]int32), qualified: make(map[name]int32),
		modules: goModules(o.GoMods), folders: make(map[string]bool), crates: make(map[string]string),
	}
	symbols := 0
	for i, n := range symbolCounts(x.files) {
		x.names[i] = make(map[string]int32, n)
		symbols += n
	}
	x.definitions = make([]definition, 0, min(symbols, maxDefinitions))
	x.families = make([]family, len(x.files))
	x.packages = make([][]int32, len(x.files))
	for i := range x.files {
		x.add(int32(i))
	}
	return x
}

// symbolCounts returns the number of symbols in each family, within maxDefinitions.
func symbolCounts(files []File) (counts [familyCount]int) {
	for i := range files {
		if o := files[i].Outline; o != nil {
			f := families[o.Language]
			counts[f] = min(counts[f]+len(o.Symbols), maxDefinitions)
		}
	}
	return counts
}

func (x *index) add(f int32) {
	file := &x.files[f]
	x.at[file.Path] = f
	if file.Outline == nil {
		return
	}
	x.families[f] = families[file.Outline.Language]
	switch x.families[f] {
	case none:
		return
	case c, ruby, php:
		x.bases[path.Base(file.Path)] = append(x.bases[path.Base(file.Path)], f)
	case python:
		x.addFolders(file.Path)
	case rust:
		x.addCrate(file.Path)
	case golang:
		x.enter(f, goPackage(file))
	}
	s := scope{index: x, file: f, family: x.families[f]}
	for i := range file.Outline.Symbols {
		s.add(&file.Outline.Symbols[i])
	}
}

// addFolders notes the folders of a file.
func (x *index) addFolders(file string) {
	for folder := path.Dir(file); !x.folders[folder]; folder = path.Dir(folder) {
		x.folders[folder] = true
	}
}

// enter adds a file to a package.
func (x *index) enter(f int32, pkg string) {
	key := name{x.families[f], pkg}
	id, known := x.packageIDs[key]
	if !known {
		id = int32(len(x.contents))
		x.packageIDs[key] = id
		x.contents = append(x.contents, nil)
	}
	for _, p := range x.packages[f] {
		if p == id {
			return
		}
	}
	if len(x.packages[f]) < maxPackages {
		x.packages[f] = append(x.packages[f], id)
		x.contents[id] = append(x.contents[id], f)
	}
}

// define notes that a file defines a name.
func (x *index) define(text string, d definer) {
	names := x.names[x.families[d.file]]
	i, known := names[text]
	if !known {
		if len(x.definitions) < maxDefinitions {
			names[text] = int32(len(x.definitions))
			x.definitions = append(x.definitions, definition{first: d, files: 1})
		}
		return
	}
	def := &x.definitions[i]
	last := &def.first
	if len(def.more) > 0 {
		last = &def.more[len(def.more)-1]
	}
	switch {
	case last.file == d.file:
		last.member = last.member && d.member
	case def.files < maxDefiners:
		def.more = append(def.more, d)
		def.files++
	default:
		def.files = maxDefiners + 1 // a file can be counted again: nothing reads more than that there are too many
		def.more = nil
	}
}

// qualify notes that a file defines a name with its package.
func (x *index) qualify(n name, f int32) {
	if other, known := x.qualified[n]; known && other != f {
		f = several
	} else if !known && len(x.qualified) >= maxDefinitions {
		return
	}
	x.qualified[n] = f
}

// A scope follows the nesting of a file's symbols.
type scope struct {
	*index
	file   int32
	family family
	pkg    string // the last package that starts without a body
	around []*outline.Symbol
}

func (s *scope) add(y *outline.Symbol) {
	for len(s.around) > 0 && s.around[len(s.around)-1].Depth >= y.Depth {
		s.around = s.around[:len(s.around)-1]
	}
	switch y.Kind {
	case "package", "namespace", "module":
		s.open(y)
	case "heading", "impl":
	default:
		s.define(y)
	}
	if len(s.around) < 32 {
		s.around = append(s.around, y)
	}
}

// open adds the file to a package or namespace.
func (s *scope) open(y *outline.Symbol) {
	switch s.family {
	case java, csharp, php:
		pkg := s.qualifiedName(y.Name, false)
		if y.Depth == 0 {
			pkg = y.Name
			s.pkg = pkg
		}
		s.enter(s.file, pkg)
	}
}

func (s *scope) define(y *outline.Symbol) {
	text := lastPart(y.Name)
	if text == "" || len(text) > outline.MaxName || strings.Contains(text, " ") {
		return
	}
	member := !isType(y.Kind) && s.inType() || y.Kind == "method" || y.Kind == "property" || strings.Contains(y.Name, "::") && !isType(y.Kind)
	s.index.define(text, definer{s.file, member})
	switch s.family {
	case java, csharp, php:
		if !member {
			s.qualify(name{s.family, s.qualifiedName(y.Name, true)}, s.file)
		}
	}
}

// inType reports whether the symbol around is a type.
func (s *scope) inType() bool {
	return len(s.around) > 0 && isType(s.around[len(s.around)-1].Kind)
}

// qualifiedName returns a name with the names around it.
func (s *scope) qualifiedName(last string, inPackage bool) string {
	separator := "."
	if s.family == php {
		separator = `\`
	}
	var parts []string
	if inPackage && s.pkg != "" && (len(s.around) == 0 || !isPackage(s.around[0].Kind)) {
		parts = append(parts, s.pkg)
	}
	for _, y := range s.around {
		parts = append(parts, y.Name)
	}
	return strings.Join(append(parts, last), separator)
}

func isPackage(kind string) bool {
	return kind == "package" || kind == "namespace" || kind == "module"
}

func isType(kind string) bool {
	switch kind {
	case "class", "enum", "interface", "record", "struct", "trait", "type", "union", "impl":
		return true
	}
	return false
}

// lastPart returns the name in its scope: that of a method without its type.
func lastPart(name string) string {
	if i := strings.LastIndexAny(name, `:.\`); i >= 0 {
		return name[i+1:]
	}
	return name
}
