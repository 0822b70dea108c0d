package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// WithAllowed returns the text of a configuration file with a rule in tools.allow. All else stays as it is, comments too. It
// returns the text itself if it has the rule. Lines end with "\n". path names the file in errors: of a text that is not a
// configuration, or in which the place for the rule cannot be found.
func WithAllowed(path, text, rule string) (string, error) {
	before, d, err := readText(path, text)
	if err != nil {
		return "", err
	}
	if slices.Contains(before.Tools.Allow, rule) {
		return text, nil
	}
	for _, at := range placesForAllowed(d, text) {
		if at.offset > len(text) {
			continue
		}
		edited := text[:at.offset] + at.before + scalarOf(rule) + at.after + text[at.offset:]
		if after, _, err := readText(path, edited); err == nil && differsByAllowed(before, after, rule) {
			return edited, nil
		}
	}
	return "", fmt.Errorf("%s: no place for the rule was found; add it to tools.allow yourself", path)
}

// plainRule is a rule that needs no quotes. Others have them, whether or not they need them: a rule can contain a command line of
// a model.
var plainRule = matches(200, `[a-z]+_[a-z]+(\([A-Za-z0-9_./ -]+( \*)?\))?`)

// scalarOf returns a rule as a YAML value.
func scalarOf(rule string) string {
	if plainRule(rule) {
		return rule
	}
	return "'" + strings.ReplaceAll(rule, "'", "''") + "'"
}

// readText reads the values that the text of a file sets.
func readText(path, text string) (*Config, document, error) {
	d, err := parseDocument(path, []byte(text))
	if err != nil {
		return nil, d, err
	}
	l := loader{Config: Default()}
	l.readMapping(d, d.root, l.all())
	return l.Config, d, l.problems.err()
}

// differsByAllowed reports whether the rule in tools.allow is the only difference between two configurations, which
// differsByAllowed changes.
func differsByAllowed(before, after *Config, rule string) bool {
	at := slices.Index(after.Tools.Allow, rule)
	if at < 0 {
		return false
	}
	a, b := *before, *after
	b.Tools.Allow = slices.Delete(slices.Clone(b.Tools.Allow), at, at+1)
	same := slices.Equal(a.Tools.Allow, b.Tools.Allow)
	for _, c := range []*Config{&a, &b} {
		c.origins, c.Tools.Allow, c.Profiles = nil, nil, slices.Clone(c.Profiles)
		for i := range c.Profiles {
			c.Profiles[i].Origin = Origin{}
		}
	}
	return same && reflect.DeepEqual(a, b)
}

// place is where a rule can be added to a text, and what comes before and after it there.
type place struct {
	offset        int // in bytes
	before, after string
}

// placesForAllowed returns the places where a rule of tools.allow may belong, the best first. Some can be wrong: the caller reads
// the text with the rule.
func placesForAllowed(d document, text string) []place {
	lines := linesOf(text)
	tools := entryOf(d.root, "tools")
	if tools == nil {
		return lines.forTools(d.root)
	}
	section, isMapping := tools.Value.(*ast.MappingNode)
	if !isMapping {
		return lines.forAllow(tools, "  ")
	}
	allow := entryOf(section, "allow")
	switch {
	case allow != nil:
		return lines.inList(allow.Value.(*ast.SequenceNode)) // readText has read it as a list
	case section.IsFlowStyle:
		return lines.inBrackets(section.Start, len(section.Values), "allow: [", "]")
	}
	indent := lines.indent(section.Values[0].Key.GetToken())
	return lines.forAllow(tools, strings.TrimPrefix(indent, lines.indent(tools.Key.GetToken())))
}

func entryOf(mapping *ast.MappingNode, name string) *ast.MappingValueNode {
	for _, entry := range mapping.Values {
		if keyName(entry) == name {
			return entry
		}
	}
	return nil
}

// lines are the lines of a text, with their ends. The last one has none.
type lines []string

// linesOf splits a text as the parser numbers its lines.
func linesOf(text string) (all lines) {
	for rest := text; ; {
		end := strings.IndexAny(rest, "\r\n")
		if end < 0 {
			return append(all, rest)
		}
		if strings.HasPrefix(rest[end:], "\r\n") {
			end++
		}
		all, rest = append(all, rest[:end+1]), rest[end+1:]
	}
}

// at returns the offset of a token.
func (l lines) at(t *token.Token) int {
	line := l[min(t.Position.Line, len(l))-1]
	offset := l.begin(t.Position.Line)
	for range t.Position.Column - 1 {
		_, size := utf8.DecodeRuneInString(line)
		line, offset = line[size:], offset+size
	}
	return offset
}

// begin returns the offset of a line, which is numbered from 1, or the end of the text.
func (l lines) begin(line int) (offset int) {
	for _, one := range l[:min(line-1, len(l))] {
		offset += len(one)
	}
	return offset
}

// indent returns the blanks before the first character in the line of a token.
func (l lines) indent(t *token.Token) string {
	line := l[min(t.Position.Line, len(l))-1]
	return line[:len(line)-len(strings.TrimLeft(line, " "))]
}

// newLine returns the place of a new line after the line with a number.
func (l lines) newLine(number int, before string) place {
	if number >= len(l) && l[len(l)-1] != "" { // the text ends without a line end
		return place{l.begin(number + 1), "\n" + before, ""}
	}
	return place{l.begin(number + 1), before, "\n"}
}

// forTools returns places for a new section tools: at the end of the file, or before its first key.
func (l lines) forTools(root *ast.MappingNode) []place {
	indent, first := "", 1
	if len(root.Values) > 0 {
		key := root.Values[0].Key.GetToken()
		if root.IsFlowStyle {
			return l.inBrackets(root.Start, len(root.Values), "tools: {allow: [", "]}")
		}
		indent, first = l.indent(key), key.Position.Line
	}
	section := indent + "tools:\n" + indent + "  allow:\n" + indent + "    - "
	return []place{l.newLine(len(l), section), l.newLine(first-1, section)}
}

// forAllow returns the place for a new list as the first key of a section, which is indented more than the section by deeper.
func (l lines) forAllow(tools *ast.MappingValueNode, deeper string) []place {
	key := tools.Key.GetToken()
	indent := l.indent(key) + deeper
	return []place{l.newLine(key.Position.Line, indent+"allow:\n"+indent+"  - ")}
}

// inList returns the places after the last and before the first item of a list.
func (l lines) inList(list *ast.SequenceNode) []place {
	if list.IsFlowStyle {
		return append(l.beforeEnd(list), l.inBrackets(list.Start, len(list.Values), "", "")...)
	}
	last := nodeStart(list.Values[len(list.Values)-1])
	item := l.indent(list.Start) + "- "
	return []place{l.newLine(last.Position.Line, item), l.newLine(list.Start.Position.Line-1, item)}
}

// inBrackets returns the place after an opening bracket, before the values that follow it.
func (l lines) inBrackets(open *token.Token, values int, before, after string) []place {
	if values > 0 {
		after += ", "
	}
	return []place{{l.at(open) + 1, before, after}}
}

// beforeEnd returns the place before the closing bracket of a list.
func (l lines) beforeEnd(list *ast.SequenceNode) []place {
	before := ""
	if len(list.Values) > 0 {
		before = ", "
	}
	return []place{{l.at(list.End), before, ""}}
}
