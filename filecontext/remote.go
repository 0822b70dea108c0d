package filecontext

import (
	"cmp"
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

// read implements Roots.Read.
func (s *remote) read(ctx context.Context, ref Ref) (Content, error) {
	known := s.source.Known()
	text, err := s.readBytes(ctx, ref, source.Reading{Limit: s.limits.FileBytes})
	if err != nil {
		return Content{}, err
	}
	return s.content(ref, &text, known)
}

// content returns the content of a file that was read. known is the list from before that; nil for none. If the source does
// not tell the version of the text, the stamp is that of the list: of a file that has changed since then, the next comparison
// reads the text again. It does so, too, if the text has another version than the list.
func (s *remote) content(ref Ref, text *source.Text, known *source.List) (Content, error) {
	content, err := contentOf(ref, text.Data, s.limits.FileBytes)
	content.Secret, _ = s.limits.Guard.checkName(ref)
	if known == nil {
		return content, err
	}
	if file, listed := known.Find(ref.name); listed && (text.Version == "" || text.Version == file.Version) {
		content.stamp = stampOf(file)
	}
	return content, err
}

// readBytes reads a file as its name allows. A file whose size in the list exceeds the limit is refused without a request.
func (s *remote) readBytes(ctx context.Context, ref Ref, how source.Reading) (source.Text, error) {
	if err := s.mayRead(ref, how.Limit); err != nil {
		return source.Text{}, err
	}
	text, err := s.source.Read(ctx, ref.name, how)
	return text, refuseAt(ref, err)
}

// mayRead refuses a file by its name, or by its size in the newest list.
func (s *remote) mayRead(ref Ref, limit int64) error {
	if _, err := s.limits.Guard.checkName(ref); err != nil {
		return err
	}
	if known := s.source.Known(); known != nil {
		if file, listed := known.Find(ref.name); listed && file.Size > limit {
			return tooLarge(ref, file.Size, limit)
		}
	}
	return nil
}

// ReadListed is Read for a file that usually does not exist: one that the newest known list of a source lacks is missing without
// a request.
func (r *Roots) ReadListed(ctx context.Context, ref Ref) (Content, error) {
	if r.remote != nil {
		if known := r.remote.source.Known(); known != nil && !known.Cut {
			if _, listed := known.Find(ref.name); !listed {
				return Content{}, refuse(ref.Path, ReasonMissing, "")
			}
		}
	}
	return r.Read(ctx, ref)
}

// readEachBytes is about the maximum size of the files that ReadEach requests at once.
const readEachBytes = 2 << 20

// ReadEach reads several files, as Read does, and calls found with each of them or its error, in any order. On a disk it reads
// one after the other; files of a source are read many at a time. It returns the error of ctx.
func (r *Roots) ReadEach(ctx context.Context, refs []Ref, found func(at int, content Content, err error)) error {
	if r.remote != nil {
		return r.remote.readEach(ctx, refs, found)
	}
	for i := range refs {
		content, err := r.Read(ctx, refs[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		found(i, content, err)
	}
	return nil
}

// readEach implements Roots.ReadEach.
func (s *remote) readEach(ctx context.Context, refs []Ref, found func(at int, content Content, err error)) error {
	var left []int // places in refs
	for i := range refs {
		if err := s.mayRead(refs[i], s.limits.FileBytes); err != nil {
			found(i, Content{}, err)
			continue
		}
		left = append(left, i)
	}
	for len(left) > 0 {
		known := s.source.Known()
		texts, err := s.source.ReadSome(ctx, s.together(refs, left, known), source.Reading{Limit: s.limits.FileBytes})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var missing []int
		for _, i := range left {
			text, ok := texts[refs[i].name]
			if text.Err = cmp.Or(err, text.Err); text.Err != nil {
				found(i, Content{}, refuseAt(refs[i], text.Err))
			} else if ok {
				content, err := s.content(refs[i], &text, known)
				found(i, content, err)
			} else {
				missing = append(missing, i)
			}
		}
		left = missing
	}
	return nil
}

// together returns the names of files that are read by one request: the first ones of left that are not too large together,
// by their sizes in the list.
func (s *remote) together(refs []Ref, left []int, known *source.List) (names []string) {
	room := int64(readEachBytes)
	for _, i := range left {
		name := refs[i].name
		if known != nil {
			if file, listed := known.Find(name); listed {
				room -= file.Size
			}
		}
		if len(names) > 0 && room < 0 || len(names) == source.MaxPaths {
			break
		}
		names = append(names, name)
	}
	return names
}

// picture returns the bytes of a file.
func (s *remote) picture(ctx context.Context, ref Ref) ([]byte, error) {
	text, err := s.readBytes(ctx, ref, source.Reading{Limit: MaxPicture, Binary: true})
	return text.Data, err
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
	text, err := r.remote.readBytes(ctx, ref, source.Reading{Limit: r.remote.limits.FileBytes})
	return text.Data, err
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
