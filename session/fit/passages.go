package fit

import (
	"strings"

	"strata/history"
	"strata/internal/headings"
)

// place is a block of the conversation, or a part of a tool's result in one.
type place struct {
	item, message int // index among the items, and in the item's messages
	block, part   int
}

// copied is a passage of the conversation that is the text of a file: all of it, or lines that a tool read.
type copied struct {
	place
	headings.File        // its offsets are in the text of the place
	origin        string // OriginRead, OriginWrite or OriginMention
	argument      string // of a tool call that the text is; the place is then its arguments

	lines *history.FileLines // of the result of a tool that says which lines it shows; nil: it is the whole file
}

// isPart reports whether c is not the whole file.
func (c *copied) isPart() bool { return c.lines != nil && !c.lines.Whole() }

// whole returns the copy of a file that a text of so many bytes is.
func whole(path string, bytes int) copied {
	return copied{File: headings.File{Path: path, Stop: bytes, End: bytes}}
}

// passages returns the files in a text.
func passages(text string) []copied {
	var copies []copied
	for _, f := range headings.Find(text) {
		copies = append(copies, copied{File: f})
	}
	return copies
}

// blank reports whether nothing follows the heading of a copy: it may be the heading of the next block.
func (c *copied) blank(text string) bool {
	return c.Open && strings.TrimSpace(text[c.Body:c.Stop]) == ""
}

// linesOf returns the lines of a file's text that are not blank. If its end is open the last paragraph does not count,
// unless it is the only one: it may be the user's words about the file.
func (c *copied) linesOf(text string) map[string]bool {
	body := text[c.Body:c.Stop]
	if c.Open {
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
	at, end := c.Body, c.Start
	for line := range strings.Lines(text[c.Body:c.Stop]) {
		at += len(line)
		if newest[strings.TrimSpace(line)] {
			end = at
		}
	}
	c.Stop, c.End = max(end, c.Body), end
}
