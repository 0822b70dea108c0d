package reads

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"strata/filecontext"
	"strata/history"
)

// The limits of a look.
const (
	MaxFiles    = 200 // files that are compared with the disk, those read last
	maxPassages = 8   // of a file that a note has lines for
)

// Source is where a look finds files and messages.
type Source struct {
	Roots *filecontext.Roots  // nil: no file is compared
	Files []filecontext.Entry // of the user's choice, as they are now
	Read  func(ctx context.Context, seqs []int64) ([]history.Message, error)
	Count func(text string) int // tokens
}

// Look is how the files that a view shows are now. It is immutable. A nil *Look knows no file.
type Look struct {
	blocks []Block
	now    map[string]Present // by path; a file that cannot be read has none
	notes  map[Place]Note     // on the blocks whose file has changed since
}

// Present is how a file is now. The zero value is a file that was deleted.
type Present struct {
	Version, Hash string
	Lines         int
}

// shows reports whether a block shows the present version of a file. The unsaved text of a client is present for as long as
// the file on disk is what it was when the text was read.
func (p *Present) shows(f *history.FileLines) bool {
	return f.Version == p.Version || f.Disk != "" && (f.Disk == p.Hash || p.Hash == "" && f.Disk == filecontext.NoFile)
}

// Note tells that a file has changed since a block of it was shown.
type Note struct {
	Line string // "" if the block is still right
	Diff string // "" for none
}

// onDisk is a file at the last look, without its text.
type onDisk struct {
	entry   filecontext.Entry
	version string
	gone    bool
}

// change identifies a note.
type change struct {
	Place
	version string // of the file now
	chosen  bool   // by the user
}

// Look compares the files of which a view shows lines with the disk. Files that the user added whole are not looked at:
// requests contain their changes. The error is one of reading messages, or that of ctx.
func (r *Reads) Look(ctx context.Context, src *Source, view []history.Viewed) (*Look, error) {
	chosen := make(map[string]*filecontext.Entry)
	for i := range src.Files {
		chosen[src.Files[i].Path] = &src.Files[i]
	}
	l := &Look{blocks: r.Shown(view), now: make(map[string]Present), notes: make(map[Place]Note)}
	l.blocks = slices.DeleteFunc(l.blocks, func(b Block) bool {
		e := chosen[b.Path]
		return e != nil && e.State == filecontext.Full && e.Problem == ""
	})
	if len(l.blocks) == 0 || src.Roots == nil {
		return l, nil
	}
	if err := r.compare(ctx, src, l, chosen); err != nil {
		return nil, err
	}
	return l, r.annotate(ctx, src, l, chosen)
}

// compare notes how the files are now.
func (r *Reads) compare(ctx context.Context, src *Source, l *Look, chosen map[string]*filecontext.Entry) error {
	known := r.lastLook()
	entries := make([]filecontext.Entry, 0, min(len(l.blocks), MaxFiles))
	looksAt := make(map[string]bool, cap(entries))
	for i := len(l.blocks) - 1; i >= 0; i-- {
		b := &l.blocks[i]
		if e := chosen[b.Path]; e != nil && e.Problem == "" && e.Hash != "" {
			l.now[b.Path] = Present{e.Version(), e.Hash, e.Lines}
			continue
		}
		if !b.Read || len(entries) == MaxFiles || looksAt[b.Path] {
			continue
		}
		looksAt[b.Path] = true
		e := filecontext.Entry{Content: filecontext.Content{Path: b.Path}}
		if old, ok := known[b.Path]; ok && !old.gone {
			e = old.entry
		}
		entries = append(entries, e)
	}
	now, err := looked(ctx, src.Roots, entries, known)
	if err != nil {
		return err
	}
	for path, f := range now {
		if f.gone || f.entry.Problem == "" {
			l.now[path] = Present{f.version, f.entry.Hash, f.entry.Lines}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disk = now
	return nil
}

func (r *Reads) lastLook() map[string]onDisk {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.disk
}

// looked returns how the files of entries are on disk. known is what the last look found.
func looked(ctx context.Context, roots *filecontext.Roots, entries []filecontext.Entry, known map[string]onDisk) (map[string]onDisk, error) {
	changes, err := roots.Refresh(ctx, entries)
	if err != nil {
		return nil, fmt.Errorf("look at the files that were read: %w", err)
	}
	now := make(map[string]onDisk, len(entries))
	for _, e := range entries {
		now[e.Path] = onDisk{entry: e, version: known[e.Path].version}
	}
	for i := range changes {
		c := &changes[i]
		f := onDisk{entry: filecontext.Entry{Content: filecontext.Content{Path: c.Path}}}
		switch c.Kind {
		case filecontext.Deleted:
			f.gone = true
		case filecontext.Unreadable:
			f.entry.Problem = c.Reason
		default:
			f.version = c.Content.Version()
			f.entry.Content = c.Content
			f.entry.Path, f.entry.Text = c.Path, ""
		}
		now[c.Path] = f
	}
	return now, nil
}

// annotate makes the notes on blocks whose file has changed since.
func (r *Reads) annotate(ctx context.Context, src *Source, l *Look, chosen map[string]*filecontext.Entry) error {
	made := make(map[change]Note)
	texts := make(map[string]string) // of files, with LF as line ends
	for i := range l.blocks {
		b := &l.blocks[i]
		now, known := l.now[b.Path]
		if !b.Read || !known || now.shows(&b.FileLines) {
			continue
		}
		c := change{b.Place, now.Version, chosen[b.Path] != nil}
		note, ok := r.note(c)
		if !ok {
			var err error
			if note, err = src.note(ctx, b, &now, chosen[b.Path], texts); err != nil {
				return err
			}
		}
		made[c], l.notes[b.Place] = note, note
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = made
	return nil
}

func (r *Reads) note(c change) (Note, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.notes[c]
	return n, ok
}

// note makes the note on a block. texts are those of files that were read for it already.
func (s *Source) note(ctx context.Context, b *Block, now *Present, chosen *filecontext.Entry, texts map[string]string) (Note, error) {
	if *now == (Present{}) {
		return Note{Line: filecontext.Printable(b.Path) + " has been deleted since it was read.\n"}, nil
	}
	text, ok := texts[b.Path]
	if !ok {
		var err error
		if text, err = s.present(ctx, b.Path, chosen); err != nil {
			return Note{}, ctx.Err() // the next look finds out why
		}
		texts[b.Path] = text
	}
	messages, err := s.Read(ctx, []int64{b.Seq})
	if err != nil {
		return Note{}, err
	}
	shown, ok := textAt(messages, b.Place)
	if !ok {
		return Note{}, nil // damaged: the model does not see it either
	}
	p := Passage{Text: filecontext.RenderedLines(shown), Whole: b.Whole()}
	if len(b.Lines) > 0 {
		p.Lines = b.Lines[0]
	}
	var n Note
	n.Line, n.Diff = Changed(b.Path, p, text, chosen != nil, s.Count)
	return n, nil
}

// present returns the present text of a file, with LF as line ends.
func (s *Source) present(ctx context.Context, path string, chosen *filecontext.Entry) (string, error) {
	if chosen != nil && chosen.Unsaved {
		return chosen.UnixText(), nil
	}
	ref, err := s.Roots.Locate(path)
	if err != nil {
		return "", err
	}
	ref.Allow = chosen != nil && chosen.Allowed
	content, err := s.Roots.Read(ctx, ref)
	return content.UnixText(), err
}

// textAt returns the text at a place in one of the messages.
func textAt(messages []history.Message, at Place) (string, bool) {
	for i := range messages {
		if m := &messages[i]; m.ID == at.Message && at.Block < len(m.Blocks) && at.Part < len(m.Blocks[at.Block].Content) {
			return m.Blocks[at.Block].Content[at.Part].Text, true
		}
	}
	return "", false
}

// Stale is the note on a file that has changed since it was read.
type Stale struct {
	Version string   // of the file now; "" if it was deleted
	Lines   []string // one for each passage
	Diff    string
}

// Stale returns the notes on the files that have changed since they were read, by path: those on the blocks that a view shows,
// unless a later block shows the same lines, or the whole file, as they are now, or tells of the change: it was the model's own.
func (l *Look) Stale(view []history.Viewed) map[string]Stale {
	if l == nil || len(l.notes) == 0 {
		return nil
	}
	stale, fresh, in := make(map[string]Stale), new(View), byID(view)
	told := make(map[fileVersion]bool) // versions of which the later blocks say how the present one was made
	for i := len(l.blocks) - 1; i >= 0; i-- {
		b := &l.blocks[i]
		v := in[b.Message]
		now, known := l.now[b.Path]
		switch {
		case v == nil || isPatched(v, b.Place) || !known:
		case now.shows(&b.FileLines), told[fileVersion{b.Path, b.Version}]:
			fresh.Add(&b.FileLines)
			if b.From != nil && b.From.Path == "" {
				told[fileVersion{b.Path, b.From.Version}] = true
			}
		case l.notes[b.Place].Line != "" && !fresh.Replaces(&b.FileLines):
			s := stale[b.Path]
			s.Version = now.Version
			s.add(l.notes[b.Place])
			stale[b.Path] = s
		}
	}
	return stale
}

// add adds the note on an older passage.
func (s *Stale) add(n Note) {
	if slices.Contains(s.Lines, n.Line) || len(s.Lines) == maxPassages {
		return
	}
	s.Lines = slices.Insert(s.Lines, 0, n.Line)
	if s.Diff == "" {
		s.Diff = n.Diff
	}
}

func byID(view []history.Viewed) map[string]*history.Viewed {
	in := make(map[string]*history.Viewed, len(view))
	for i := range view {
		in[view[i].ID] = &view[i]
	}
	return in
}

// File is a file that tools read.
type File struct {
	Path, Hash string // Hash is that of the present content, empty if the file cannot be read
	State      filecontext.State
	Reason     string
	Lines      history.Lines // of a Partial file, if the view shows lines in one place; zero: in several
}

// File returns how much of the present version of a file that was read the view shows.
func (l *Look) File(path string) File {
	now, known := l.now[path]
	f := File{Path: path, Hash: now.Hash}
	v, version := new(View), now.Version
	for i := range l.blocks {
		b := &l.blocks[i]
		if b.Path != path {
			continue
		}
		v.Add(&b.FileLines)
		if !known || now.shows(&b.FileLines) {
			version, now.Lines = b.Version, b.Of
		}
	}
	f.State, f.Reason = v.Availability(path, version, now.Lines)
	if shown := v.files[fileVersion{path, version}]; f.State == filecontext.Partial && len(shown) == 1 {
		f.Lines = shown[0]
	}
	return f
}

// Paths returns the paths of the files that were compared.
func (l *Look) Paths() iter.Seq[string] {
	if l == nil {
		return func(func(string) bool) {}
	}
	return maps.Keys(l.now)
}

// Present returns how a file is now, the zero value for one that was deleted or was not compared.
func (l *Look) Present(path string) Present { return l.now[path] }
