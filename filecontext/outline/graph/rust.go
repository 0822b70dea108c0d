package graph

import (
	"path"
	"strings"

	"strata/filecontext/outline"
)

// addCrate notes the folder of a crate's library by the name of the folder around it.
func (x *index) addCrate(file string) {
	folder, isLibrary := strings.CutSuffix(file, "/src/lib.rs")
	if !isLibrary {
		return
	}
	crate := strings.ReplaceAll(path.Base(folder), "-", "_")
	if _, known := x.crates[crate]; known {
		x.crates[crate] = ""
		return
	}
	x.crates[crate] = path.Join(folder, "src")
}

// importRust resolves a path of modules. A module is given by the folder that has the files of the modules in it.
func importRust(r *reader, i outline.Import) {
	parts := strings.Split(i.Path, "::")
	module := r.rustModule(i.Line)
	switch first := parts[0]; first {
	case "crate":
		module = r.crateOf()
		parts = parts[1:]
	case "self":
		parts = parts[1:]
	case "super":
		for len(parts) > 0 && parts[0] == "super" {
			module, parts = path.Dir(module), parts[1:]
		}
	default:
		if r.importRustModule(module, parts, false) {
			return
		}
		module = r.crates[first]
		parts = parts[1:]
		if module == "" {
			return
		}
	}
	r.importRustModule(module, parts, true)
}

// importRustModule adds an import of the innermost module of a path below a module that is a file, or of the module
// itself if it may be.
func (r *reader) importRustModule(module string, parts []string, itself bool) bool {
	found, known := r.rustFile(module)
	known = known && itself
	for _, p := range parts[:min(len(parts), 16)] {
		module = path.Join(module, p)
		f, isFile := r.rustFile(module)
		if !isFile {
			break
		}
		found, known = f, true
	}
	if known {
		r.importFile(found)
	}
	return known
}

// rustFile returns the file of a module.
func (r *reader) rustFile(module string) (int32, bool) {
	for _, file := range []string{module + ".rs", path.Join(module, "mod.rs"), path.Join(module, "lib.rs"), path.Join(module, "main.rs")} {
		if f, known := r.at[file]; known {
			return f, true
		}
	}
	return 0, false
}

// rustModule returns the module around a line of this file: the file's own, or one that is written out in it.
func (r *reader) rustModule(line int) string {
	file := &r.files[r.file]
	module := strings.TrimSuffix(file.Path, ".rs")
	switch path.Base(file.Path) {
	case "mod.rs", "lib.rs", "main.rs":
		module = path.Dir(file.Path)
	}
	depth := 0
	for _, y := range file.Outline.Symbols {
		if y.Kind == "module" && y.Depth == depth && y.Line < line && line <= y.EndLine {
			module = path.Join(module, y.Name)
			depth++
		}
	}
	return module
}

// crateOf returns the folder of this file's crate: the nearest one around it with a root file.
func (r *reader) crateOf() string {
	folder := path.Dir(r.files[r.file].Path)
	for range 32 {
		for _, root := range []string{"lib.rs", "main.rs"} {
			if _, known := r.at[path.Join(folder, root)]; known {
				return folder
			}
		}
		if folder == "." {
			break
		}
		folder = path.Dir(folder)
	}
	return path.Dir(r.files[r.file].Path)
}
