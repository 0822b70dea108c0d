package change

import (
	"context"
	"io/fs"
	"path/filepath"

	"strata/filecontext"
)

// Version is a version of the file at a path.
type Version struct {
	Exists bool
	Bytes  []byte
	Mode   uint32 // permission bits, as Unix has them; 0: those of the file that it replaces, or of a new file
}

// Hash returns the SHA-256 of the bytes in hex, or filecontext.NoFile.
func (v Version) Hash() string {
	if !v.Exists {
		return filecontext.NoFile
	}
	return hashOf(v.Bytes)
}

// Look returns the version at a path. The path must be that of the file itself: Look follows no links. It does not refuse files
// that look like secrets. The error is a *filecontext.RefusedError, or that of ctx.
func (files Files) Look(ctx context.Context, path string) (Version, error) {
	ref, err := files.itself(path)
	if err != nil {
		return Version{}, err
	}
	if at, ok := remote(files.Roots, ref); ok {
		return remoteVersion(ctx, at)
	}
	v, err := filecontext.Reach(ctx, files.Roots, ref, func(f *filecontext.Reached) (Version, error) {
		s, data, err := readSpot(f)
		if err != nil {
			return Version{}, err
		}
		defer s.close()
		if !s.isItself(f) {
			return Version{}, f.Refuse(filecontext.ReasonNotRegular, "there is a symbolic link in the path")
		}
		return Version{Exists: true, Bytes: data, Mode: unixMode(s.file.Mode())}, nil
	})
	if err != nil && filecontext.ReasonOf(err) == filecontext.ReasonMissing {
		return Version{}, nil
	}
	return v, err
}

// Put plans to restore a version at a path, or to remove the file. now is the hash of the current file, or filecontext.NoFile.
// The path must be that of the file itself, as for Look. The error is a *filecontext.RefusedError, that of ctx, or wraps
// ErrChanged.
func (files Files) Put(ctx context.Context, path, now string, put Version) (*Plan, error) {
	ref, err := files.itself(path)
	if err != nil {
		return nil, err
	}
	if at, ok := remote(files.Roots, ref); ok {
		return files.remotePut(ctx, at, now, put)
	}
	return filecontext.Reach(ctx, files.Roots, ref, func(f *filecontext.Reached) (*Plan, error) {
		p := &Plan{Kind: kindOf(now, &put), AfterBytes: put.Bytes, files: files, refs: []filecontext.Ref{ref}}
		s, err := p.spotOf(f)
		if err != nil {
			return nil, err
		}
		defer s.close()
		if p.Kind != Create && hashOf(p.BeforeBytes) != now || !s.isItself(f) {
			return nil, p.changed(0)
		}
		p.found = []found{s.found}
		if put.Mode != 0 {
			mode := fileMode(put.Mode)
			p.mode = &mode
		}
		p.Effects = []Effect{{Path: ref.Path, File: s.path, Before: now, After: put.Hash()}}
		return p, nil
	})
}

// itself returns the place of a path. The user has allowed its file when it was changed.
func (files Files) itself(path string) (filecontext.Ref, error) {
	ref, err := files.Roots.Locate(path)
	ref.Allow = true
	return ref, err
}

func kindOf(now string, put *Version) Kind {
	switch {
	case !put.Exists:
		return Delete
	case now == filecontext.NoFile:
		return Create
	}
	return Replace
}

// spotOf returns where the path of a plan leads, and reads the bytes that the plan replaces.
func (p *Plan) spotOf(f *filecontext.Reached) (s *spot, err error) {
	if p.Kind == Create {
		s, err = newSpot(f)
	} else {
		s, p.BeforeBytes, err = readSpot(f)
	}
	if err != nil {
		return nil, p.vanished(0, err)
	}
	return s, nil
}

// isItself reports whether the path that was followed has no links below the root.
func (s *spot) isItself(f *filecontext.Reached) bool {
	return !s.isLink && s.path == filepath.Join(f.Folder.Name(), f.Name)
}

// attributes are those that a file gets: of another file, but for the mode.
type attributes struct {
	fs.FileInfo // nil: the owner is not known
	mode        fs.FileMode
}

// Mode implements fs.FileInfo.
func (a attributes) Mode() fs.FileMode { return a.mode }

// Sys implements fs.FileInfo.
func (a attributes) Sys() any {
	if a.FileInfo == nil {
		return nil
	}
	return a.FileInfo.Sys()
}

// like returns the attributes of the new bytes in the place of a file; nil are those of a new file.
func (p *Plan) like(old fs.FileInfo) fs.FileInfo {
	if p.mode == nil {
		return old
	}
	return attributes{old, *p.mode}
}

// special are the bits of a mode above those of fs.ModePerm, from 0o1000 on.
var special = []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid}

// unixMode returns the permission bits of a mode, with set-user-id, set-group-id and the sticky bit, as Unix has them.
func unixMode(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for i, bit := range special {
		if mode&bit != 0 {
			bits |= 0o1000 << i
		}
	}
	return bits
}

// fileMode is the inverse of unixMode.
func fileMode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits) & fs.ModePerm
	for i, bit := range special {
		if bits&(0o1000<<i) != 0 {
			mode |= bit
		}
	}
	return mode
}
