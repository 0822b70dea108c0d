package outline

import "strings"

// outlineMarkdown reads the headings of a Markdown file, written with # or underlined, outside of fenced and indented
// code. A heading extends to the next one of its level or above.
func outlineMarkdown(b *builder) {
	m := markdown{builder: b}
	for offset := frontMatter(b.text); offset < len(b.text); {
		end := offset + strings.IndexByte(b.text[offset:], '\n')
		if end < offset {
			end = len(b.text)
		}
		m.line(strings.TrimRight(b.text[offset:end], "\r"), offset)
		offset = end + 1
	}
	m.close(1, len(b.text))
}

// frontMatter returns the offset after the settings at the start of a file, between two lines of ---.
func frontMatter(text string) int {
	const line = "---"
	first, rest, found := strings.Cut(text, "\n")
	if !found || strings.TrimRight(first, " \t\r") != line {
		return 0
	}
	for l := range strings.Lines(rest) {
		rest = rest[len(l):]
		if strings.TrimRight(l, " \t\r\n") == line {
			return len(text) - len(rest)
		}
	}
	return 0
}

type markdown struct {
	*builder
	fence     string // that opened the present code, "" outside
	paragraph string // the lines before, if they can be underlined as a heading
	start     int    // its offset
	open      []int  // indexes of the headings that contain the present line
}

func (m *markdown) line(text string, offset int) {
	trimmed := strings.TrimLeft(text, " ")
	indent := len(text) - len(trimmed)
	before := m.paragraph
	m.paragraph = ""
	switch {
	case m.fence != "":
		if indent < 4 && closesFence(trimmed, m.fence) {
			m.fence = ""
		}
	case strings.HasPrefix(text, "\t") || indent >= 4:
		m.paragraph = before // a continued paragraph, or code
	case fenceOf(trimmed) != "":
		m.fence = fenceOf(trimmed)
	case headingLevel(trimmed) > 0:
		level := headingLevel(trimmed)
		m.heading(level, closedHeading(trimmed[level:]), offset)
	case before != "" && isUnderline(trimmed, '='):
		m.heading(1, before, m.start)
	case before != "" && isUnderline(trimmed, '-'):
		m.heading(2, before, m.start)
	case strings.TrimSpace(trimmed) != "" && !strings.HasPrefix(trimmed, ">") && !strings.HasPrefix(trimmed, "|") && !isListItem(trimmed):
		if before == "" {
			m.start = offset
		} else if len(before) < MaxName {
			before += " "
		}
		m.paragraph = before
		if len(before) < MaxName {
			m.paragraph += strings.TrimSpace(trimmed)
		}
	}
}

func (m *markdown) heading(level int, title string, offset int) {
	m.close(level, offset)
	count := len(m.out.Symbols)
	m.add("heading", title, strings.Repeat("#", level)+" "+title, offset, offset, level-1)
	if len(m.out.Symbols) > count {
		m.open = append(m.open, count)
	}
}

// close ends the headings from a level down before an offset.
func (m *markdown) close(level, offset int) {
	for len(m.open) > 0 {
		s := &m.out.Symbols[m.open[len(m.open)-1]]
		if s.Depth+1 < level {
			return
		}
		s.EndLine = max(s.Line, m.builder.line(offset-1))
		m.open = m.open[:len(m.open)-1]
	}
}

// fenceOf returns the fence that a line opens, at least three backquotes or tildes, or "".
func fenceOf(line string) string {
	for _, sign := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, sign)
		if fence := line[:len(line)-len(rest)]; len(fence) >= 3 && (sign == "~" || !strings.Contains(rest, "`")) {
			return fence
		}
	}
	return ""
}

func closesFence(line, fence string) bool {
	return strings.HasPrefix(line, fence) && strings.Trim(line[len(fence):], fence[:1]+" \t") == ""
}

// headingLevel returns the number of # that start a heading, 0 if the line is none.
func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level > 6 || level < len(line) && line[level] != ' ' && line[level] != '\t' {
		return 0
	}
	return level
}

// closedHeading returns the title without the # that may close it.
func closedHeading(title string) string {
	title = strings.TrimSpace(title)
	rest := strings.TrimRight(title, "#")
	if rest == "" || strings.HasSuffix(rest, " ") || strings.HasSuffix(rest, "\t") {
		return strings.TrimSpace(rest)
	}
	return title
}

func isUnderline(line string, sign rune) bool {
	line = strings.TrimRight(line, " \t")
	return line != "" && strings.Trim(line, string(sign)) == ""
}

func isListItem(line string) bool {
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ")
}
