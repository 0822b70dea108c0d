package tools

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/filecontext/index"
)

// Workspace is what the reading tools work on. Its values are those of one step.
type Workspace struct {
	Roots   *filecontext.Roots
	Reader  Reader  // of files by their paths
	Shown   Shown   // what the next request shows; nil: nothing
	Texts   Texts   // that a client gave, or that were read through it; nil: none
	Symbols Symbols // nil: there are no outlines, and no tools for them
}

// Texts returns, by path, the texts that are searched instead of the files on disk. The error is that of ctx.
type Texts func(ctx context.Context) (map[string]filecontext.Content, error)

// Reading returns the built-in tools that read.
func Reading(w Workspace) []Tool {
	all := []Tool{readFile(w.Roots, w.Reader, w.Shown), listFiles(w.Roots), newSearch(w.Roots, w.Texts).tool(), UpdatePlan()}
	if w.Symbols != nil {
		all = append(all, outlineOf(w.Symbols), findSymbol(w.Symbols))
	}
	return all
}

// The bounds of a look at a folder.
const (
	maxFiles  = 50_000
	maxVisits = 200_000
)

// folder is a folder of the workspace with its files.
type folder struct {
	ref   filecontext.Ref
	files *filecontext.Survey
}

// folders returns the folder at path, or all folders of the workspace if path is empty. A path can also be that of a file.
// The error is a *filecontext.RefusedError, or that of ctx.
func folders(ctx context.Context, roots *filecontext.Roots, path string, ignored bool) (all []folder, err error) {
	refs := roots.Folders()
	if path != "" {
		ref, err := roots.Locate(path)
		if err != nil {
			return nil, err
		}
		refs = []filecontext.Ref{ref}
	}
	left := filecontext.SurveyLimits{Files: maxFiles, Visits: maxVisits, Ignored: ignored}
	for _, ref := range refs {
		files, err := roots.SurveyOf(ctx, ref, left)
		switch {
		case err == nil:
			all = append(all, folder{ref, files})
			left.Files -= len(files.Files)
		case ctx.Err() != nil, len(refs) == 1:
			return nil, err
		}
	}
	return all, nil
}

// isFile reports whether the path is that of a file.
func (f *folder) isFile() bool { return len(f.files.Files) == 1 && f.files.Files[0].Ref == f.ref }

// name returns the path of a file relative to the folder, and whether it is in the folder.
func (f *folder) name(path string) (string, bool) {
	if f.ref.Path == "." {
		return path, !filepath.IsAbs(filepath.FromSlash(path))
	}
	return strings.CutPrefix(path, strings.TrimSuffix(f.ref.Path, "/")+"/")
}

// matching returns the files that a pattern matches, relative to the folder or to the workspace; nil matches all.
func (f *folder) matching(ctx context.Context, pattern *filecontext.Pattern) ([]filecontext.Surveyed, error) {
	if pattern == nil || f.isFile() {
		return f.files.Files, nil
	}
	var out []filecontext.Surveyed
	for i, file := range f.files.Files {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if f.matches(pattern, file.Ref.Path) {
			out = append(out, file)
		}
	}
	return out, nil
}

func (f *folder) matches(pattern *filecontext.Pattern, path string) bool {
	name, ok := f.name(path)
	return ok && pattern.Match(name, strings.TrimPrefix(path, "/"))
}

// omissions tells which files the look at the folder has missed, or "".
func (f *folder) omissions() string {
	var all []string
	add := func(n int, what string) {
		if n > 0 {
			all = append(all, number(n, what))
		}
	}
	s := f.files
	add(s.Excess, "further file")
	add(s.Nameless, "file with an invalid name")
	add(s.Unreadable, "unreadable file or folder")
	add(s.TooDeep, "folder nested too deeply")
	if s.Cut {
		all = append(all, "further files beyond a limit")
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("[not included: %s]\n", strings.Join(all, ", "))
}

// tree returns files as an indented list with at most limit bytes.
func (f *folder) tree(files []filecontext.Surveyed, limit int) string {
	names := make([]string, 0, len(files))
	for _, file := range files {
		if name, ok := f.name(file.Ref.Path); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return index.TreeOf(names, limit, func(line string) int { return len(line) })
}
