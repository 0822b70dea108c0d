package session

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"strata/history"
	"strata/stability"
	"strata/tokens"
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
	start, end int // in the text of the place
}

// headings are the three usual ways in which a tool or a frontend puts a whole file into text. The text
// of the file goes up to the next heading or, in the third, to its closing tag.
var headings = regexp.MustCompile(`(?m)^--- FULL CONTENT: (.+?) ---$|^FULL CONTENT of file: (.+)$|<file_content path="([^"\n]+)">`)

const closingTag = "</file_content>"

// passages finds the files that stand in a text.
func passages(text string) []copied {
	found := headings.FindAllStringSubmatchIndex(text, -1)
	copies := make([]copied, 0, len(found))
	for i, m := range found {
		c := copied{start: m[0], end: len(text)}
		if i+1 < len(found) {
			c.end = found[i+1][0]
		}
		for group := 1; group <= 3; group++ {
			if at := m[2*group]; at >= 0 {
				c.path = strings.TrimSpace(text[at:m[2*group+1]])
			}
		}
		if tagged := m[6] >= 0; tagged {
			if n := strings.Index(text[m[1]:c.end], closingTag); n >= 0 {
				c.end = m[1] + n + len(closingTag)
			}
		}
		copies = append(copies, c)
	}
	return copies
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
		if newest[c.path] == i {
			continue
		}
		if older[c.place] == nil {
			places = append(places, c.place)
		}
		older[c.place] = append(older[c.place], c)
	}
	for _, at := range places {
		s.patch(b, pieces, at, notice(texts[at], older[at], s.counter))
	}
	return pieces, nil
}

// notice returns the patch that puts a line in the place of each copy in a text.
func notice(text string, copies []copied, counter *tokens.Counter) history.Patch {
	var shown strings.Builder
	var paths []string
	end := 0
	for _, c := range copies {
		shown.WriteString(text[end:c.start])
		fmt.Fprintf(&shown, "[The content of %s stood here; a newer copy follows below.]\n", c.path)
		paths = append(paths, c.path)
		end = c.end
	}
	shown.WriteString(text[end:])
	return history.Patch{
		Block: copies[0].block, Part: copies[0].part, Text: shown.String(), Origin: strings.Join(paths, ", "),
		Saved: counter.Count(text) - counter.Count(shown.String()),
	}
}

// patch applies p to a place in the conversation if that saves anything.
func (s *snapshot) patch(b *built, pieces []piece, at place, p history.Patch) {
	if p.Saved <= 0 {
		return
	}
	old := &pieces[at.piece]
	messages := slices.Clone(old.messages)
	p.Message = messages[at.message].ID
	messages[at.message] = patched(messages[at.message], p)
	b.fitting.dedupe = append(b.fitting.dedupe, p)
	b.leftOut = append(b.leftOut, LeftOut{Key: old.Key, Tokens: p.Saved, Reason: reasonDuplicate, Score: old.priority})
	now := messagePiece(messages)
	now.priority, now.pinned = old.priority, old.pinned
	*old = now
}

// copies finds the copies of files in the conversation, oldest first, and the texts that they stand in.
func (s *snapshot) copies(ctx context.Context, pieces []piece) (texts map[place]string, found []copied, err error) {
	texts = make(map[place]string)
	note := func(at place, text string) {
		for _, c := range passages(text) {
			c.place = at
			texts[at] = text
			found = append(found, c)
		}
	}
	for i := range pieces {
		if pieces[i].Kind != stability.Message {
			continue
		}
		for j, v := range pieces[i].messages {
			messages, err := s.deps.Store.Messages(ctx, s.session, []int64{v.Seq})
			if err != nil {
				return nil, nil, fmt.Errorf("read the history of session %s: %w: %w", s.session, ErrStorage, err)
			}
			eachText(history.Patched(messages[0], v.Patches), func(block, part int, text string) {
				note(place{i, j, block, part}, text)
			})
		}
	}
	return texts, found, nil
}

// eachText calls use with each text of a message that can hold a file.
func eachText(m history.Message, use func(block, part int, text string)) {
	for i, b := range m.Blocks {
		switch b.Type {
		case history.BlockText:
			use(i, 0, b.Text)
		case history.BlockResource:
			use(i, 0, fmt.Sprintf("<file_content path=%q>\n%s", b.URI, b.Text))
		case history.BlockToolResult:
			for j, part := range b.Content {
				use(i, j, part.Text)
			}
		}
	}
}
