package fit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"strata/filecontext"
	"strata/history"
	"strata/internal/headings"
	"strata/session/content"
)

// dedupe replaces all but the newest copy of each file in the conversation by a notice that names the file. Lines that a tool
// read are replaced if a newer copy has the same lines.
func (f *fitter) dedupe(ctx context.Context) error {
	in, err := searched(ctx, f.items, f.Read, f.Name)
	if err != nil {
		return err
	}
	texts, copies := in.texts, in.found
	newer := newerCopies(copies)
	older := make(map[place][]copied)
	var places []place
	for i, c := range copies {
		if newer[i] < 0 {
			continue
		}
		if last := &copies[newer[i]]; c.Open && f.items[c.item].Messages[c.message].Role != history.RoleTool {
			c.shrink(texts[c.place], last.linesOf(texts[last.place]))
		}
		if c.End == c.Start {
			continue
		}
		if older[c.place] == nil {
			places = append(places, c.place)
		}
		older[c.place] = append(older[c.place], c)
	}
	for _, at := range places {
		if f.patch(at, texts[at], f.notice(texts[at], older[at])) {
			f.changes.count(older[at])
		}
	}
	return nil
}

// newerCopies returns for each copy the index of the newest copy that has all of its lines, -1 for none.
func newerCopies(copies []copied) []int {
	newer := make([]int, len(copies))
	later := make(map[string][]int) // indices by path, the newest first, of those that no newer one replaces
	for i := len(copies) - 1; i >= 0; i-- {
		c := &copies[i]
		at := slices.IndexFunc(later[c.Path], func(j int) bool { return copies[j].replaces(c) })
		if newer[i] = -1; at >= 0 {
			newer[i] = later[c.Path][at]
		} else {
			later[c.Path] = append(later[c.Path], i)
		}
	}
	return newer
}

// replaces reports whether c, which is newer, has all lines of another copy of the file.
func (c *copied) replaces(old *copied) bool {
	switch {
	case !c.isPart():
		return true
	case !old.isPart():
		return false
	}
	return !slices.ContainsFunc(old.lines.Lines, func(one history.Lines) bool {
		return !slices.ContainsFunc(c.lines.Lines, func(all history.Lines) bool { return all.Start <= one.Start && one.End <= all.End })
	})
}

// The origins of copies of files.
const (
	OriginRead    = "read"    // the result of a tool that reads
	OriginWrite   = "write"   // a call that writes, or its result
	OriginMention = "mention" // a message of the user or the assistant
)

// count counts replaced copies by origin.
func (c *Changes) count(copies []copied) {
	if c.Origins == nil {
		c.Origins = make(map[string]int)
	}
	for i := range copies {
		c.Origins[copies[i].origin]++
	}
}

// notice returns the patch that replaces each copy in a text by a line.
func (f *fitter) notice(text string, copies []copied) history.Patch {
	shown, paths := withoutCopies(text, copies)
	return history.Patch{
		Block: copies[0].block, Part: copies[0].part, Text: shown, Origin: strings.Join(paths, ", "),
		Saved: f.Counter.Count(text) - f.Counter.Count(shown),
	}
}

// withoutCopies returns a text with a line instead of each copy, and the paths of the copies.
func withoutCopies(text string, copies []copied) (shown string, paths []string) {
	if c := copies[0]; c.argument != "" {
		return withArgument(text, c.argument, c.standIn()), []string{c.Path}
	}
	var b strings.Builder
	end := 0
	for _, c := range copies {
		b.WriteString(text[end:c.Start])
		b.WriteString(c.standIn() + "\n")
		paths = append(paths, c.Path)
		end = c.End
	}
	b.WriteString(text[end:])
	return b.String(), paths
}

// standIn returns the line that replaces a copy.
func (c *copied) standIn() string {
	of := filecontext.Printable(c.Path)
	if c.isPart() {
		of = fmt.Sprintf("lines %d to %d of %s", c.lines.Lines[0].Start, c.lines.Lines[0].End, of)
	}
	return fmt.Sprintf("[The content of %s stood here; a newer copy follows below.]", of)
}

// patch applies p to a place in the conversation if that saves tokens, and reports whether it does.
func (f *fitter) patch(at place, text string, p history.Patch) bool {
	if p.Saved <= 0 {
		return false
	}
	it := &f.items[at.item]
	messages := slices.Clone(it.Messages)
	p.Message = messages[at.message].ID
	messages[at.message] = content.Patched(messages[at.message], p)
	f.changes.Dedupe = append(f.changes.Dedupe, p)
	f.changes.Chars += utf8.RuneCountInString(text) - utf8.RuneCountInString(p.Text)
	f.omitted = append(f.omitted, Omitted{Key: it.Key, Tokens: p.Saved, Reason: ReasonDuplicate, Score: it.Priority})
	*it = it.showing(messages)
	return true
}

// pageBytes limits the messages that a search reads at once.
const pageBytes = 256 << 10

// searched returns the search through items of the conversation.
func searched(ctx context.Context, items []Item, read content.Reader, name func(path string) string) (*search, error) {
	var heads []history.Head
	where := make(map[int64]place)
	patches := make(map[int64][]history.Patch)
	for i := range items {
		for j, v := range items[i].Messages {
			heads = append(heads, v.Head)
			where[v.Seq], patches[v.Seq] = place{item: i, message: j}, v.Patches
		}
	}
	in := newSearch(name)
	for len(heads) > 0 {
		var seqs []int64
		seqs, heads = history.Page(heads, pageBytes)
		messages, err := read(ctx, seqs)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			in.message(history.Patched(m, patches[m.Seq]), where[m.Seq])
		}
	}
	return in, nil
}

// search goes through a conversation, oldest message first, for copies of files.
type search struct {
	name  func(path string) string
	texts map[place]string // that contain copies; of a tool call: its arguments
	found []copied
	lines []history.FileLines // that results of tools show
	calls map[string]fileCall // that read, by the call's id
	edits map[string]bool     // ids of calls that write

	origin  string // of the copies in the present text
	heading string // path in the heading that ends the text before: the next text is the file's
}

func newSearch(name func(path string) string) *search {
	return &search{name: name, texts: make(map[place]string), calls: make(map[string]fileCall), edits: make(map[string]bool)}
}

// message searches a message, which is at the place at.
func (s *search) message(m history.Message, at place) {
	s.heading = ""
	for i, b := range m.Blocks {
		at.block, at.part = i, 0
		if b.Type != history.BlockText {
			s.heading = ""
		}
		switch b.Type {
		case history.BlockText:
			s.origin = OriginMention
			s.text(at, b.Text)
		case history.BlockResource:
			s.origin = OriginMention
			s.note(at, b.Text, []copied{whole(b.URI, len(b.Text))})
		case history.BlockToolCall:
			s.call(at, b)
		case history.BlockToolResult:
			s.result(at, b)
		}
	}
}

// text searches a text for headings of files. A heading without a text is that of the next text, if there is one.
func (s *search) text(at place, text string) {
	copies := passages(text)
	if s.heading != "" && len(copies) == 0 && !headings.Failed(text) {
		c := whole(s.heading, len(text))
		c.Open = true
		copies = append(copies, c)
	}
	s.heading = ""
	if n := len(copies); n > 0 && copies[n-1].blank(text) {
		s.heading = copies[n-1].Path
	}
	s.note(at, text, slices.DeleteFunc(copies, func(c copied) bool { return c.blank(text) }))
}

// note notes the copies in a text, which are of the present origin.
func (s *search) note(at place, text string, copies []copied) {
	for _, c := range copies {
		if c.Path = s.name(c.Path); c.Path != "" {
			c.place, c.origin, s.texts[at] = at, s.origin, text
			s.found = append(s.found, c)
		}
	}
}

// call searches a tool call: a call that writes a file contains its text.
func (s *search) call(at place, b history.Block) {
	s.edits[b.CallID] = editing().MatchString(b.Name)
	c, ok := fileCallOf(b.Name, b.Args)
	if !ok || b.Incomplete {
		return
	}
	if c.text == "" {
		s.calls[b.CallID] = c
		return
	}
	s.origin = OriginWrite
	written := whole(c.path, len(b.Args))
	written.argument = c.text
	s.note(at, b.Args, []copied{written})
}

// result searches the result of a call. Texts that say which lines of files they show are not searched for headings, which
// would be in the files.
func (s *search) result(at place, b history.Block) {
	if !slices.ContainsFunc(b.Content, func(part history.Block) bool { return part.File != nil || part.Shows != nil }) {
		s.untyped(at, b)
		return
	}
	s.origin = OriginRead
	for j := range b.Content {
		part := &b.Content[j]
		s.lines = append(s.lines, part.Shows...)
		if part.File == nil || part.Type != history.BlockText {
			continue
		}
		s.lines = append(s.lines, *part.File)
		c := whole(part.File.Path, len(part.Text))
		c.lines = part.File
		c.Body, c.Stop = filecontext.Unfence(part.Text)
		at.part = j
		s.note(at, part.Text, []copied{c})
	}
}

// untyped searches the result of a call, of whatever tool, for headings. The result of reading a file is its text, unless it
// has a heading of that file: other headings are in the text.
func (s *search) untyped(at place, b history.Block) {
	before := len(s.found)
	s.origin = OriginRead
	if s.edits[b.CallID] {
		s.origin = OriginWrite
	}
	for j, part := range b.Content {
		at.part = j
		s.text(at, part.Text)
	}
	s.heading = ""
	c, read := s.calls[b.CallID]
	if !read || b.IsError || len(b.Content) != 1 || b.Content[0].Type != history.BlockText {
		return
	}
	path := s.name(c.path)
	if slices.ContainsFunc(s.found[before:], func(c copied) bool { return c.Path == path }) {
		return
	}
	at.part = 0
	s.found = s.found[:before]
	s.note(at, b.Content[0].Text, []copied{whole(c.path, len(b.Content[0].Text))})
}
