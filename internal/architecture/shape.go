package architecture

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// The limits on the inside of a package. Tests do not count.
const (
	maxMethods   = 60   // declared on one type
	maxPackage   = 3500 // lines in one package
	maxFileCycle = 8    // files that need each other
)

// A shape contains the figures to which the limits apply.
type shape struct {
	importPath string
	lines      int
	methods    map[string]int             // by type
	uses       map[string]map[string]bool // by file: the files whose declarations it names
}

// shapeOf measures a package whose files are given by their names. exported returns the export data of an import.
func shapeOf(importPath string, paths []string, exported func(path string) (io.ReadCloser, error)) (shape, error) {
	s := shape{importPath: importPath, methods: make(map[string]int), uses: make(map[string]map[string]bool)}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return shape{}, err
		}
		files = append(files, file)
		s.lines += set.File(file.Pos()).LineCount()
		s.uses[filepath.Base(path)] = make(map[string]bool)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", exported)}
	checked, err := config.Check(importPath, set, files, info)
	if err != nil {
		return shape{}, fmt.Errorf("check %s: %w", importPath, err)
	}
	fileOf := func(pos token.Pos) string { return filepath.Base(set.Position(pos).Filename) }
	for name, object := range info.Uses {
		if object.Pkg() != checked || !object.Pos().IsValid() {
			continue
		}
		if from, to := fileOf(name.Pos()), fileOf(object.Pos()); from != to {
			s.uses[from][to] = true
		}
	}
	for _, file := range files {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil {
				s.methods[receiver(f)]++
			}
		}
	}
	return s, nil
}

// receiver returns the name of the type that a method is declared on.
func receiver(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// shapeFaults returns the figures of a package that exceed a limit.
func shapeFaults(s shape) []string {
	var faults []string
	if s.lines > maxPackage {
		faults = append(faults, fmt.Sprintf("%s has %d lines without its tests, more than %d", s.importPath, s.lines, maxPackage))
	}
	for _, name := range slices.Sorted(maps.Keys(s.methods)) {
		if n := s.methods[name]; n > maxMethods {
			faults = append(faults, fmt.Sprintf("%s.%s has %d methods, more than %d", s.importPath, name, n, maxMethods))
		}
	}
	for _, cycle := range fileCycles(s.uses) {
		if len(cycle) > maxFileCycle {
			faults = append(faults, fmt.Sprintf("%s: %d files need each other, more than %d: %s", s.importPath, len(cycle), maxFileCycle, strings.Join(cycle, ", ")))
		}
	}
	return faults
}

// fileCycles returns the sets of two and more files that reach each other, the files of each by name.
func fileCycles(uses map[string]map[string]bool) [][]string {
	reached := make(map[string]map[string]bool, len(uses))
	for file := range uses {
		seen := make(map[string]bool)
		for next := []string{file}; len(next) > 0; {
			last := next[len(next)-1]
			next = next[:len(next)-1]
			for to := range uses[last] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		reached[file] = seen
	}
	var cycles [][]string
	done := make(map[string]bool)
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		if done[file] || !reached[file][file] {
			continue
		}
		var cycle []string
		for _, other := range slices.Sorted(maps.Keys(uses)) {
			if reached[file][other] && reached[other][file] {
				done[other] = true
				cycle = append(cycle, other)
			}
		}
		cycles = append(cycles, cycle)
	}
	return cycles
}
