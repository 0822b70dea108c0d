package change

import (
	"bytes"
	"context"

	"strata/filecontext"
)

// Site is a path whose text an editor changes, with the file on disk when it was looked at. It is immutable.
type Site struct {
	Bytes []byte // of the file; nil if there is none

	plan Plan   // that the file is replaced, for what a plan checks
	file string // the file itself: its absolute path without links below the root
}

// Site returns the site of a path. It refuses the paths that Edit and Write refuse; the file need not be text. The error is a
// *filecontext.RefusedError, or that of ctx.
func (files Files) Site(ctx context.Context, ref filecontext.Ref) (*Site, error) {
	return filecontext.Reach(ctx, files.Roots, ref, func(f *filecontext.Reached) (*Site, error) {
		return files.site(f, ref, (*spot).checkWritable)
	})
}

// Again returns the site as it is now, even if the file is read-only.
func (s *Site) Again(ctx context.Context) (*Site, error) {
	return filecontext.Reach(ctx, s.plan.files.Roots, s.ref(), func(f *filecontext.Reached) (*Site, error) {
		return s.plan.files.site(f, s.ref(), func(*spot, *filecontext.Reached) error { return nil })
	})
}

// site returns the site of a path, unless a file there is refused by check.
func (files Files) site(f *filecontext.Reached, ref filecontext.Ref, check func(*spot, *filecontext.Reached) error) (*Site, error) {
	at, data, err := readSpot(f)
	switch {
	case err == nil:
		err = check(at, f)
		data = append([]byte{}, data...) // not nil
	case filecontext.ReasonOf(err) == filecontext.ReasonMissing:
		if at, err = newSpot(f); err != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	defer at.close()
	if err != nil {
		return nil, err
	}
	s := &Site{Bytes: data, file: at.path}
	s.plan.BeforeBytes, s.plan.files = data, files
	s.plan.concerns(f, ref, at)
	return s, nil
}

func (s *Site) ref() filecontext.Ref { return s.plan.refs[0] }

// Path returns the path as filecontext names it.
func (s *Site) Path() string { return s.ref().Path }

// Names returns the names of all files concerned, as Plan has them.
func (s *Site) Names() []string { return s.plan.Names }

// Mode returns the permission bits of the file, or those of a new one, as Plan has them.
func (s *Site) Mode() uint32 { return s.plan.Mode }

// Hash returns the SHA-256 of the bytes, in hex, or filecontext.NoFile.
func (s *Site) Hash() string { return hashOrNone(s.Bytes) }

// Refuse returns a *filecontext.RefusedError for the path.
func (s *Site) Refuse(reason filecontext.Reason) error {
	return &filecontext.RefusedError{Path: s.Path(), Reason: reason}
}

// Check returns ErrChanged, wrapped, if the path leads elsewhere or the file has other bytes than when it was looked at. Other
// errors are a *filecontext.RefusedError, or that of ctx.
func (s *Site) Check(ctx context.Context) error {
	_, err := filecontext.Reach(ctx, s.plan.files.Roots, s.ref(), func(f *filecontext.Reached) (struct{}, error) {
		at, err := s.plan.ready(f, 0)
		if err != nil {
			return struct{}{}, err
		}
		defer at.close()
		if at.file == nil {
			return struct{}{}, nil
		}
		return struct{}{}, at.checkWritable(f)
	})
	return err
}

// Hold waits until no other change of this process is made at the path, and keeps others waiting until leave is called. The
// error is that of ctx.
func (s *Site) Hold(ctx context.Context) (leave func(), err error) {
	return heldFiles.enter(ctx, s.file)
}

// Text returns the text of the file, which must be one that can be written back exactly, and the same with its own line ends
// and in UTF-8, as for an editor. It returns nil if there is no file. The error is a *filecontext.RefusedError, or that of ctx.
func (s *Site) Text(ctx context.Context) (*filecontext.Content, string, error) {
	if s.Bytes == nil {
		return nil, "", nil
	}
	text := ""
	content, err := filecontext.Reach(ctx, s.plan.files.Roots, s.ref(), func(f *filecontext.Reached) (*filecontext.Content, error) {
		content, decoded, err := decode(f, s.Bytes)
		if err != nil {
			return nil, err
		}
		text = decoded.String()
		return content, nil
	})
	if err != nil {
		return nil, "", err
	}
	return content, text, nil
}

// IsExact reports whether the file is text that can be written back exactly, or missing.
func (s *Site) IsExact() bool {
	_, err := Decode(s.Bytes)
	return err == nil
}

// Draft is a new text of a file, for an editor to write.
type Draft struct {
	Text    string // in UTF-8
	After   *filecontext.Content
	Covered []filecontext.Range // the lines of the text before that the old texts of edits cover
}

// Draft returns what change makes of a text. The error is that of change, a *filecontext.RefusedError, or that of ctx.
func (s *Site) Draft(ctx context.Context, before string, change func(*Text) (Text, []filecontext.Range, error)) (*Draft, error) {
	text, err := Decode([]byte(before))
	if err != nil {
		return nil, s.Refuse(filecontext.ReasonEncoding)
	}
	after, covered, err := change(&text)
	if err != nil {
		return nil, err
	}
	return filecontext.Reach(ctx, s.plan.files.Roots, s.ref(), func(f *filecontext.Reached) (*Draft, error) {
		d := &Draft{Text: after.String(), Covered: covered}
		content, err := f.Decode([]byte(d.Text))
		d.After = &content
		return d, err
	})
}

// Saved returns the bytes of the file once an editor has saved a text that keeps the encoding and the line ends of the file.
func (s *Site) Saved(text string) []byte {
	before, err := Decode(s.Bytes)
	if err != nil || s.Bytes == nil {
		return []byte(text)
	}
	after := before.Rewritten(text)
	return after.Bytes()
}

// Effect returns what it does to the path that the file gets other bytes; nil is no file.
func (s *Site) Effect(before, after []byte) Effect {
	return Effect{Path: s.Path(), File: s.file, Before: hashOrNone(before), After: hashOrNone(after)}
}

func hashOrNone(data []byte) string {
	if data == nil {
		return filecontext.NoFile
	}
	return hashOf(data)
}

// Is reports whether the file has the same bytes as another time, or is missing both times.
func (s *Site) Is(other *Site) bool {
	return (s.Bytes == nil) == (other.Bytes == nil) && bytes.Equal(s.Bytes, other.Bytes)
}
