package changing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/session/clients"
	"strata/session/tools"
)

// Editors returns the client that writes files for the turn, nil for none, and the event that its requests must follow. It is
// called for each change, and again with the client gone if the connection of that client has ended.
type Editors func(gone clients.Client) (editor clients.Client, after uint64)

// Texts are the unsaved texts of files, as clients have last returned them. They are safe for concurrent use.
type Texts interface {
	// Get returns the newest unsaved text of a file.
	Get(path string) (filecontext.Content, bool)
	// Put stores the current text of a file, or forgets the file if the text equals the disk.
	Put(*filecontext.Content)
}

// EditorWriter changes the text of files through the editor that serves the turn, and on disk if there is none. Files are
// deleted and moved on disk. A path that filecontext refuses is never sent to an editor.
type EditorWriter struct {
	DiskWriter
	editors Editors
	texts   Texts
}

// NewEditorWriter returns a Writer that uses disk for deletions and moves, and if no editor can write.
func NewEditorWriter(disk DiskWriter, editors Editors, texts Texts) *EditorWriter {
	return &EditorWriter{DiskWriter: disk, editors: editors, texts: texts}
}

// revise returns a new text, and the lines of the one before that the old texts of edits cover. isNew means that there was no
// file.
type revise func(before *change.Text, isNew bool) (change.Text, []filecontext.Range, error)

// Edit implements Writer. The edits are made in the text that the editor has, saved or not.
func (w *EditorWriter) Edit(ctx context.Context, path string, edits []change.Edit) (*Planned, error) {
	p, err := w.edit(ctx, path, func(before *change.Text, isNew bool) (change.Text, []filecontext.Range, error) {
		if isNew {
			return change.Text{}, nil, &filecontext.RefusedError{Path: path, Reason: filecontext.ReasonMissing}
		}
		return before.Edited(edits)
	})
	if p == nil && err == nil {
		return w.saved(w.DiskWriter.Edit(ctx, path, edits))
	}
	return p, err
}

// Write implements Writer.
func (w *EditorWriter) Write(ctx context.Context, path, text string) (*Planned, error) {
	p, err := w.edit(ctx, path, func(before *change.Text, isNew bool) (after change.Text, covered []filecontext.Range, err error) {
		if isNew {
			after, err = change.Decode([]byte(text))
			return after, nil, err
		}
		if after = before.Rewritten(text); after.String() == before.String() {
			err = change.ErrNothing
		}
		return after, nil, err
	})
	if p == nil && err == nil {
		return w.saved(w.DiskWriter.Write(ctx, path, text))
	}
	return p, err
}

// saved returns a change on disk, if the file has no unsaved text: the model was shown that, and the change would be lost when
// the user saves it.
func (w *EditorWriter) saved(p *Planned, err error) (*Planned, error) {
	if err != nil || p.Before == nil {
		return p, err
	}
	if text, ok := w.texts.Get(p.Before.Path); ok && text.Version() != p.Before.Version() && text.Disk() == p.Effects[0].Before {
		return nil, fmt.Errorf("%s has unsaved changes in the user's editor; ask the user to save it first", titlePath(p.Before.Path))
	}
	return p, nil
}

// edit plans a change through the editor that serves the turn. It returns nil if there is none.
func (w *EditorWriter) edit(ctx context.Context, path string, revised revise) (*Planned, error) {
	for editor, after := w.editors(nil); editor != nil; editor, after = w.editors(editor) {
		p, err := w.planWith(ctx, editing{w, editor, after}, path, revised)
		if !errors.Is(err, clients.ErrGone) {
			return p, err
		}
	}
	return nil, nil
}

func (w *EditorWriter) planWith(ctx context.Context, e editing, path string, revised revise) (*Planned, error) {
	ref, err := w.locate(path)
	if err != nil {
		return nil, err
	}
	site, err := change.Files{Roots: w.Roots}.Site(ctx, ref)
	if err != nil {
		return nil, err
	}
	before, text, err := e.present(ctx, ref, site)
	if err != nil {
		return nil, err
	}
	draft, err := site.Draft(ctx, text, func(t *change.Text) (change.Text, []filecontext.Range, error) { return revised(t, before == nil) })
	if err != nil {
		return nil, err
	}
	c := &edition{w: w, ref: ref, site: site, before: before, draft: draft}
	next := site.Saved(draft.Text)
	return &Planned{
		Change: tools.Change{Effects: []change.Effect{site.Effect(site.Bytes, next)}, Names: site.Names(), Mode: site.Mode(), Image: site.Bytes, Next: next},
		Before: before, After: draft.After, Covered: draft.Covered, Make: c.make, State: c.stateAfterError,
	}, nil
}

// editing is an editor that serves a change, and the event that its requests follow.
type editing struct {
	w      *EditorWriter
	editor clients.Client
	after  uint64
}

// present returns the text of a file as the model would be shown it now, and the same as the editor writes it. The content is
// nil if there is no file.
func (e editing) present(ctx context.Context, ref filecontext.Ref, site *change.Site) (*filecontext.Content, string, error) {
	if e.editor.Can(clients.ReadFiles) {
		content, text, err := e.shown(ctx, ref, site)
		if !isRefused(err) {
			return content, text, err
		}
	}
	if content, ok := e.w.texts.Get(ref.Path); ok && content.Disk() == site.Hash() {
		return &content, content.Text, nil
	}
	return site.Text(ctx)
}

// shown returns the text as the editor shows it. The error can be a *clients.Refused: the editor does not show the file.
func (e editing) shown(ctx context.Context, ref filecontext.Ref, site *change.Site) (*filecontext.Content, string, error) {
	text, err := e.editor.ReadTextFile(ctx, clients.Read{Path: ref.Absolute()}, e.after)
	if err != nil {
		return nil, "", err
	}
	if site.Bytes == nil && text == "" { // so some editors show that there is no file
		return nil, "", nil
	}
	if strings.ContainsRune(text, utf8.RuneError) && !site.IsExact() {
		return nil, "", site.Refuse(filecontext.ReasonEncoding)
	}
	content, err := e.w.Roots.Opened(ctx, ref, text)
	if err != nil {
		return nil, "", err
	}
	e.w.texts.Put(&content)
	return &content, complete(text, &content), nil
}

// complete returns the text that an editor shows of a saved file with the last newline, which some editors leave out.
func complete(shown string, file *filecontext.Content) string {
	if file.Disk() != "" || !strings.HasSuffix(file.Text, "\n") || strings.HasSuffix(shown, "\n") {
		return shown
	}
	if strings.Contains(shown, "\r\n") {
		return shown + "\r\n"
	}
	return shown + "\n"
}

func isRefused(err error) bool {
	_, refused := errors.AsType[*clients.Refused](err)
	return refused
}

// edition is a planned change of a text through an editor.
type edition struct {
	w      *EditorWriter
	ref    filecontext.Ref
	site   *change.Site
	before *filecontext.Content // nil for a new file
	draft  *change.Draft

	onlyDisk *Planned // once it is made without an editor
}

// make makes the change through the editor that serves the turn now, else on disk.
func (c *edition) make(ctx context.Context) (*Made, error) {
	for editor, after := c.w.editors(nil); editor != nil; editor, after = c.w.editors(editor) {
		made, err := c.through(ctx, editing{c.w, editor, after})
		if !errors.Is(err, clients.ErrGone) {
			return made, err
		}
	}
	return c.onDisk(ctx)
}

// through makes the change through an editor. The error is clients.ErrGone only if the editor was not told to write.
func (c *edition) through(ctx context.Context, e editing) (*Made, error) {
	leave, err := c.site.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := c.check(ctx, e); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	said := e.editor.WriteTextFile(ctx, clients.Write{Path: c.ref.Absolute(), Content: c.draft.Text}, e.after)
	switch {
	case ctx.Err() != nil:
		said = errCancelled
	case errors.Is(said, clients.ErrBusy):
		return nil, said // it was not sent
	}
	return c.outcome(ctx, e, said), nil
}

// check returns an error unless the text and the file are still those for which the change was planned.
func (c *edition) check(ctx context.Context, e editing) error {
	now, _, err := e.present(ctx, c.ref, c.site)
	switch {
	case err != nil:
		return err
	case !sameVersion(now, c.before):
		return c.changed()
	}
	return c.site.Check(ctx)
}

func (c *edition) changed() error {
	return fmt.Errorf("%s %w", titlePath(c.ref.Path), change.ErrChanged)
}

func sameVersion(a, b *filecontext.Content) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Version() == b.Version()
}

// onDisk makes the change without an editor, if the disk has the text that was to be changed.
func (c *edition) onDisk(ctx context.Context) (*Made, error) {
	if err := c.site.Check(ctx); err != nil {
		return nil, err
	}
	p, err := c.w.DiskWriter.Write(ctx, c.ref.Path, c.draft.Text)
	switch {
	case errors.Is(err, change.ErrNothing):
		return nil, c.changed()
	case err != nil:
		return nil, err
	case !sameVersion(p.Before, c.before) || !bytes.Equal(p.Image, c.site.Bytes):
		return nil, c.changed()
	}
	c.onlyDisk = p
	return p.Make(ctx)
}

// stateAfterError returns whether the change was made after an error of make: by an editor it was not.
func (c *edition) stateAfterError(ctx context.Context) change.State {
	if c.onlyDisk == nil {
		return change.NotDone
	}
	return c.onlyDisk.State(ctx)
}
