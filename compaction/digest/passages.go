package digest

import (
	"strings"
	"unicode"

	"strata/history"
	"strata/internal/headings"
)

// Message is a message of a conversation.
type Message struct {
	Role   history.Role
	Text   string
	Calls  bool // makes tool calls
	Failed bool // contains a tool result that is marked as an error
}

// form is how a passage came about.
type form int

// The forms of passages.
const (
	prose  form = iota // sentences of the speaker
	output             // lines that a program wrote: logs, listings, tables, also if a user pasted them
	code
	quoted // lines with a mark of quotation
	call   // the name and the arguments of a tool call
)

// passage is a part of a message in one form.
type passage struct {
	form  form
	lines []string
	lead  bool // the first prose of its message: where a speaker responds to the other
}

func (p *passage) text() string { return strings.Join(p.lines, "\n") }

// messageLines is the maximum number of lines of a message that are examined: the first half and the last half of a longer
// one.
const messageLines = 4_000

// passages divides a message. A tool's text is one passage.
func passages(m *Message) []passage {
	lines := ends(strings.Split(m.Text, "\n"), messageLines)
	if m.Role == history.RoleTool {
		p := passage{form: formOf(lines), lines: lines}
		if isFile(lines) {
			p.form = code
		}
		return []passage{p}
	}
	d := divider{}
	for _, line := range lines {
		d.add(strings.TrimRight(line, " \t\r"))
	}
	d.close()
	return d.passages
}

// isFile reports whether a tool's text is the copy of a file, by the usual headings.
func isFile(lines []string) bool {
	return len(headings.Find(strings.Join(lines[:min(len(lines), 3)], "\n"))) > 0
}

// ends returns lines without those in the middle that exceed the limit.
func ends(lines []string, limit int) []string {
	if len(lines) <= limit {
		return lines
	}
	return append(lines[:limit/2:limit/2], lines[len(lines)-limit/2:]...)
}

// divider collects the lines of a message.
type divider struct {
	passages []passage
	open     []string // lines of a paragraph
	fence    string   // that ends the code block; empty outside of one
	led      bool     // there is a lead
	leads    bool     // the lead announces a list
}

func (d *divider) add(line string) {
	trimmed := strings.TrimLeft(line, " \t")
	mark := ""
	if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
		mark = trimmed[:3]
	}
	switch {
	case d.fence != "" && mark == d.fence:
		d.flush(code)
		d.fence = ""
	case d.fence != "":
		d.open = append(d.open, line)
	case mark != "":
		d.paragraph()
		d.fence = mark
	case trimmed == "":
		d.paragraph()
	case strings.HasPrefix(trimmed, ">"):
		d.paragraph()
		d.open = append(d.open, trimmed)
		d.flush(quoted)
	case isCall(trimmed):
		d.paragraph()
		d.open = append(d.open, trimmed)
		d.flush(call)
	default:
		d.open = append(d.open, line)
	}
}

func (d *divider) close() {
	if d.fence != "" {
		d.flush(code)
		return
	}
	d.paragraph()
}

// flush ends a passage.
func (d *divider) flush(f form) {
	if len(d.open) == 0 {
		return
	}
	p := passage{form: f, lines: d.open}
	if f == prose {
		p.lead = !d.led || d.leads && isListItem(p.lines[0])
		d.led = true
		d.leads = p.lead && strings.HasSuffix(p.lines[len(p.lines)-1], ":")
	}
	d.passages = append(d.passages, p)
	d.open = nil
}

// pasteLines is the minimum length of a paste: fewer lines are taken for the speaker's own.
const pasteLines = 4

// usualFrom is the number of lines that look alike from which they are usual.
const usualFrom = 3

// paragraph ends a paragraph. If most of its lines are a program's, or repeat each other but for numbers, those before the
// first such line and after the last one are the speaker's.
func (d *divider) paragraph() {
	lines := d.open
	first, last, machine := -1, -1, 0
	patterns := make(map[string]int)
	for _, line := range lines {
		patterns[pattern(line)]++
	}
	for i, line := range lines {
		if byMachine(line) || patterns[pattern(line)] >= usualFrom {
			if machine++; first < 0 {
				first = i
			}
			last = i
		}
	}
	if machine < pasteLines || machine*2 < len(lines) {
		d.flush(prose)
		return
	}
	for _, part := range []struct {
		form  form
		lines []string
	}{{prose, lines[:first]}, {formOf(lines[first : last+1]), lines[first : last+1]}, {prose, lines[last+1:]}} {
		d.open = part.lines
		d.flush(part.form)
	}
}

// isCall reports whether a line is a tool call as the session renders it, name({"…":…}), or the arguments alone.
func isCall(line string) bool {
	name, _, found := strings.Cut(line, "{\"")
	name = strings.TrimSuffix(name, "(")
	return found && len(name) < 64 && !strings.ContainsAny(name, " \t`") && strings.HasSuffix(strings.TrimSuffix(line, ")"), "}")
}

// byMachine reports whether a line is rather a program's than a person's: fewer than two thirds of its fields are words, or it
// is indented like code.
func byMachine(line string) bool {
	if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") {
		return !isListItem(line)
	}
	fields := strings.Fields(line)
	if len(fields) > 0 && isListItem(line) {
		fields = fields[1:]
	}
	words := 0
	for _, f := range fields {
		if isWord(f) {
			words++
		}
	}
	return words*3 < len(fields)*2
}

func isListItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	mark, rest, spaced := strings.Cut(line, " ")
	switch {
	case !spaced || rest == "":
		return false
	case mark == "-" || mark == "*" || mark == "+" || mark == "•":
		return true
	}
	number := strings.TrimRight(mark, ".)")
	return number != mark && number != "" && strings.Trim(number, "0123456789") == ""
}

// isWord reports whether a field is a word with at most punctuation around it.
func isWord(field string) bool {
	field = strings.TrimFunc(field, func(r rune) bool { return unicode.IsPunct(r) })
	return field != "" && strings.IndexFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' && r != '-' }) < 0
}

// formOf returns code if a third of the lines look like a program's text, else output.
func formOf(lines []string) form {
	looks, all := 0, 0
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			continue
		}
		all++
		if strings.ContainsRune("{};(,:\\", rune(trimmed[len(trimmed)-1])) || trimmed == ")" ||
			strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "@") ||
			strings.Contains(trimmed, " = ") || strings.Contains(trimmed, " := ") || strings.HasPrefix(trimmed, "return") {
			looks++
		}
	}
	if all >= pasteLines && looks*3 >= all {
		return code
	}
	return output
}

// pattern returns a line in lower case, without digits and the space around it.
func pattern(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, strings.TrimSpace(line))
}

// Written returns what a person or the model wrote in a message: no code, no output of programs, and of a reply only its
// response to the prompt.
func Written(m *Message) string {
	var out strings.Builder
	if m.Role == history.RoleTool {
		return ""
	}
	for _, p := range passages(m) {
		if p.form == prose && (p.lead || m.Role == history.RoleUser) {
			out.WriteString(p.text() + "\n")
		}
	}
	return out.String()
}
