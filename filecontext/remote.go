package filecontext

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"path"
	"time"

	"strata/filecontext/source"
)

// stampOf returns the stamp of a file of a source. It is settled if the source counts versions.
func stampOf(f *source.File) stamp {
	s := stamp{size: f.Size, modified: f.Modified * int64(time.Millisecond)}
	if f.Version != "" {
		sum := sha256.Sum256([]byte(f.Version))
		s.device, s.inode = binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])
		s.settled = true
	}
	return s
}

// NewRemoteRoots returns the roots of a session whose files a source has. cwd is an absolute path with slashes that names
// the files: no method looks at the disk of this machine. It does not use the source.
func NewRemoteRoots(cwd string, source source.Files, limits Limits) (*Roots, error) {
	if !path.IsAbs(cwd) || !isPath(cwd) {
		return nil, refuse(shorten(cwd), ReasonBadPath, "")
	}
	at := &place{path: path.Clean(cwd), remote: true}
	r := &Roots{
		roots: []root{{given: at.path, place: at}}, limits: limits.orDefaults(), cache: make(chan cached, 1), now: time.Now,
	}
	r.remote = &remote{source, at, r.limits}
	r.cache <- cached{}
	return r, nil
}

// IsRemote reports whether the files are not on a disk of this machine.
func (r *Roots) IsRemote() bool { return r.remote != nil }

// read implements Roots.Read. The stamp is that of a list from before the text: of a file that has changed since the list,
// the next comparison reads the text again.
func (s *remote) read(ctx context.Context, ref Ref) (Content, error) {
	known := s.source.Known()
	data, secret, err := s.readBytes(ctx, ref)
	if err != nil {
		return Content{}, err
	}
	content, err := contentOf(ref, data, s.limits.FileBytes)
	content.Secret = secret
	if known != nil {
		content.stamp, _ = statIn(known, ref)
	}
	return content, err
}

func (s *remote) readBytes(ctx context.Context, ref Ref) (data []byte, secret bool, err error) {
	if secret, err = s.limits.Guard.checkName(ref); err != nil {
		return nil, secret, err
	}
	text, err := s.source.Read(ctx, ref.name, s.limits.FileBytes)
	return []byte(text), secret, refuseAt(ref, err)
}

// opened implements Roots.Opened for a text that was decoded.
func (s *remote) opened(ctx context.Context, ref Ref, text string) (Content, error) {
	secret, err := s.limits.Guard.checkName(ref)
	if err != nil {
		return Content{}, err
	}
	have, err := s.read(ctx, ref)
	switch {
	case err == nil && sameText(have.Text, text):
		return have, nil
	case err != nil && ReasonOf(err) != ReasonMissing:
		return Content{}, err
	}
	content := newContent(ref.Path, text, []byte(text))
	content.Secret, content.disk, content.stamp = secret, NoFile, have.stamp
	if err == nil {
		content.disk = have.Hash
	}
	return content, nil
}

// stat returns the stamp of a file, zero for one that is not in the list: the source may list fewer files than it has.
func (s *remote) stat(ctx context.Context, ref Ref) (stamp, error) {
	all, err := s.source.List(ctx)
	if err != nil {
		return stamp{}, refuseAt(ref, err)
	}
	return statIn(all, ref)
}

func statIn(all *source.List, ref Ref) (stamp, error) {
	if file, ok := all.Find(ref.name); ok {
		return stampOf(file), nil
	}
	if all.IsFolder(ref.name) {
		return stamp{}, refuse(ref.Path, ReasonDirectory, "")
	}
	return stamp{}, nil
}

// refuseAt returns the error of a source as one about the file of ref. Other errors are unchanged.
func refuseAt(ref Ref, err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refuse(ref.Path, refused.Reason, refused.Detail)
	}
	return err
}

// contentOf returns the content of a file with the given bytes. The error is a *RefusedError.
func contentOf(ref Ref, data []byte, limit int64) (Content, error) {
	if size := int64(len(data)); size > limit {
		return Content{}, tooLarge(ref, size, limit)
	}
	text, lossy, err := decode(ref.Path, data)
	if err != nil {
		return Content{}, err
	}
	content := newContent(ref.Path, text, data)
	content.Lossy = lossy
	return content, nil
}

// Source returns the files of a workspace that are not on a disk of this machine, nil if they are.
func (r *Roots) Source() source.Files {
	if r.remote == nil {
		return nil
	}
	return r.remote.source
}

// ReadSource returns the bytes of a file of the source. The error is a *RefusedError, or that of ctx.
func (r *Roots) ReadSource(ctx context.Context, ref Ref) ([]byte, error) {
	data, _, err := r.remote.readBytes(ctx, ref)
	return data, err
}

// CheckName refuses a path that sessions must not use because of its name. The error is a *RefusedError.
func (r *Roots) CheckName(ref Ref) error {
	_, err := r.limits.Guard.checkName(ref)
	return err
}

// Decode returns the content of a file if it has the given bytes. The error is a *RefusedError for bytes that Read refuses.
func (r *Roots) Decode(ref Ref, data []byte) (Content, error) {
	return contentOf(ref, data, r.limits.FileBytes)
}
