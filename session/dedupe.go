package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"strata/filecontext"
	"strata/history"
	"strata/internal/lazy"
)

// place is a block of the conversation, or a part of a tool's result in one.
type place struct {
	piece, message int // index among the pieces, and in the piece's messages
	block, part    int
}

// copied is a passage of the conversation that is the whole text of a file.
type copied struct {
	place
	path       string
	start, end int    // in the text of the place
	body       int    // where the file's text begins
	argument   string // of a tool call that the text is; the place is then its arguments
	open       bool   // nothing says where the file ends: end is as far as it can go
}

// headings are the three usual ways in which a tool or a frontend puts a whole file into text. The text
// of the file goes up to the next heading or, in the third, to its closing tag.
var headings = lazy.Regexp(`(?m)^--- FULL CONTENT: (.+?) ---\r?$|^FULL CONTENT of file: (.+)$|<file_content path="([^"\n]+)">`)

const closingTag = "</file_content>"

// passages finds the files that stand in a text.
func passages(text string) []copied {
	var copies []copied
	for at := 0; ; {
		m := headings().FindStringSubmatchIndex(text[at:])
		if m == nil {
			return copies
		}
		c := copied{start: at + m[0], body: at + m[1], end: len(text), open: true}
		for group := 1; group <= 3; group++ {
			if from := m[2*group]; from >= 0 {
				c.path = strings.TrimSpace(text[at+from : at+m[2*group+1]])
			}
		}
		closed := -1
		if tagged := m[6] >= 0; tagged {
			closed = strings.Index(text[c.body:], closingTag)
		}
		if closed >= 0 {
			c.end, c.open = c.body+closed+len(closingTag), false
		} else if next := headings().FindStringIndex(text[c.body:]); next != nil {
			c.end = c.body + next[0]
		}
		copies = append(copies, c)
		at = c.end
	}
}

// lines returns the lines of a file's text that are not blank. Of one whose end is open the last
// paragraph does not count, unless it is the only one: it may be what the user says of the file.
func (c *copied) lines(text string) map[string]bool {
	body := text[c.body:c.end]
	if c.open {
		trimmed := strings.TrimRight(body, " \t\r\n")
		if i := strings.LastIndex(trimmed, "\n\n"); i > 0 && strings.TrimSpace(trimmed[:i]) != "" {
			body = trimmed[:i]
		}
	}
	lines := make(map[string]bool)
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" {
			lines[line] = true
		}
	}
	return lines
}

// shrink ends a copy whose end is open behind the last line that the newest copy of the file has too:
// what comes behind it are words of whoever wrote the text.
func (c *copied) shrink(text string, newest map[string]bool) {
	at, end := c.body, c.start
	for line := range strings.Lines(text[c.body:c.end]) {
		at += len(line)
		if newest[strings.TrimSpace(line)] {
			end = at
		}
	}
	c.end = end
}

// dedupe replaces all but the newest copy of each file in the conversation by a notice that names it.
func (s *snapshot) dedupe(ctx context.Context, b *built, pieces []piece) ([]piece, error) {
	texts, copies, err := s.copies(ctx, pieces)
	if err != nil {
		return nil, err
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
		if c.open && pieces[c.piece].messages[c.message].Role != history.RoleTool {
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
		s.patch(b, pieces, at, texts[at], s.notice(texts[at], older[at]))
	}
	return pieces, nil
}

// notice returns the patch that puts a line in the place of each copy in a text.
func (s *snapshot) notice(text string, copies []copied) history.Patch {
	shown, paths := withoutCopies(text, copies)
	return history.Patch{
		Block: copies[0].block, Part: copies[0].part, Text: shown, Origin: strings.Join(paths, ", "),
		Saved: s.counter.Count(text) - s.counter.Count(shown),
	}
}

// withoutCopies returns a text with a line in the place of each copy, and whose copies they are.
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

// standIn is what stands in the place of a copy.
func standIn(path string) string {
	return fmt.Sprintf("[The content of %s stood here; a newer copy follows below.]", filecontext.Printable(path))
}

// patch applies p to a place in the conversation if that saves anything.
func (s *snapshot) patch(b *built, pieces []piece, at place, text string, p history.Patch) {
	if p.Saved <= 0 {
		return
	}
	old := &pieces[at.piece]
	messages := slices.Clone(old.messages)
	p.Message = messages[at.message].ID
	messages[at.message] = patched(messages[at.message], p)
	b.fitting.dedupe = append(b.fitting.dedupe, p)
	b.fitting.chars += utf8.RuneCountInString(text) - utf8.RuneCountInString(p.Text)
	b.leftOut = append(b.leftOut, LeftOut{Key: old.Key, Tokens: p.Saved, Reason: reasonDuplicate, Score: old.priority})
	now := messagePiece(messages)
	now.priority, now.pinned = old.priority, old.pinned
	*old = now
}

// copies finds the copies of files in the conversation, oldest first, and the texts that they stand in.
func (s *snapshot) copies(ctx context.Context, pieces []piece) (texts map[place]string, found []copied, err error) {
	var heads []history.Head
	where := make(map[int64]place)
	patches := make(map[int64][]history.Patch)
	for i := range pieces {
		for j, v := range pieces[i].messages {
			heads = append(heads, v.Head)
			where[v.Seq], patches[v.Seq] = place{piece: i, message: j}, v.Patches
		}
	}
	in := search{snapshot: s, texts: make(map[place]string), calls: make(map[string]fileCall)}
	for len(heads) > 0 {
		var seqs []int64
		seqs, heads = history.Page(heads, pageBytes)
		messages, err := s.deps.Store.Messages(ctx, s.session, seqs)
		if err != nil {
			return nil, nil, fmt.Errorf("read the history of session %s: %w: %w", s.session, ErrStorage, err)
		}
		for _, m := range messages {
			in.message(history.Patched(m, patches[m.Seq]), where[m.Seq])
		}
	}
	return in.texts, in.found, nil
}

// pageBytes limits the messages that a search reads from the store at once.
const pageBytes = 256 << 10

// search goes through a conversation, oldest message first, for copies of files.
type search struct {
	*snapshot
	texts map[place]string // in which copies stand; of a tool call: its arguments
	found []copied
	calls map[string]fileCall // by the call's id
}

// message looks into a message, which is at the place at.
func (s *search) message(m history.Message, at place) {
	for i, b := range m.Blocks {
		at.block, at.part = i, 0
		switch b.Type {
		case history.BlockText:
			s.note(at, b.Text, passages(b.Text))
		case history.BlockResource:
			s.note(at, b.Text, []copied{{path: b.URI, end: len(b.Text)}})
		case history.BlockToolCall:
			s.call(at, b)
		case history.BlockToolResult:
			s.result(at, b)
		}
	}
}

// note takes down the copies that stand in a text.
func (s *search) note(at place, text string, copies []copied) {
	for _, c := range copies {
		if c.path = s.fileName(c.path); c.path != "" {
			c.place, s.texts[at] = at, text
			s.found = append(s.found, c)
		}
	}
}

// call looks into a tool call: one that writes a file holds its text.
func (s *search) call(at place, b history.Block) {
	c, ok := fileCallOf(b.Name, b.Args)
	if !ok || b.Incomplete {
		return
	}
	if c.text == "" {
		s.calls[b.CallID] = c
		return
	}
	s.note(at, b.Args, []copied{{path: c.path, end: len(b.Args), argument: c.text}})
}

// result looks into the result of a call: one that read a file is its text, unless headings tell what is in it.
func (s *search) result(at place, b history.Block) {
	before := len(s.found)
	for j, part := range b.Content {
		at.part = j
		s.note(at, part.Text, passages(part.Text))
	}
	c, read := s.calls[b.CallID]
	if !read || b.IsError || len(s.found) > before || len(b.Content) != 1 || b.Content[0].Type != history.BlockText {
		return
	}
	at.part = 0
	s.note(at, b.Content[0].Text, []copied{{path: c.path, end: len(b.Content[0].Text)}})
}

// fileName returns the one name that a file of the session's folders has, however it is written, and any
// other name as it is. It is empty for what names only some lines of a file.
func (s *snapshot) fileName(path string) string {
	if s.roots == nil {
		return path
	}
	ref, err := s.roots.Locate(path)
	switch {
	case err != nil:
		return path
	case !ref.Lines.IsWhole():
		return ""
	}
	return ref.Path
}
