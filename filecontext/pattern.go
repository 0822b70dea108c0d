package filecontext

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The bounds of a pattern.
const (
	maxPattern      = 1000 // bytes
	maxAlternatives = 64   // that braces can expand to
)

// Pattern matches names of files by the rules of .gitignore: without a slash in the middle it matches in any folder, ** is
// any number of folders, and the name of a folder matches all files in it. In addition, {a,b} is either a or b, and ! at the
// start inverts the pattern.
type Pattern struct {
	any      *rules
	inverted bool
}

// NewPattern returns a pattern. The error is a predicate that describes the problem.
func NewPattern(text string) (*Pattern, error) {
	body, inverted := strings.CutPrefix(strings.TrimSpace(text), "!")
	body = strings.TrimPrefix(body, "./")
	switch {
	case body == "":
		return nil, errors.New("is empty")
	case len(body) > maxPattern:
		return nil, fmt.Errorf("has %d bytes, the limit is %d", len(body), maxPattern)
	case strings.ContainsFunc(body, unicode.IsControl):
		return nil, errors.New("contains a control character")
	case strings.Count(body, "[") > strings.Count(body, "]"):
		return nil, errors.New(`has a [ without ]`)
	}
	all, err := alternatives(body)
	if err != nil {
		return nil, err
	}
	for i, one := range all {
		if strings.HasPrefix(one, "#") || strings.HasPrefix(one, "!") {
			all[i] = `\` + one
		}
	}
	return &Pattern{any: newRules(nil, "", strings.Join(all, "\n")), inverted: inverted}, nil
}

// Match reports whether the pattern matches a file that has names, each relative to another folder, with forward slashes.
func (p *Pattern) Match(names ...string) bool {
	return slices.ContainsFunc(names, p.matches) != p.inverted
}

func (p *Pattern) matches(name string) bool {
	for at, c := range name {
		if c == '/' && p.any.ignore(name[:at+1]) {
			return true
		}
	}
	return p.any.ignore(name)
}

// alternatives returns the patterns that a pattern with braces stands for.
func alternatives(pattern string) ([]string, error) {
	start := strings.IndexByte(pattern, '{')
	if start < 0 {
		return []string{pattern}, nil
	}
	depth, from := 0, start+1
	var parts []string
	for at := start; at < len(pattern); at++ {
		switch c := pattern[at]; {
		case c == '{':
			depth++
		case c == ',' && depth == 1:
			parts, from = append(parts, pattern[from:at]), at+1
		case c == '}':
			depth--
		}
		if depth == 0 {
			return joined(pattern[:start], append(parts, pattern[from:at]), pattern[at+1:])
		}
	}
	return nil, errors.New("has a { without }")
}

// joined returns the alternatives of a pattern with braces around parts.
func joined(before string, parts []string, after string) ([]string, error) {
	var all []string
	for _, part := range parts {
		more, err := alternatives(before + part + after)
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > maxAlternatives {
			return nil, fmt.Errorf("has more than %d alternatives in braces", maxAlternatives)
		}
	}
	return all, nil
}
