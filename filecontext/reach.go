package filecontext

import (
	"context"
	"io/fs"
	"os"
)

// Reached is the open root of a path, for code that changes files. It is valid until the work of its Reach returns, and is
// not safe for concurrent use.
type Reached struct {
	Folder *os.Root
	Name   string // of the path, relative to Folder, with the system's separators

	roots *Roots
	ref   Ref
}

// Reach runs work with the open root of a path, within the limits for a disk that does not respond. If ctx ends, Reach
// returns at once, and the work may still go on. The error is that of the work, a *RefusedError, or that of ctx.
func Reach[T any](ctx context.Context, r *Roots, ref Ref, work func(*Reached) (T, error)) (T, error) {
	return onDisk(ctx, r, ref, func() (T, error) {
		reached, err := r.reach(ref)
		if err != nil {
			var none T
			return none, err
		}
		defer reached.Folder.Close()
		return work(reached)
	})
}

func (r *Roots) reach(ref Ref) (*Reached, error) {
	folder, err := openRoot(ref)
	if err != nil {
		return nil, err
	}
	return &Reached{Folder: folder, Name: ref.name, roots: r, ref: ref}, nil
}

// Other returns the open root of another path, for work on two paths. The caller closes its Folder.
func (f *Reached) Other(ref Ref) (*Reached, error) { return f.roots.reach(ref) }

// Read returns the bytes and the attributes of the path's file, which is name in folder: Folder, or one below it. The file
// must be one that Roots.Read admits but for its content. The error is a *RefusedError.
func (f *Reached) Read(folder *os.Root, name string) ([]byte, fs.FileInfo, error) {
	at := f.ref
	at.name = name
	file, info, err := open(folder, at, f.roots.limits.FileBytes)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if err := f.Check(info); err != nil {
		return nil, nil, err
	}
	data, err := readAll(file, f.ref, f.roots.limits.FileBytes)
	return data, info, err
}

// Check refuses a path that sessions must not use. info is the identity of its file, nil if there is none. The error is a
// *RefusedError.
func (f *Reached) Check(info fs.FileInfo) error {
	_, err := f.roots.limits.Guard.check(f.ref, info)
	return err
}

// Decode returns the content of the file if it has the given bytes. The error is a *RefusedError for bytes that Roots.Read
// refuses.
func (f *Reached) Decode(data []byte) (Content, error) {
	return contentOf(f.ref, data, f.roots.limits.FileBytes)
}

// Refuse returns a *RefusedError for the path.
func (f *Reached) Refuse(reason Reason, detail string) error {
	return refuse(f.ref.Path, reason, detail)
}

// RefuseOS returns a *RefusedError for an error of Folder.
func (f *Reached) RefuseOS(err error) error { return refuseOS(f.ref.Path, err) }
