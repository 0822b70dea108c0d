package server

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"strata/internal/upstream"
)

// shown is the content of a request as the model sees it, read from its bytes: files with all diffs applied, documents,
// and messages in order.
type shown struct {
	files     map[string][]shownFile // by path; all versions that the request contains, in order
	documents map[string][]string    // by name; all versions, in order
	messages  []string               // names, in order
	gone      map[string]int         // number of versions that notes revoke, by document
	tree      bool                   // the heading of the document structure was read
	available map[string]string      // by path, as the notes report it
	lists     int                    // number of notes that list all files
	results   bool                   // the results of tools tell changes of files that were shown before
	result    bool                   // the text is one
}

// shownFile is one version of a file in a request.
type shownFile struct {
	heading string // text after the path
	text    string
	diff    bool
}

// The messages and documents of the tests contain their own names.
var (
	messageName  = regexp.MustCompile(`MSG [a-z]?\d+`)
	documentName = regexp.MustCompile(`DOC (\w+) v(\d+)`)
	noteLine     = regexp.MustCompile(`^(FULL|SUMMARY|REMOVED): (.+)$`)
	fenceLine    = regexp.MustCompile("^```+$")
)

// readRequest reads the content of a request. It fails if a diff does not fit the text before it. results says whether those of
// tools tell changes of files that were shown before: after a change of another text nothing is known of a file.
func readRequest(req *upstream.Request, results bool) (*shown, error) {
	s := &shown{results: results, files: map[string][]shownFile{}, documents: map[string][]string{}, gone: map[string]int{}, available: map[string]string{}}
	for _, b := range req.System {
		if err := s.read(b.Text); err != nil {
			return nil, err
		}
	}
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			if err := s.readBlock(b); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *shown) readBlock(b upstream.Block) error {
	switch b.Type {
	case "tool_use":
		return s.read(string(b.Input))
	case "tool_result":
		s.result = true
		defer func() { s.result = false }()
		for _, c := range b.Content {
			if err := s.read(c.Text); err != nil {
				return err
			}
		}
		return nil
	}
	return s.read(b.Text)
}

// read reads the parts of a text: a fenced block belongs to the line before it.
func (s *shown) read(text string) error {
	all := strings.SplitAfter(text, "\n")
	before := ""
	for i := 0; i < len(all); i++ {
		line := strings.TrimSuffix(all[i], "\n")
		if !fenceLine.MatchString(line) {
			s.readLine(line)
			before = line
			continue
		}
		end := i + 1
		for end < len(all) && strings.TrimSuffix(all[end], "\n") != line {
			end++
		}
		if end == len(all) {
			return fmt.Errorf("the fence below %q has no end", before)
		}
		if err := s.readFence(before, strings.Join(all[i+1:end], "")); err != nil {
			return err
		}
		i = end
	}
	return nil
}

func (s *shown) readLine(line string) {
	s.messages = append(s.messages, messageName.FindAllString(line, -1)...)
	named := documentName.FindAllStringSubmatch(line, -1)
	for _, m := range named {
		s.documents[m[1]] = append(s.documents[m[1]], m[2])
	}
	if line == "# structure" {
		s.tree = true
	} else if s.tree && line != "" {
		if s.tree = false; named == nil { // the tree of the workspace replaces the document
			s.gone["structure"] = len(s.documents["structure"])
		}
	}
	if strings.HasPrefix(line, "Files available for this step:") {
		s.available = map[string]string{}
		s.lists++
	}
	if m := noteLine.FindStringSubmatch(line); m != nil {
		name, document := strings.CutPrefix(m[2], "document ")
		switch {
		case document && m[1] == "REMOVED":
			s.gone[name] = len(s.documents[name])
		case document:
			delete(s.gone, name)
		case m[1] == "REMOVED":
			delete(s.available, m[2])
		default:
			s.available[m[2]] = m[1]
		}
	}
}

func (s *shown) readFence(heading, text string) error {
	if path, changes := strings.CutPrefix(heading, "Changes to "); changes {
		versions := s.files[path]
		if s.result {
			s.readResult(path, text)
			return nil
		}
		if len(versions) == 0 {
			return fmt.Errorf("changes to %s, which is not shown before", path)
		}
		now, err := patch(versions[len(versions)-1].text, text)
		if err != nil {
			return fmt.Errorf("changes to %s: %w", path, err)
		}
		s.files[path] = append(versions, shownFile{text: now, diff: true})
		return nil
	}
	path, rest, _ := strings.Cut(heading, " (")
	if strings.Contains(rest, "no line end at the end") {
		text = strings.TrimSuffix(text, "\n")
	}
	s.files[path] = append(s.files[path], shownFile{heading: rest, text: text})
	return nil
}

// readResult reads a change that the result of a tool tells. A file that was not shown before is not known after it either.
func (s *shown) readResult(path, diff string) {
	versions := s.files[path]
	if !s.results || len(versions) == 0 {
		return
	}
	now, err := patch(versions[len(versions)-1].text, diff)
	if err != nil {
		now = fmt.Sprintf("not known after a change of another text: %v", err)
	}
	s.files[path] = append(versions, shownFile{text: now, diff: true})
}

// patch applies a unified diff. The text must contain every line of the diff that is not an addition.
func patch(text, diff string) (string, error) {
	old := splitLines(text)
	var out []string
	at := 0
	all := splitLines(diff)
	for i := 0; i < len(all); i++ {
		line := all[i]
		switch {
		case strings.HasPrefix(line, "--- ") && i == 0, strings.HasPrefix(line, "+++ ") && i == 1:
		case strings.HasPrefix(line, "@@ "):
			from, err := hunkStart(line)
			if err != nil || from < at || from > len(old) {
				return "", fmt.Errorf("hunk %q at line %d of %d: %w", line, at, len(old), err)
			}
			out = append(out, old[at:from]...)
			at = from
		default:
			content := line[1:]
			if i+1 < len(all) && strings.HasPrefix(all[i+1], `\`) {
				content = strings.TrimSuffix(content, "\n")
			}
			switch line[0] {
			case '\\':
			case '+':
				out = append(out, content)
			case ' ', '-':
				if at == len(old) || old[at] != content {
					return "", fmt.Errorf("line %d is not %q", at+1, content)
				}
				at++
				if line[0] == ' ' {
					out = append(out, content)
				}
			default:
				return "", fmt.Errorf("line %q is none of a diff", line)
			}
		}
	}
	return strings.Join(append(out, old[at:]...), ""), nil
}

// splitLines returns the lines of a text with their line ends.
func splitLines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if last := len(all) - 1; all[last] == "" {
		all = all[:last]
	}
	return all
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@`)

// hunkStart returns the number of lines of the old text before a hunk.
func hunkStart(line string) (int, error) {
	m := hunkHead.FindStringSubmatch(line)
	if m == nil {
		return 0, fmt.Errorf("it is no hunk")
	}
	n, err := strconv.Atoi(m[1])
	if m[2] != "0" && n > 0 {
		n-- // line numbers start at 1, unless the hunk contains no old line
	}
	return n, err
}

func TestPatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, diff, want string }{
		{"a\nb\nc\n", "--- x\n+++ x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		{"", "--- x\n+++ x\n@@ -0,0 +1 @@\n+a\n", "a\n"},
		{"a", "--- x\n+++ x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n"},
		{"a\n", "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a"},
		{"a\n", "--- x\n+++ x\n@@ -1 +0,0 @@\n-a\n", ""},
		{"a\nb\n", "--- x\n+++ x\n@@ -2,0 +3 @@\n+--- c\n", "a\nb\n--- c\n"},
	} {
		if got, err := patch(test.text, test.diff); err != nil || got != test.want {
			t.Errorf("%q: %q, error %v", test.diff, got, err)
		}
	}
	if _, err := patch("a\n", "@@ -1 +1 @@\n-b\n+c\n"); err == nil {
		t.Error("a diff of another text is applied")
	}
}

// once checks that the last version is the current one, and that no version is repeated directly.
func once(name string, versions []string, present string) error {
	if len(versions) == 0 {
		return fmt.Errorf("%s is not shown", name)
	}
	if last := versions[len(versions)-1]; last != present {
		return fmt.Errorf("%s is shown as %q, it is %q", name, last, present)
	}
	if n := len(slices.Compact(slices.Clone(versions))); n != len(versions) {
		return fmt.Errorf("%s is shown %d times, %d are enough", name, len(versions), n)
	}
	return nil
}
