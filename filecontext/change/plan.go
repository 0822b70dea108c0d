// Package change plans and makes changes of files: edits, new files, deletions and moves. A plan has the bytes before and
// after, so that a caller can show them, ask for approval, and store them before the change is made.
//
// It must never change a file that has changed since the plan was made, never replace a file that the plan does not replace, and
// never touch a path that filecontext refuses. An edit never changes the bytes around the edited texts.
package change

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"sync/atomic"

	"strata/filecontext"
)

// Kind is the kind of a change.
type Kind string

// The kinds of changes.
const (
	Create  Kind = "create"
	Replace Kind = "replace"
	Delete  Kind = "delete"
	Move    Kind = "move"
)

// ErrNothing is the error of a change that would not change the file.
var ErrNothing = errors.New("is already as the change would make it")

// Plan is a change that is not made yet. Make may be called once; everything else is immutable.
type Plan struct {
	Kind    Kind
	Effects []Effect // one for each path
	Names   []string // of all files concerned, relative to their roots, with slashes: also where links lead
	Mode    uint32   // permission bits of the file, as Unix has them; 0 for a new one: the system decides

	BeforeBytes []byte // of the file; nil for a new one
	AfterBytes  []byte // likewise for a deleted one

	Before *filecontext.Content // nil for a new file, and for bytes that are not text
	After  *filecontext.Content // likewise for a deleted one

	Covered []filecontext.Range // the lines of Before that the old texts of edits cover

	files Files
	refs  []filecontext.Ref // the paths: one, of a move that of the file and that of its new place
	found []found           // where they lead
	stage atomic.Int32
	mode  *fs.FileMode // of the new bytes; nil: that of the file before, or of a new file

	outcome *Outcome // set by Make
}

// Files plans changes of the files of a session. It is safe for concurrent use.
type Files struct{ Roots *filecontext.Roots }

// Edit plans edits of a text file. The error is a *filecontext.RefusedError, an *EditError, or that of ctx.
func (files Files) Edit(ctx context.Context, ref filecontext.Ref, edits []Edit) (*Plan, error) {
	return files.replace(ctx, ref, func(t *Text) (Text, []filecontext.Range, error) { return t.Edited(edits) })
}

// Write plans a file with a text. An existing file keeps its encoding, and the line ends of unchanged lines. The error
// is a *filecontext.RefusedError, ErrNothing, or that of ctx.
func (files Files) Write(ctx context.Context, ref filecontext.Ref, text string) (*Plan, error) {
	plan, err := files.replace(ctx, ref, func(t *Text) (Text, []filecontext.Range, error) { return t.Rewritten(text), nil, nil })
	if err != nil && filecontext.ReasonOf(err) == filecontext.ReasonMissing {
		return files.create(ctx, ref, text)
	}
	return plan, err
}

// replace plans that a text file becomes what change makes of it.
func (files Files) replace(ctx context.Context, ref filecontext.Ref, change func(*Text) (Text, []filecontext.Range, error)) (*Plan, error) {
	if at, ok := remote(files.Roots, ref); ok {
		return files.remoteReplace(ctx, at, change)
	}
	return filecontext.Reach(ctx, files.Roots, ref, func(f *filecontext.Reached) (*Plan, error) {
		s, data, err := readSpot(f)
		if err != nil {
			return nil, err
		}
		defer s.close()
		if err := s.checkWritable(f); err != nil {
			return nil, err
		}
		before, text, err := decode(f, data)
		if err != nil {
			return nil, err
		}
		p := &Plan{Kind: Replace, BeforeBytes: data, Before: before, files: files}
		p.concerns(f, ref, s)
		after, covered, err := change(&text)
		if err != nil {
			return nil, err
		}
		p.AfterBytes, p.Covered = after.Bytes(), covered
		if bytes.Equal(p.AfterBytes, data) {
			return nil, ErrNothing
		}
		if p.After, _, err = decode(f, p.AfterBytes); err != nil {
			return nil, err
		}
		p.Effects = []Effect{{Path: ref.Path, File: s.path, Before: hashOf(data), After: hashOf(p.AfterBytes)}}
		return p, nil
	})
}

// decode returns the content of a file and how the file encodes it. It refuses what cannot be written back exactly.
func decode(f *filecontext.Reached, data []byte) (*filecontext.Content, Text, error) {
	content, err := f.Decode(data)
	if err != nil {
		return nil, Text{}, err
	}
	text, err := Decode(data)
	if err != nil || content.Lossy {
		return nil, Text{}, f.Refuse(filecontext.ReasonEncoding, "")
	}
	return &content, text, nil
}

// create plans a new file.
func (files Files) create(ctx context.Context, ref filecontext.Ref, text string) (*Plan, error) {
	if at, ok := remote(files.Roots, ref); ok {
		return files.remoteCreate(ctx, at, text)
	}
	return filecontext.Reach(ctx, files.Roots, ref, func(f *filecontext.Reached) (*Plan, error) {
		s, err := newSpot(f)
		if err != nil {
			return nil, err
		}
		defer s.close()
		p := &Plan{Kind: Create, AfterBytes: []byte(text), files: files}
		p.concerns(f, ref, s)
		if p.After, _, err = decode(f, p.AfterBytes); err != nil {
			return nil, err
		}
		p.Effects = []Effect{{Path: ref.Path, File: s.path, Before: filecontext.NoFile, After: hashOf(p.AfterBytes)}}
		return p, nil
	})
}

// Delete plans the deletion of a file, which need not be text. The error is a *filecontext.RefusedError, or that of ctx.
func (files Files) Delete(ctx context.Context, ref filecontext.Ref) (*Plan, error) {
	if at, ok := remote(files.Roots, ref); ok {
		return files.remoteDelete(ctx, at)
	}
	return filecontext.Reach(ctx, files.Roots, ref, func(f *filecontext.Reached) (*Plan, error) {
		p, s, err := files.present(f, ref)
		if err != nil {
			return nil, err
		}
		defer s.close()
		p.Kind = Delete
		p.Effects = []Effect{{Path: ref.Path, File: s.path, Before: hashOf(p.BeforeBytes), After: filecontext.NoFile}}
		return p, nil
	})
}

// Move plans the move of a file, which need not be text, to a path without a file. The error is a
// *filecontext.RefusedError, or that of ctx.
func (files Files) Move(ctx context.Context, from, to filecontext.Ref) (*Plan, error) {
	if at, ok := remote(files.Roots, from); ok {
		goal, _ := remote(files.Roots, to)
		return files.remoteMove(ctx, at, goal)
	}
	return filecontext.Reach(ctx, files.Roots, from, func(f *filecontext.Reached) (*Plan, error) {
		p, s, err := files.present(f, from)
		if err != nil {
			return nil, err
		}
		defer s.close()
		goal, err := f.Other(to)
		if err != nil {
			return nil, err
		}
		defer goal.Folder.Close()
		end, err := newSpot(goal)
		if err != nil {
			return nil, err
		}
		defer end.close()
		p.Kind, p.AfterBytes, p.After = Move, p.BeforeBytes, p.Before
		p.concerns(goal, to, end)
		hash := hashOf(p.BeforeBytes)
		p.Effects = []Effect{
			{Path: from.Path, File: s.path, Before: hash, After: filecontext.NoFile},
			{Path: to.Path, File: end.path, Before: filecontext.NoFile, After: hash},
		}
		return p, nil
	})
}

// present begins the plan of a change that removes a file from its path.
func (files Files) present(f *filecontext.Reached, ref filecontext.Ref) (*Plan, *spot, error) {
	s, data, err := readSpot(f)
	switch {
	case err != nil:
		return nil, nil, err
	case s.isLink:
		s.close()
		return nil, nil, f.Refuse(filecontext.ReasonNotRegular, "it is a symbolic link")
	}
	p := &Plan{BeforeBytes: data, files: files}
	p.concerns(f, ref, s)
	if content, err := f.Decode(data); err == nil {
		p.Before = &content
	}
	return p, s, nil
}

// concerns adds a path to the plan, and where it leads.
func (p *Plan) concerns(f *filecontext.Reached, ref filecontext.Ref, s *spot) {
	p.refs, p.found = append(p.refs, ref), append(p.found, s.found)
	p.Names = append(p.Names, filepath.ToSlash(f.Name))
	if name, err := filepath.Rel(f.Folder.Name(), s.path); err == nil && name != f.Name {
		p.Names = append(p.Names, filepath.ToSlash(name))
	}
	if s.file != nil {
		p.Mode = unixMode(s.file.Mode())
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
