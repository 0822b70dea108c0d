package fulltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// PhraseBytes is the maximum length of a Phrase.
const PhraseBytes = 1 << 10

// Phrase finds a text literally, as a browser finds text on a page: any part of a text matches, case and accents are
// ignored, and each run of spaces and line feeds equals one space.
type Phrase struct {
	text   string
	marked bool // contains characters of Markdown
}

// NewPhrase returns the phrase for a text.
func NewPhrase(text string) Phrase {
	return Phrase{text: plain(text), marked: strings.ContainsAny(text, emphasis)}
}

// Empty reports whether the phrase consists of spaces only. It then matches nothing.
func (p Phrase) Empty() bool { return strings.TrimSpace(p.text) == "" }

// Count returns how often a text contains the phrase.
func (p Phrase) Count(text string) int {
	if p.Empty() {
		return 0
	}
	return strings.Count(plain(text), p.text)
}

// CountMarkdown is Count for Markdown: it ignores the marks of emphasis and code, which a reader does not see, unless the
// phrase contains some.
func (p Phrase) CountMarkdown(text string) int {
	if !p.marked && strings.ContainsAny(text, emphasis) {
		text = withoutEmphasis(text)
	}
	return p.Count(text)
}

// plain returns the folded text with one space in the place of each run of white space.
func plain(text string) string {
	out := make([]byte, 0, len(text))
	space := false
	for i, r := range text {
		before := space
		switch space = unicode.IsSpace(r); {
		case space && !before:
			out = append(out, ' ')
		case space:
		case r < utf8.RuneSelf:
			out = append(out, lower[text[i]])
		default:
			out = appendFolded(out, r)
		}
	}
	return string(out)
}

// emphasis are the characters of Markdown around emphasized text and code. Underscores are not among them: names contain
// some.
const emphasis = "*`~"

// withoutEmphasis removes the marks of emphasis and code outside of fenced code. A mark between spaces is an operator.
func withoutEmphasis(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	fenced := false
	for line := range strings.Lines(text) {
		start := strings.TrimLeft(line, " ")
		if strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~") {
			fenced = !fenced
		} else if !fenced {
			line = unmarked(line)
		}
		out.WriteString(line)
	}
	return out.String()
}

func unmarked(line string) string {
	var out strings.Builder
	for {
		i := strings.IndexAny(line, emphasis)
		if i < 0 {
			break
		}
		rest := strings.TrimLeft(line[i:], emphasis)
		run := line[i : len(line)-len(rest)]
		out.WriteString(line[:i])
		if endsInSpace(line[:i]) && startsWithSpace(rest) || run == "~" {
			out.WriteString(run)
		}
		line = rest
	}
	out.WriteString(line)
	return out.String()
}

func endsInSpace(text string) bool { return text == "" || strings.HasSuffix(text, " ") }

func startsWithSpace(text string) bool { return text == "" || strings.ContainsAny(text[:1], " \n") }
