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
	"strata/internal/failpoint"
)

// ErrChanged is the error of a change whose file or folder has changed since the change was planned.
var ErrChanged = errors.New("has changed since the change was planned")

// WriteError is a failed change: the system refused a file operation. The file has not changed.
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

// stage is how far a change is. Its first effect and the end of its context decide between them whether it is made.
type stage = int32

const (
	planned   stage = iota
	begun           // it is made, even if its context ends
	abandoned       // its context has ended before: it is never made
)

// Make makes the change, if its files and folders have not changed. If ctx ends before the first effect, Make returns
// immediately and the change is not made; otherwise Make waits for the change. The error is a *filecontext.RefusedError, a
// *WriteError, that of ctx, or wraps ErrChanged. After an error nothing has changed, unless the disk did not respond: State
// then returns the outcome.
func (p *Plan) Make(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	leave, err := heldFiles.enter(ctx, p.Effects[0].File)
	if err != nil {
		return err
	}
	defer leave()
	running, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() {
		if p.stage.CompareAndSwap(planned, abandoned) {
			abandon()
		}
	})()
	if at, ok := remote(p.files.Roots, p.refs[0]); ok {
		err = p.remoteMake(running, at)
	} else {
		_, err = filecontext.Reach(running, p.files.Roots, p.refs[0], func(f *filecontext.Reached) (struct{}, error) {
			return struct{}{}, p.work()(running, f)
		})
	}
	if err != nil {
		p.stage.CompareAndSwap(planned, abandoned) // the work of a disk that did not respond may go on
	}
	if err != nil && running.Err() != nil {
		return ctx.Err()
	}
	return err
}

// State returns whether the change was made, after an error of Make.
func (p *Plan) State(ctx context.Context) State {
	if p.stage.Load() != begun {
		return NotDone
	}
	state, err := StateOf(ctx, p.files.Roots, p.Effects)
	if err != nil {
		return Unknown
	}
	return state
}

func (p *Plan) work() func(context.Context, *filecontext.Reached) error {
	switch p.Kind {
	case Create:
		return p.makeNew
	case Replace:
		return p.replaceFile
	case Delete:
		return p.deleteFile
	}
	return p.moveFile
}

// effect makes an effect, unless the change was abandoned.
func (p *Plan) effect(do func() error) error {
	if err := p.begin(); err != nil {
		return err
	}
	failpoint.Hit("change.before")
	err := do()
	failpoint.Hit("change.after")
	return err
}

// begin must be called before an effect. The error is that of an abandoned change.
func (p *Plan) begin() error {
	if p.stage.CompareAndSwap(planned, begun) || p.stage.Load() == begun {
		return nil
	}
	return context.Canceled
}

// ready returns where the path with the index leads, if that is what was planned, with the bytes that were planned. It removes
// what a crash left in the folder.
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
	clean(s.open)
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
	data, info, err := f.Read(s.open, s.base)
	switch {
	case err != nil:
		return p.vanished(0, err)
	case !os.SameFile(info, p.found[0].file) || !bytes.Equal(data, p.BeforeBytes):
		return p.changed(0)
	}
	return p.effect(effect)
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
	temp, err := writeTemp(s.open, p.AfterBytes, p.like(s.file))
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

func (p *Plan) makeNew(_ context.Context, f *filecontext.Reached) error {
	return p.create(f, 0, func(in *folders, base string) error { return p.writeNew(in.last(), base, p.like(nil)) })
}

// create makes the folders of the path with the index, and the file, by put, whose error is fs.ErrExist if there is one. With an
// error of put there is no file, and the folders are removed.
func (p *Plan) create(f *filecontext.Reached, index int, put func(in *folders, base string) error) error {
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
		err = put(made, s.base)
	}
	if err == nil {
		made.sync()
		return nil
	}
	made.undo()
	var refused *filecontext.RefusedError
	var failed *WriteError
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &refused), errors.Is(err, ErrChanged), errors.As(err, &failed):
		return err
	case errors.Is(err, fs.ErrExist):
		return p.changed(index)
	}
	return p.failed(index, err)
}

// writeNew writes the new file, with the attributes of another, if there is one.
func (p *Plan) writeNew(folder *os.Root, base string, like fs.FileInfo) error {
	temp, err := writeTemp(folder, p.AfterBytes, like)
	if err != nil {
		return err
	}
	defer temp.remove()
	return p.effect(func() error { return temp.linkNew(base) })
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
	return p.create(goal, 1, func(in *folders, base string) error {
		if err := p.do(ctx, f, s, func() error { return p.sameAt(s, in.last(), base) }); err != nil {
			return err
		}
		in.sync()
		if err := p.do(ctx, f, s, func() error { return p.removeFile(s) }); err != nil {
			return errors.Join(err, p.takeBack(goal))
		}
		return nil
	})
}

// sameAt gives the file of a spot a second name, or makes a copy where it cannot have one.
func (p *Plan) sameAt(s *spot, folder *os.Root, base string) error {
	err := link(s.open, s.base, folder, base)
	if err != nil && (isUnsupported(err) || errors.Is(err, errors.ErrUnsupported)) {
		return p.writeNew(folder, base, s.file)
	}
	if err != nil {
		return err
	}
	if info, err := folder.Lstat(base); err != nil || !os.SameFile(info, s.file) {
		return errors.Join(p.changed(0), folder.Remove(base))
	}
	return nil
}

// takeBack removes the file that a move has created.
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
