package index

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"strata/filecontext"
)

// The limits of the go.mod files whose modules are known.
const (
	maxGoMods     = 64
	maxGoModBytes = 64 << 10
)

// goMod is a version of a go.mod file.
type goMod struct {
	stamp filecontext.Stamp // zero if the file must be read again
	text  string            // empty if it cannot be used
}

// readGoMods reads the go.mod files that are new or have changed, those in few folders first.
func (s *sweeper) readGoMods(ctx context.Context, found *filecontext.Survey) {
	files := goModFiles(found)
	mods := make([]goMod, len(files))
	s.parallel(ctx, len(files), func(n int) {
		f := files[n]
		before := s.goMods[f.Ref.Path]
		if before.stamp.Current(f.Stamp) {
			mods[n] = before
		} else {
			mods[n] = s.readGoMod(ctx, f)
		}
	})
	if ctx.Err() != nil {
		return
	}
	s.goMods = make(map[string]goMod)
	for n, f := range files {
		s.goMods[f.Ref.Path] = mods[n]
	}
}

// goModFiles returns the files that may be read.
func goModFiles(found *filecontext.Survey) []*filecontext.Surveyed {
	var files []*filecontext.Surveyed
	for at := range found.Files {
		if f := &found.Files[at]; path.Base(f.Ref.Path) == "go.mod" && f.Size <= maxGoModBytes {
			files = append(files, f)
		}
	}
	depth := func(f *filecontext.Surveyed) int { return strings.Count(f.Ref.Path, "/") }
	slices.SortStableFunc(files, func(a, b *filecontext.Surveyed) int { return cmp.Compare(depth(a), depth(b)) })
	return files[:min(len(files), maxGoMods)]
}

func (s *sweeper) readGoMod(ctx context.Context, f *filecontext.Surveyed) goMod {
	content, err := s.roots.Read(ctx, f.Ref)
	switch {
	case err != nil && isLasting(Reason(filecontext.ReasonOf(err))):
		return goMod{stamp: f.Stamp}
	case err != nil:
		return goMod{}
	case len(content.Text) > maxGoModBytes: // it has grown since it was listed
		return goMod{stamp: content.Stamp()}
	}
	return goMod{content.Stamp(), content.Text}
}

// goModTexts returns the texts that can be used, by path.
func (s *sweeper) goModTexts() map[string]string {
	texts := make(map[string]string)
	for name, mod := range s.goMods {
		if mod.text != "" {
			texts[name] = mod.text
		}
	}
	return texts
}
