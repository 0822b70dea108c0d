package fit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
)

// dedupe replaces all but the newest copy of each file in the conversation by a notice that names the file.
func (f *fitter) dedupe(ctx context.Context) error {
	texts, copies, err := f.copies(ctx)
	if err != nil {
		return err
	}
	newest := make(map[string]int) // index in copies by path
	for i, c := range copies {
		newest[c.path] = i
	}
	older := make(map[place][]copied)
	var places []place
	for i, c := range copies {
		last := newest[c.path]
		if last == i {
			continue
		}
		if c.open && f.items[c.item].Messages[c.message].Role != history.RoleTool {
			c.shrink(texts[c.place], copies[last].lines(texts[copies[last].place]))
		}
		if c.end == c.start {
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
		return withArgument(text, c.argument, standIn(c.path)), []string{c.path}
	}
	var b strings.Builder
	end := 0
	for _, c := range copies {
		b.WriteString(text[end:c.start])
		b.WriteString(standIn(c.path) + "\n")
		paths = append(paths, c.path)
		end = c.end
	}
	b.WriteString(text[end:])
	return b.String(), paths
}

// standIn returns the line that replaces a copy.
func standIn(path string) string {
	return fmt.Sprintf("[The content of %s stood here; a newer copy follows below.]", filecontext.Printable(path))
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

// copies returns the copies of files in the conversation, oldest first, and the texts that contain them.
func (f *fitter) copies(ctx context.Context) (texts map[place]string, found []copied, err error) {
	var heads []history.Head
	where := make(map[int64]place)
	patches := make(map[int64][]history.Patch)
	for i := range f.items {
		for j, v := range f.items[i].Messages {
			heads = append(heads, v.Head)
			where[v.Seq], patches[v.Seq] = place{item: i, message: j}, v.Patches
		}
	}
	in := newSearch(f.Name)
	for len(heads) > 0 {
		var seqs []int64
		seqs, heads = history.Page(heads, pageBytes)
		messages, err := f.Read(ctx, seqs)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range messages {
			in.message(history.Patched(m, patches[m.Seq]), where[m.Seq])
		}
	}
	return in.texts, in.found, nil
}

// search goes through a conversation, oldest message first, for copies of files.
type search struct {
	name  func(path string) string
	texts map[place]string // that contain copies; of a tool call: its arguments
	found []copied
	calls map[string]fileCall // that read, by the call's id
	edits map[string]bool     // ids of calls that write
}

func newSearch(name func(path string) string) search {
	return search{name: name, texts: make(map[place]string), calls: make(map[string]fileCall), edits: make(map[string]bool)}
}

// message searches a message, which is at the place at.
func (s *search) message(m history.Message, at place) {
	for i, b := range m.Blocks {
		at.block, at.part = i, 0
		switch b.Type {
		case history.BlockText:
			s.note(at, b.Text, OriginMention, passages(b.Text))
		case history.BlockResource:
			s.note(at, b.Text, OriginMention, []copied{{path: b.URI, end: len(b.Text)}})
		case history.BlockToolCall:
			s.call(at, b)
		case history.BlockToolResult:
			s.result(at, b)
		}
	}
}

// note notes the copies of an origin in a text.
func (s *search) note(at place, text, origin string, copies []copied) {
	for _, c := range copies {
		if c.path = s.name(c.path); c.path != "" {
			c.place, c.origin, s.texts[at] = at, origin, text
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
	s.note(at, b.Args, OriginWrite, []copied{{path: c.path, end: len(b.Args), argument: c.text}})
}

// result searches the result of a call: the result of reading a file is its text, unless it has headings.
func (s *search) result(at place, b history.Block) {
	before, origin := len(s.found), OriginRead
	if s.edits[b.CallID] {
		origin = OriginWrite
	}
	for j, part := range b.Content {
		at.part = j
		s.note(at, part.Text, origin, passages(part.Text))
	}
	c, read := s.calls[b.CallID]
	if !read || b.IsError || len(s.found) > before || len(b.Content) != 1 || b.Content[0].Type != history.BlockText {
		return
	}
	at.part = 0
	s.note(at, b.Content[0].Text, origin, []copied{{path: c.path, end: len(b.Content[0].Text)}})
}
