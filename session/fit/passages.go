package fit

import (
	"strings"

	"strata/internal/lazy"
)

// place is a block of the conversation, or a part of a tool's result in one.
type place struct {
	item, message int // index among the items, and in the item's messages
	block, part   int
}

// copied is a passage of the conversation that is the whole text of a file.
type copied struct {
	place
	path       string
	start, end int    // in the text of the place
	body       int    // where the file's text begins
	origin     string // OriginRead, OriginWrite or OriginMention
	argument   string // of a tool call that the text is; the place is then its arguments
	open       bool   // nothing says where the file ends: end is as far as it can go
}

// headings are the three usual ways in which a tool or a frontend puts a whole file into text. The text of the file ends
// at the next heading or, in the third, at its closing tag.
var headings = lazy.Regexp(`(?m)^--- FULL CONTENT: (.+?) ---\r?$|^FULL CONTENT of file: (.+)$|<file_content path="([^"\n]+)">`)

const closingTag = "</file_content>"

// passages returns the files in a text.
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

// lines returns the lines of a file's text that are not blank. If its end is open the last paragraph does not count,
// unless it is the only one: it may be the user's words about the file.
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

// shrink ends a copy whose end is open after the last line that the newest copy of the file has too: the text after it
// are words of its author.
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
