package change

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	"strata/filecontext"
	"strata/filecontext/source"
)

// These are the changes of files of a source. The source makes a change; the plan compares the texts before
// it, and reads the file back after it.

// errNotWritten is the error of a source that reports success without a change.
var errNotWritten = errors.New("the client reported success, but did not change the file")

// remoteFile is a file of a source.
type remoteFile struct {
	roots  *filecontext.Roots
	source source.Files
	ref    filecontext.Ref
	name   string
}

// remote returns the file at a path, and false if the files are on disk.
func remote(roots *filecontext.Roots, ref filecontext.Ref) (*remoteFile, bool) {
	if !roots.IsRemote() {
		return nil, false
	}
	return &remoteFile{roots, roots.Source(), ref, ref.Name()}, true
}

func (f *remoteFile) read(ctx context.Context) (*filecontext.Content, []byte, error) {
	data, err := f.roots.ReadSource(ctx, f.ref)
	if err != nil {
		return nil, nil, err
	}
	content, err := f.decode(data)
	return &content, data, err
}

func (f *remoteFile) decode(data []byte) (filecontext.Content, error) {
	return f.roots.Decode(f.ref, data)
}

func (f *remoteFile) refuse(reason filecontext.Reason, detail string) error {
	return &filecontext.RefusedError{Path: f.ref.Path, Reason: reason, Detail: detail}
}

// checkNew refuses a path at which no file may be created: a file or a folder is there, or sessions must not use it.
func (f *remoteFile) checkNew(ctx context.Context) error {
	if err := f.roots.CheckName(f.ref); err != nil {
		return err
	}
	all, err := f.source.List(ctx)
	if err != nil {
		return err
	}
	if all.IsFolder(f.name) {
		return f.refuse(filecontext.ReasonDirectory, "")
	}
	for folder := path.Dir(f.name); folder != "."; folder = path.Dir(folder) {
		if _, isFile := all.Find(folder); isFile {
			return f.refuse(filecontext.ReasonBadPath, filecontext.Printable(folder)+" is not a folder")
		}
	}
	switch _, _, err := f.read(ctx); {
	case err == nil:
		return f.refuse(filecontext.ReasonExists, "")
	case filecontext.ReasonOf(err) == filecontext.ReasonMissing:
		return nil
	default:
		return err
	}
}

// Outcome is the file after a change by a source that changed the text further: an editor that formats what it saves.
type Outcome struct {
	Bytes   []byte
	Content *filecontext.Content
	Effects []Effect
}

// Outcome returns the file after Make, nil if it is as planned.
func (p *Plan) Outcome() *Outcome { return p.outcome }

// remoteReplace is replace for a file of a source.
func (files Files) remoteReplace(
	ctx context.Context, at *remoteFile, change func(*Text) (Text, []filecontext.Range, error),
) (*Plan, error) {
	p, text, err := files.remotePlan(ctx, at)
	if err != nil {
		return nil, err
	}
	after, covered, err := change(&text)
	if err != nil {
		return nil, err
	}
	p.Kind, p.AfterBytes, p.Covered = Replace, after.Bytes(), covered
	if bytes.Equal(p.AfterBytes, p.BeforeBytes) {
		return nil, ErrNothing
	}
	if p.After, err = decoded(at, p.AfterBytes); err != nil {
		return nil, err
	}
	p.Effects[0].After = hashOf(p.AfterBytes)
	return p, nil
}

// remoteCreate is create for a file of a source.
func (files Files) remoteCreate(ctx context.Context, at *remoteFile, text string) (*Plan, error) {
	if err := at.checkNew(ctx); err != nil {
		return nil, err
	}
	after, err := decoded(at, []byte(text))
	if err != nil {
		return nil, err
	}
	p := files.remoteStart(at, nil)
	p.Kind, p.AfterBytes, p.After = Create, []byte(text), after
	p.Effects[0].After = hashOf(p.AfterBytes)
	return p, nil
}

// remoteDelete is Delete for a file of a source.
func (files Files) remoteDelete(ctx context.Context, at *remoteFile) (*Plan, error) {
	p, _, err := files.remotePlan(ctx, at)
	if err != nil {
		return nil, err
	}
	p.Kind = Delete
	return p, nil
}

// remoteMove is Move for a file of a source.
func (files Files) remoteMove(ctx context.Context, from, to *remoteFile) (*Plan, error) {
	p, _, err := files.remotePlan(ctx, from)
	if err != nil {
		return nil, err
	}
	if err := to.checkNew(ctx); err != nil {
		return nil, err
	}
	p.Kind, p.AfterBytes, p.After = Move, p.BeforeBytes, p.Before
	p.refs, p.Names = append(p.refs, to.ref), append(p.Names, to.name)
	p.Effects = append(p.Effects, Effect{
		Path: to.ref.Path, File: to.ref.Absolute(), Before: filecontext.NoFile, After: hashOf(p.BeforeBytes),
	})
	return p, nil
}

// remotePlan begins the plan of a change of a file that exists.
func (files Files) remotePlan(ctx context.Context, at *remoteFile) (*Plan, Text, error) {
	content, data, err := at.read(ctx)
	if err != nil {
		return nil, Text{}, err
	}
	text, err := Decode(data)
	if err != nil || content.Lossy {
		return nil, Text{}, at.refuse(filecontext.ReasonEncoding, "")
	}
	p := files.remoteStart(at, data)
	p.Before = content
	return p, text, nil
}

// remoteStart begins a plan. data are the present bytes, nil for no file.
func (files Files) remoteStart(at *remoteFile, data []byte) *Plan {
	ref := at.ref
	return &Plan{
		BeforeBytes: data, Names: []string{at.name}, files: files, refs: []filecontext.Ref{ref},
		Effects: []Effect{{Path: ref.Path, File: ref.Absolute(), Before: hashOrNone(data), After: filecontext.NoFile}},
	}
}

// decoded returns the content of a file with the given bytes, which must be text that can be written back exactly.
func decoded(at *remoteFile, data []byte) (*filecontext.Content, error) {
	content, err := at.decode(data)
	if err != nil {
		return nil, err
	}
	if content.Lossy {
		return nil, at.refuse(filecontext.ReasonEncoding, "")
	}
	return &content, nil
}

// remoteMake is Make for a file of a source.
func (p *Plan) remoteMake(ctx context.Context, at *remoteFile) error {
	for i, effect := range p.Effects {
		now, err := hashAt(ctx, p.files.Roots, effect.Path)
		switch {
		case err != nil:
			return err
		case now != effect.Before:
			return p.changed(i)
		}
	}
	err := p.effect(func() error {
		switch p.Kind {
		case Delete:
			return at.source.Delete(ctx, at.name)
		case Move:
			return at.source.Move(ctx, at.name, p.Names[1])
		}
		return at.source.Write(ctx, at.name, string(p.AfterBytes))
	})
	if err == nil {
		err = p.readBack(ctx, at)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return p.failed(0, err)
}

// readBack compares the files with the effects of the change.
func (p *Plan) readBack(ctx context.Context, at *remoteFile) error {
	state, err := StateOf(ctx, p.files.Roots, p.Effects)
	switch {
	case err != nil:
		return err
	case state == Done:
		return nil
	case state == NotDone:
		return errNotWritten
	case p.Kind == Delete || p.Kind == Move:
		return fmt.Errorf("%w, or only in part", errNotWritten)
	}
	content, data, err := at.read(ctx)
	if err != nil {
		return err
	}
	effect := p.Effects[0]
	effect.After = hashOf(data)
	p.outcome = &Outcome{Bytes: data, Content: content, Effects: []Effect{effect}}
	return nil
}

// remoteVersion is the version of a file of a source.
func remoteVersion(ctx context.Context, at *remoteFile) (Version, error) {
	_, data, err := at.read(ctx)
	switch {
	case err == nil:
		return Version{Exists: true, Bytes: data}, nil
	case filecontext.ReasonOf(err) == filecontext.ReasonMissing:
		return Version{}, nil
	}
	return Version{}, err
}

// remotePut is Put for a file of a source.
func (files Files) remotePut(ctx context.Context, at *remoteFile, now string, put Version) (*Plan, error) {
	have, err := remoteVersion(ctx, at)
	if err != nil {
		return nil, err
	}
	if now == filecontext.NoFile && !have.Exists {
		if err := at.checkNew(ctx); err != nil {
			return nil, err
		}
	}
	p := files.remoteStart(at, have.Bytes)
	p.Kind, p.AfterBytes = kindOf(now, &put), put.Bytes
	if have.Hash() != now {
		return nil, p.changed(0)
	}
	p.Effects[0].After = put.Hash()
	return p, nil
}
