package changing

import (
	"context"
	"strings"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/internal/lazy"
	"strata/session/tools"
)

// Writer plans changes of files for tools. Texts of existing files have LF line ends; a new file gets the line ends of its
// text. The errors are those of change.Files: a *filecontext.RefusedError, a *change.EditError, change.ErrNothing, or that of ctx.
type Writer interface {
	Edit(ctx context.Context, path string, edits []change.Edit) (*Planned, error)
	Write(ctx context.Context, path, text string) (*Planned, error)
	Delete(ctx context.Context, path string) (*Planned, error)
	Move(ctx context.Context, from, to string) (*Planned, error)
}

// Planned is a change of a file that is not made yet.
type Planned struct {
	tools.Change

	Before *filecontext.Content // nil for a new file, and for bytes that are not text
	After  *filecontext.Content // likewise for a deleted one

	Covered []filecontext.Range // the lines of Before that the old texts of edits cover

	// Make makes the change. The error is a *filecontext.RefusedError, change.ErrChanged, a *change.WriteError, one of package
	// clients, or that of ctx.
	Make func(ctx context.Context) (*Made, error)

	// State returns whether the change was made, after an error of Make.
	State func(ctx context.Context) change.State
}

// Made is the outcome of a change.
type Made struct {
	tools.Made
	Content *filecontext.Content // the current file: After, or the editor's version of it; nil for no file, and for bytes that are not text
	Note    string               // a sentence about the editor's response; empty for none
}

// DiskWriter changes files on disk.
type DiskWriter struct {
	Roots   *filecontext.Roots
	Secrets bool // the user allows it to change files that look like secrets
}

// Edit implements Writer.
func (w DiskWriter) Edit(ctx context.Context, path string, edits []change.Edit) (*Planned, error) {
	return w.plan(path, func(files change.Files, ref filecontext.Ref) (*change.Plan, error) {
		return files.Edit(ctx, ref, edits)
	})
}

// Write implements Writer.
func (w DiskWriter) Write(ctx context.Context, path, text string) (*Planned, error) {
	return w.plan(path, func(files change.Files, ref filecontext.Ref) (*change.Plan, error) {
		return files.Write(ctx, ref, text)
	})
}

// Delete implements Writer.
func (w DiskWriter) Delete(ctx context.Context, path string) (*Planned, error) {
	return w.plan(path, func(files change.Files, ref filecontext.Ref) (*change.Plan, error) { return files.Delete(ctx, ref) })
}

// Move implements Writer.
func (w DiskWriter) Move(ctx context.Context, from, to string) (*Planned, error) {
	goal, err := w.locate(to)
	if err != nil {
		return nil, err
	}
	return w.plan(from, func(files change.Files, ref filecontext.Ref) (*change.Plan, error) { return files.Move(ctx, ref, goal) })
}

// locate returns the place of a path. An address of the web would be taken for a path with a folder "http:".
func (w DiskWriter) locate(path string) (filecontext.Ref, error) {
	if address().MatchString(path) && !strings.HasPrefix(path, "file:") {
		return filecontext.Ref{}, &filecontext.RefusedError{Path: path, Reason: filecontext.ReasonNoFile}
	}
	ref, err := w.Roots.Locate(path)
	ref.Allow = w.Secrets
	return ref, err
}

var address = lazy.Regexp(`^[A-Za-z][A-Za-z0-9+.-]*://`)

func (w DiskWriter) plan(path string, plan func(change.Files, filecontext.Ref) (*change.Plan, error)) (*Planned, error) {
	ref, err := w.locate(path)
	if err != nil {
		return nil, err
	}
	p, err := plan(change.Files{Roots: w.Roots}, ref)
	if err != nil {
		return nil, err
	}
	return &Planned{
		Change: tools.Change{Effects: p.Effects, Names: p.Names, Mode: p.Mode, Image: p.BeforeBytes, Next: p.AfterBytes},
		Before: p.Before, After: p.After, Covered: p.Covered,
		Make: func(ctx context.Context) (*Made, error) {
			if err := p.Make(ctx); err != nil {
				return nil, err
			}
			if now := p.Outcome(); now != nil {
				return &Made{Made: tools.Made{State: change.Done, Effects: now.Effects, Next: now.Bytes}, Content: now.Content}, nil
			}
			return &Made{Made: tools.Made{State: change.Done}, Content: p.After}, nil
		},
		State: p.State,
	}, nil
}
