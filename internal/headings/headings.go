// Package headings finds the files that tools and frontends put whole into a text, by the usual headings before them. It
// reads no file and knows no message.
//
// The headings are, with letters in any case:
//
//   - a line `FULL CONTENT of file: path`, also without "of file", framed or led by symbols (`--- FULL CONTENT: path ---`,
//     `## FULL CONTENT of path`), with the path in quotes or backticks. The file ends at a line `END FULL CONTENT`, or at the
//     next heading;
//   - a tag `<file_content path="path">` or `<final_file_content path="path">`, anywhere in a line. The file ends at the
//     closing tag;
//   - a line `[read_file for 'path'] Result:`. The file ends at the next heading of that form, of whatever tool.
package headings

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// File is a file that a text contains whole. Its numbers are offsets in the text.
type File struct {
	Path  string
	Start int  // of the heading
	Body  int  // of the file's text
	Stop  int  // end of the file's text
	End   int  // of all that belongs to it, the closing line or tag included
	Open  bool // nothing says where the file ends: Stop is as far as it can go
}

// maxPath is the maximum length of a path, in bytes (PATH_MAX of Linux).
const maxPath = 4096

// lead are the symbols before a heading: a few, since a long row of them is a rule, and no blank, since what is indented is
// a part of something else.
const lead = `(?:[^\s\pL\pN<][^\pL\pN\r\n]{0,15})?`

// marks are the headings and what ends them. Groups: 1 END, 2 FULL CONTENT as it is written, 3 the rest of its line; 4 a
// tag, 5 and 6 its path; 7 a tool, 8 what it was called for.
var marks = lazily(`(?im)^` + lead + `(?:(end(?:[ \t]+of)?)[ \t]+)?(full[ \t]+contents?)\b([^\r\n]*)\r?$` +
	`|<((?:final_)?file_content)[ \t]+path=(?:"([^"\r\n]+)"|'([^'\r\n]+)')[ \t]*>` +
	`|^` + lead + `\[([\w.\-]+)(?:[ \t]+for[ \t]+([^\r\n]*?))?\][ \t]+result:[ \t]*`)

var (
	closing = map[string]func() *regexp.Regexp{
		"file_content":       lazily(`(?i)</file_content>`),
		"final_file_content": lazily(`(?i)</final_file_content>`),
	}
	reading = lazily(`(?:^|[_\-.])(?i:read|view|open|cat)(?:$|[_\-.A-Z])`)
)

// Reads reports whether a tool's name says that its result is the text of a file.
func Reads(tool string) bool { return reading().MatchString(tool) }

// lazily returns an expression that is compiled when it is first used.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Find returns the files in a text, in their order. They do not overlap.
func Find(text string) []File {
	f := finder{text: text, unclosed: make(map[string]bool)}
	for at := 0; at < len(text); {
		m := marks().FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += at
			}
		}
		if m[8] < 0 && m[0] > 0 && text[m[0]-1] != '\n' { // the search began inside a line
			at = m[0] + 1
			continue
		}
		at = f.mark(m)
	}
	f.close(len(text), len(text), true)
	return f.found
}

// finder goes through a text from mark to mark.
type finder struct {
	text     string
	found    []File
	open     *File // whose end is not found yet
	result   bool  // it is the result of a tool
	unclosed map[string]bool
}

// mark takes a mark and returns where the search goes on.
func (f *finder) mark(m []int) (next int) {
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return f.text[m[2*i]:m[2*i+1]]
	}
	file := File{Start: m[0], Body: m[1]}
	switch {
	case group(4) != "":
		file.Path = strings.TrimSpace(group(5) + group(6))
		return f.tagged(file, strings.ToLower(group(4)))
	case m[14] >= 0: // a tool
		f.close(m[0], m[0], true)
		file.Body = f.lineAfter(file.Body)
		if path, _, ok := quoted(group(8)); ok && path != "" && Reads(group(7)) {
			file.Path = path
			f.open, f.result = &file, true
		}
	case group(1) != "":
		if f.open != nil {
			f.close(m[0], f.lineAfter(m[1]), false)
		}
	default:
		path := pathIn(group(3), group(2) == strings.ToUpper(group(2)))
		if path == "" {
			return m[1]
		}
		f.close(m[0], m[0], true)
		file.Path, file.Body = path, f.lineAfter(file.Body)
		f.open, f.result = &file, false
	}
	return max(file.Body, m[0]+1)
}

// tagged takes a file in tags and returns where the search goes on. What is between the tags is the file's.
func (f *finder) tagged(file File, tag string) (next int) {
	f.close(file.Start, file.Start, true)
	if !f.unclosed[tag] {
		if m := closing[tag]().FindStringIndex(f.text[file.Body:]); m != nil {
			file.Stop, file.End = file.Body+m[0], file.Body+m[1]
			f.add(file)
			return file.End
		}
		f.unclosed[tag] = true
	}
	f.open, f.result = &file, false
	return file.Body
}

// close ends the open file, if there is one.
func (f *finder) close(stop, end int, open bool) {
	if f.open == nil {
		return
	}
	file, result := *f.open, f.result
	f.open = nil
	file.Stop, file.End, file.Open = max(stop, file.Body), max(end, file.Body), open
	if !result || !Failed(f.text[file.Body:file.Stop]) {
		f.add(file)
	}
}

func (f *finder) add(file File) {
	if file.Path != "" && len(file.Path) <= maxPath {
		f.found = append(f.found, file)
	}
}

// lineAfter returns the start of the line after the one that ends at or after at, which is the end of a mark. A line that
// goes on after the mark is the file's.
func (f *finder) lineAfter(at int) int {
	rest := f.text[at:]
	if strings.HasPrefix(rest, "\r\n") {
		return at + 2
	}
	if strings.HasPrefix(rest, "\n") {
		return at + 1
	}
	return at
}

// failures begin the results of tools that did not read their file.
var failures = []string{"error", "<error", "the tool execution failed", "the user denied", "(tool did not return", "[[note]", "[note]"}

// Failed reports whether the result of a tool says that there is no file's text.
func Failed(result string) bool {
	start := strings.TrimLeftFunc(result, unicode.IsSpace)
	for _, words := range failures {
		if len(start) >= len(words) && strings.EqualFold(start[:len(words)], words) {
			return true
		}
	}
	return false
}

// pathIn returns the path in the rest of a line that begins with FULL CONTENT, empty if it has none. In capitals the words
// are a heading, otherwise they could begin a sentence: the path must then look like one.
func pathIn(rest string, capitals bool) string {
	s := strings.TrimSpace(rest)
	if trimmed := strings.TrimLeft(s, ":"); len(trimmed) == len(s) {
		for _, word := range []string{"of", "the", "file"} {
			s = withoutWord(s, word)
		}
	}
	body := strings.TrimLeft(s, " \t*_:")
	colon := strings.Contains(s[:len(s)-len(body)], ":")
	if path, after, ok := quoted(body); ok {
		if strings.ContainsFunc(withoutNote(after), isWordRune) {
			return "" // a sentence about the file
		}
		return path
	}
	path := withoutFrame(body)
	switch {
	case !strings.ContainsFunc(path, isWordRune), !colon && strings.ContainsAny(path, " \t"):
		return ""
	case colon && capitals, looksLikePath(path):
		return path
	}
	return ""
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// withoutWord returns s without a word at its beginning.
func withoutWord(s, word string) string {
	if len(s) < len(word) || !strings.EqualFold(s[:len(word)], word) {
		return s
	}
	rest := s[len(word):]
	if rest == "" || strings.ContainsRune(" \t:*_`'\"", rune(rest[0])) {
		return strings.TrimLeft(rest, " \t")
	}
	return s
}

// quoted returns the path between quotes or backticks at the start of s, and what follows it.
func quoted(s string) (path, after string, ok bool) {
	if s == "" || !strings.ContainsRune("`'\"", rune(s[0])) {
		return "", "", false
	}
	path, after, ok = strings.Cut(s[1:], s[:1])
	return strings.TrimSpace(path), after, ok
}

// withoutNote returns s without a note in parentheses at its beginning, such as the number of lines.
func withoutNote(s string) string {
	s = strings.TrimSpace(s)
	if end := strings.IndexByte(s, ')'); strings.HasPrefix(s, "(") && end > 0 {
		return s[end+1:]
	}
	return s
}

// withoutFrame returns s without the symbols that end a framed line, and without a final colon.
func withoutFrame(s string) string {
	bare := strings.TrimRight(s, "-=*#~>_ \t")
	if gap := s[len(bare):]; bare != "" && (strings.HasPrefix(gap, " ") || strings.HasPrefix(gap, "\t") || strings.HasPrefix(gap, "**")) {
		s = bare
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), ":"))
}

// looksLikePath reports whether words could be a path: with a separator or an extension, and without the end of a sentence.
func looksLikePath(s string) bool {
	if last, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune(".!?,;", last) {
		return false
	}
	if strings.ContainsAny(s, `/\`) {
		return true
	}
	dot := strings.LastIndexByte(s, '.')
	return dot >= 0 && dot+1 < len(s) && !strings.ContainsAny(s[dot:], " \t")
}
