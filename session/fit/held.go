package fit

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"strata/history"
	"strata/session/content"
)

// Copy is a file's text in the conversation.
type Copy struct {
	text string
	open bool // nothing says where the file ends
}

// Sent is what messages contain of a file, oldest first.
type Sent struct {
	Copies []Copy              // the whole file, in whatever version
	Lines  []history.FileLines // in the results of tools
}

// SentOf returns what items of the conversation contain of a file. path is the name of the file that name returns.
func SentOf(ctx context.Context, items []Item, read content.Reader, name func(path string) string, path string) (Sent, error) {
	s, err := searched(ctx, items, read, name)
	if err != nil {
		return Sent{}, err
	}
	var sent Sent
	for i := range s.found {
		if c := &s.found[i]; c.Path == path && !c.isPart() {
			sent.Copies = append(sent.Copies, Copy{text: c.content(s.texts[c.place]), open: c.Open})
		}
	}
	for _, lines := range s.lines {
		if name(lines.Path) == path {
			lines.Path = path
			sent.Lines = append(sent.Lines, lines)
		}
	}
	return sent, nil
}

// content returns the file's text of a copy in a text.
func (c *copied) content(text string) string {
	if c.argument == "" {
		return text[c.Body:c.Stop]
	}
	var values map[string]json.RawMessage
	var argument string
	if json.Unmarshal([]byte(text), &values) != nil || json.Unmarshal(values[c.argument], &argument) != nil {
		return ""
	}
	return argument
}

// Is reports whether the copy is all of a file's text. Line ends and empty lines at the end do not count, nor do a code fence
// around the text and line numbers before its lines.
func (c Copy) Is(text string) bool {
	file, shown := comparable(text), comparable(c.text)
	if begins(shown, file, c.open) || begins(strings.TrimPrefix(shown, "\n"), file, c.open) {
		return true
	}
	shown, fenced := withoutFence(strings.TrimPrefix(shown, "\n"))
	if fenced && begins(shown, file, true) {
		return true
	}
	bare, all := withoutNumbers(shown)
	return bare == file && file != "" && (all || c.open || fenced)
}

// comparable returns a text with line ends as LF and without those at its end.
func comparable(text string) string {
	return strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}

// begins reports whether shown is the text of a file, or begins with its lines if more may follow.
func begins(shown, file string, open bool) bool {
	rest, ok := strings.CutPrefix(shown, file)
	return ok && (rest == "" || open && file != "" && strings.HasPrefix(rest, "\n"))
}

// withoutFence returns what follows the line that opens a code fence, if text begins with one.
func withoutFence(text string) (rest string, fenced bool) {
	if !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "~~~") {
		return text, false
	}
	_, rest, fenced = strings.Cut(text, "\n")
	return rest, fenced
}

// numberMarks are what tools write between the number of a line and the line, the longer ones first.
var numberMarks = []string{"\t", "→", " | ", "| ", "|", ": ", ":"}

// withoutNumbers returns the lines at the start of text that are numbered from 1 on, without the numbers, and whether these
// are all lines.
func withoutNumbers(text string) (bare string, all bool) {
	var lines []string
	mark, number := "", 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), strconv.Itoa(number))
		if !ok {
			break
		}
		for i := 0; mark == "" && i < len(numberMarks); i++ {
			if strings.HasPrefix(rest, numberMarks[i]) || rest == strings.TrimRight(numberMarks[i], " ") {
				mark = numberMarks[i]
			}
		}
		content, ok := strings.CutPrefix(rest, mark)
		if !ok && rest != strings.TrimRight(mark, " \t") || mark == "" {
			break
		}
		if !ok {
			content = ""
		}
		lines = append(lines, content)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), len(lines) == strings.Count(text, "\n")+1
}
