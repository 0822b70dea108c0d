package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
)

// MaxResult is the maximum size of the texts in one result, in bytes.
const MaxResult = 50 << 10

// leastCut is the least size of a text that is shown in part, in bytes.
const leastCut = 400

// Size returns the size of the texts, in bytes.
func (r *Result) Size() int {
	n := 0
	for i := range r.Content {
		n += len(r.Content[i].Text)
	}
	return n
}

// level returns the highest bound with which the sizes, each at most the bound, sum up to limit or less.
func level(sizes []int, limit int) int {
	sizes = slices.Sorted(slices.Values(sizes))
	left := max(limit, 0)
	for i, size := range sizes {
		if share := left / (len(sizes) - i); size > share {
			return share
		}
		left -= size
	}
	return limit
}

// Cut returns a result whose texts have at most limit bytes: the heads and tails of the largest texts, with the number of
// omitted lines. Lines of a file say how to read the others. It does not change r.
func Cut(r Result, limit int) Result {
	if r.Size() <= limit {
		return r
	}
	sizes := make([]int, len(r.Content))
	for i := range r.Content {
		sizes[i] = len(r.Content[i].Text)
	}
	most := level(sizes, limit)
	if most < leastCut && len(r.Content) > 1 {
		return Cut(withoutParts(r), limit)
	}
	var content []history.Block
	for i := range r.Content {
		switch b := &r.Content[i]; {
		case len(b.Text) <= most:
			content = append(content, *b)
		case b.File != nil:
			content = append(content, cutFile(b, most)...)
		default:
			content = append(content, textBlock(cutText(b.Text, most)))
		}
	}
	r.Content = content
	return r
}

// withoutParts returns a result of very many texts with these as one.
func withoutParts(r Result) Result {
	var texts []string
	var rest []history.Block
	for i := range r.Content {
		if b := &r.Content[i]; b.Type == history.BlockText {
			texts = append(texts, b.Text)
		} else {
			rest = append(rest, *b)
		}
	}
	r.Content = append([]history.Block{textBlock(strings.Join(texts, "\n"))}, rest...)
	return r
}

// cutText returns the head and the tail of a text, at most limit bytes with a line between them that says how much is
// omitted.
func cutText(text string, limit int) string {
	const note = 64 // bytes of the line
	if limit < leastCut {
		return clip.Bytes(fmt.Sprintf("[%d bytes omitted: no room]", len(text)), limit)
	}
	head := wholeLines(clip.Bytes(text, (limit-note)*2/3))
	tail := lastLines(text[len(head):], limit-note-len(head))
	omitted := text[len(head) : len(text)-len(tail)]
	return fmt.Sprintf("%s\n[%s omitted]\n%s", strings.TrimSuffix(head, "\n"), amount(omitted), tail)
}

// amount returns the size of an omitted text in lines, or in bytes if it is within a line.
func amount(omitted string) string {
	if n := strings.Count(omitted, "\n"); n > 0 {
		return number(n, "line")
	}
	return number(len(omitted), "byte")
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// wholeLines returns a head without the line that it ends in, unless that is more than half of it.
func wholeLines(head string) string {
	if at := strings.LastIndexByte(head, '\n'); at >= len(head)/2 {
		return head[:at+1]
	}
	return head
}

// lastLines returns the end of a text with at most n bytes: whole lines, unless these are less than half of it.
func lastLines(text string, n int) string {
	if len(text) <= n {
		return text
	}
	tail := strings.ToValidUTF8(text[len(text)-n:], "")
	if at := strings.IndexByte(tail, '\n'); at >= 0 && at < len(tail)/2 {
		return tail[at+1:]
	}
	return tail
}

// cutFile returns the head and the tail of lines of a file, as whole lines, and between them how to read the others.
func cutFile(b *history.Block, limit int) []history.Block {
	f := b.File
	text := filecontext.RenderedLines(b.Text)
	lines := history.Lines{Start: 1, End: f.Of}
	if len(f.Lines) > 0 {
		lines = f.Lines[0]
	}
	frame := 2*(len(fileBlock(f, "", lines).Text)+longestFence(text)*2) + noteRoom
	room := limit - frame
	if room < leastCut/2 {
		return []history.Block{textBlock(cutText(b.Text, limit))}
	}
	head, tail := cmp.Or(linesWithin(text, room*2/3), linesWithin(text, room)), ""
	if head == "" {
		return []history.Block{textBlock(cutLine(f, text, lines, limit))}
	}
	tail = lastLinesWithin(text[len(head):], room-len(head))
	first, last := lines.Start+strings.Count(head, "\n"), lines.End-countLines(tail)
	blocks := []history.Block{
		fileBlock(f, head, history.Lines{Start: lines.Start, End: first - 1}),
		textBlock(fmt.Sprintf("[lines %d to %d omitted; read them with start_line %d]\n", first, last, first)),
	}
	if tail != "" {
		blocks = append(blocks, fileBlock(f, tail, history.Lines{Start: last + 1, End: lines.End}))
	}
	return blocks
}

// fileBlock returns the block that shows lines of a file.
func fileBlock(f *history.FileLines, text string, lines history.Lines) history.Block {
	one := *f
	one.Lines = nil
	shown := filecontext.Range(lines)
	switch {
	case f.Of == 0:
		shown = filecontext.Range{}
	case lines.Start == 1 && lines.End == f.Of:
		shown = filecontext.Range{}
		fallthrough
	default:
		one.Lines = []history.Lines{lines}
	}
	return history.Block{Type: history.BlockText, Text: filecontext.RenderLines(f.Path, text, shown, f.Of, f.Lossy), File: &one}
}

// cutLine returns the start of a line that is too long to be shown.
func cutLine(f *history.FileLines, text string, lines history.Lines, limit int) string {
	line, rest, _ := strings.Cut(text, "\n")
	more := ""
	if rest != "" {
		more = fmt.Sprintf("; read the lines after it with start_line %d", lines.Start+1)
	}
	head := fmt.Sprintf("%s: line %d has %d bytes, too many to show%s. It starts with:\n", filecontext.Printable(f.Path), lines.Start,
		len(line), more)
	return clip.Bytes(head+line, limit)
}

// noteRoom is room for the line between head and tail of a file, and for the lines that their headings name, in bytes.
const noteRoom = 256

// HasRoomForLine reports whether a result of read_file with the limit can show a line of so many bytes whole.
func HasRoomForLine(path string, bytes, limit int) bool {
	return bytes+2*len(filecontext.Printable(path))+2*noteRoom <= min(limit, MaxResult)
}

// longestFence returns an upper bound for the fence of a text.
func longestFence(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest + 1
}

// linesWithin returns the first lines of a text that have at most n bytes.
func linesWithin(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:strings.LastIndexByte(text[:max(n, 0)], '\n')+1]
}

// lastLinesWithin returns the last lines of a text that have at most n bytes.
func lastLinesWithin(text string, n int) string {
	if len(text) <= n {
		return text
	}
	start := len(text) - max(n, 0)
	if start > 0 && text[start-1] == '\n' {
		return text[start:]
	}
	at := strings.IndexByte(text[start:], '\n')
	if at < 0 {
		return ""
	}
	return text[start+at+1:]
}

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
