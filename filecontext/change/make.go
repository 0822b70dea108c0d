package change

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"strata/filecontext"
	"strata/internal/clip"
)

// ErrChanged is the error of a change whose file, or the folder of it, is not what it was when the change was planned.
var ErrChanged = errors.New("has changed since the change was planned")

// WriteError is a change that the system did not let us make. The file is as it was.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("%s cannot be written: %v", filecontext.Printable(clip.Path(e.Path)), e.Unwrap())
}

// Unwrap returns the reason without paths, which could be those of temporary files.
func (e *WriteError) Unwrap() error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(e.Err, &path):
		return path.Err
	case errors.As(e.Err, &link):
		return link.Err
	}
	return e.Err
}

// Make makes the change, if the files and their folders are still what they were. If ctx ends, it may have been made:
// StateOf tells. The error is ErrChanged, wrapped, a *filecontext.RefusedError, a *WriteError, or that of ctx; except for that
// of ctx, nothing has changed.
func (p *Plan) Make(ctx context.Context) error {
	work := map[Kind]func(context.Context, *filecontext.Reached) error{
		Create: p.makeNew, Replace: p.replaceFile, Delete: p.deleteFile, Move: p.moveFile,
	}[p.Kind]
	_, err := filecontext.Reach(ctx, p.files.Roots, p.refs[0], func(f *filecontext.Reached) (struct{}, error) {
		return struct{}{}, work(ctx, f)
	})
	return err
}

// ready returns where the path with the index leads, if that is what was planned, with the bytes that were planned.
func (p *Plan) ready(f *filecontext.Reached, index int) (*spot, error) {
	planned := &p.found[index]
	var s *spot
	var err error
	var data []byte
	if planned.file != nil {
		s, data, err = readSpot(f)
	} else {
		s, err = newSpot(f)
	}
	if err != nil {
		return nil, p.vanished(index, err)
	}
	if !s.isStill(planned) || planned.file != nil && !bytes.Equal(data, p.BeforeBytes) {
		s.close()
		return nil, p.changed(index)
	}
	return s, nil
}

// vanished returns the error for a path that led somewhere when the change was planned.
func (p *Plan) vanished(index int, err error) error {
	switch filecontext.ReasonOf(err) {
	case filecontext.ReasonSecret, filecontext.ReasonOwn, filecontext.ReasonUnreadable:
		return err
	}
	return p.changed(index)
}

func (p *Plan) changed(index int) error {
	return fmt.Errorf("%s %w", filecontext.Printable(clip.Path(p.refs[index].Path)), ErrChanged)
}

func (p *Plan) failed(index int, err error) error {
	return &WriteError{Path: p.refs[index].Path, Err: err}
}

// do makes an effect on the file of a spot if that is the one that was planned right before.
func (p *Plan) do(ctx context.Context, f *filecontext.Reached, s *spot, effect func() error) error {
	leave, err := busyFiles.enter(ctx, s.path)
	if err != nil {
		return err
	}
	defer leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	data, info, err := f.Read(s.open, s.base)
	switch {
	case err != nil:
		return p.vanished(0, err)
	case !os.SameFile(info, p.found[0].file) || !bytes.Equal(data, p.BeforeBytes):
		return p.changed(0)
	}
	return effect()
}

func (p *Plan) replaceFile(ctx context.Context, f *filecontext.Reached) error {
	s, err := p.ready(f, 0)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.checkWritable(f); err != nil {
		return err
	}
	temp, err := writeTemp(s.open, p.AfterBytes, s.file)
	if err != nil {
		return p.failed(0, err)
	}
	defer temp.remove()
	return p.do(ctx, f, s, func() error {
		if err := temp.rename(s.base); err != nil {
			return p.failed(0, err)
		}
		_ = syncFolder(s.open) // the file is there; StateOf tells whether it is after a crash
		return nil
	})
}

func (p *Plan) makeNew(ctx context.Context, f *filecontext.Reached) error {
	return p.create(ctx, f, 0, func(folder *os.Root, base string) error { return writeNew(ctx, folder, base, p.AfterBytes, nil) })
}

// create makes the folders of the path with the index, and the file, by put, whose error is fs.ErrExist if there is one.
func (p *Plan) create(ctx context.Context, f *filecontext.Reached, index int, put func(folder *os.Root, base string) error) error {
	s, err := p.ready(f, index)
	if err != nil {
		return err
	}
	defer s.close()
	made, err := s.makeFolders()
	defer made.close()
	if err == nil {
		err = f.Check(nil)
	}
	if err == nil {
		err = put(made.last(), s.base)
	}
	if err == nil {
		made.sync()
		return nil
	}
	made.undo()
	var refused *filecontext.RefusedError
	switch {
	case ctx.Err() != nil, errors.As(err, &refused), errors.Is(err, ErrChanged):
		return err
	case errors.Is(err, fs.ErrExist):
		return p.changed(index)
	}
	return p.failed(index, err)
}

// writeNew writes a new file, with the attributes of another, if there is one.
func writeNew(ctx context.Context, folder *os.Root, base string, data []byte, like fs.FileInfo) error {
	temp, err := writeTemp(folder, data, like)
	if err != nil {
		return err
	}
	defer temp.remove()
	if err := ctx.Err(); err != nil {
		return err
	}
	return temp.linkNew(base)
}

func (p *Plan) deleteFile(ctx context.Context, f *filecontext.Reached) error {
	s, err := p.ready(f, 0)
	if err != nil {
		return err
	}
	defer s.close()
	return p.do(ctx, f, s, func() error { return p.removeFile(s) })
}

func (p *Plan) removeFile(s *spot) error {
	if err := s.open.Remove(s.base); err != nil {
		return p.failed(0, err)
	}
	_ = syncFolder(s.open)
	return nil
}

// moveFile makes the file at its new path, and then removes it at the old one. So a crash leaves it at least at one of them.
func (p *Plan) moveFile(ctx context.Context, f *filecontext.Reached) error {
	s, err := p.ready(f, 0)
	if err != nil {
		return err
	}
	defer s.close()
	goal, err := f.Other(p.refs[1])
	if err != nil {
		return err
	}
	defer goal.Folder.Close()
	err = p.create(ctx, goal, 1, func(folder *os.Root, base string) error {
		return p.do(ctx, f, s, func() error { return p.sameAt(ctx, s, folder, base) })
	})
	if err != nil {
		return err
	}
	if err := p.do(ctx, f, s, func() error { return p.removeFile(s) }); err != nil {
		return errors.Join(err, p.takeBack(goal))
	}
	return nil
}

// sameAt gives the file of a spot a second name, or makes a copy where it cannot have one.
func (p *Plan) sameAt(ctx context.Context, s *spot, folder *os.Root, base string) error {
	err := link(s.open, s.base, folder, base)
	if err != nil && (isUnsupported(err) || errors.Is(err, errors.ErrUnsupported)) {
		return writeNew(ctx, folder, base, p.AfterBytes, s.file)
	}
	if err != nil {
		return err
	}
	if info, err := folder.Lstat(base); err != nil || !os.SameFile(info, s.file) {
		return errors.Join(p.changed(0), folder.Remove(base))
	}
	return nil
}

// takeBack removes the file that a move has made.
func (p *Plan) takeBack(goal *filecontext.Reached) error {
	s, data, err := readSpot(goal)
	if err != nil {
		return err
	}
	defer s.close()
	if !bytes.Equal(data, p.AfterBytes) {
		return p.changed(1)
	}
	return s.open.Remove(s.base)
}
