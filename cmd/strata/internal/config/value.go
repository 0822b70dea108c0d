package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"strata/server/access"
)

// value is one setting bound to its field in a Config. Flags and the environment give it text, files give it
// YAML nodes; both go through one parser, so that a value is allowed everywhere or nowhere.
type value interface {
	setText(text string) error
	setNode(d document, node ast.Node) error
	String() string
	want() string // what is allowed, as a phrase that follows "is not"
}

// scalar is a value that is one word or number.
type scalar[T any] struct {
	field  *T
	wants  string
	isNode func(ast.Node) bool // whether a node is of the right type
	parse  func(string) (T, bool)
	show   func(T) string
	hidden bool // the value may be a secret: errors must not repeat it
}

func (s scalar[T]) want() string   { return s.wants }
func (s scalar[T]) String() string { return s.show(*s.field) }

func (s scalar[T]) setText(text string) error {
	v, ok := s.parse(text)
	switch {
	case ok:
		*s.field = v
		return nil
	case s.hidden:
		return fmt.Errorf("the value is not %s", s.wants)
	}
	return fmt.Errorf("%s is not %s", quote(text), s.wants)
}

func (s scalar[T]) setNode(_ document, node ast.Node) error {
	switch {
	case s.isNode(node):
		return s.setText(nodeText(node))
	case s.hidden:
		return fmt.Errorf("the value is not %s", s.wants)
	}
	return wrongType(node, s.wants)
}

// list is a value of several words. As text they are separated by commas.
type list struct {
	field *[]string
	wants string // what one word is
	valid func(string) bool
}

func (l list) want() string   { return "a list, each " + l.wants }
func (l list) String() string { return "[" + strings.Join(*l.field, ", ") + "]" }

func (l list) setText(text string) error {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
		if !l.valid(words[i]) {
			return fmt.Errorf("%s is not %s", quote(words[i]), l.wants)
		}
	}
	*l.field = words
	return nil
}

func (l list) setNode(_ document, node ast.Node) error {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		return wrongType(node, l.want())
	}
	words := make([]string, 0, len(sequence.Values))
	for _, item := range sequence.Values {
		if !isText(item) {
			return &nodeError{item, wrongType(item, l.wants)}
		}
		text := nodeText(item)
		if !l.valid(text) {
			return &nodeError{item, fmt.Errorf("%s is not %s", quote(text), l.wants)}
		}
		words = append(words, text)
	}
	*l.field = words
	return nil
}

// numbers is a value of several whole numbers. As text they are separated by commas.
type numbers struct {
	field *[]int
	wants string // what one number is
	valid func(int) bool
}

func (n numbers) want() string   { return "a list, each " + n.wants }
func (n numbers) String() string { return strings.ReplaceAll(fmt.Sprint(*n.field), " ", ", ") }

func (n numbers) setText(text string) error {
	var all []int
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		number, err := n.parse(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		all = append(all, number)
	}
	*n.field = all
	return nil
}

func (n numbers) parse(word string) (int, error) {
	number, err := strconv.Atoi(word)
	if err != nil || !n.valid(number) {
		return 0, fmt.Errorf("%s is not %s", quote(word), n.wants)
	}
	return number, nil
}

func (n numbers) setNode(_ document, node ast.Node) error {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		return wrongType(node, n.want())
	}
	all := make([]int, 0, len(sequence.Values))
	for _, item := range sequence.Values {
		if item.Type() != ast.IntegerType {
			return &nodeError{item, wrongType(item, n.wants)}
		}
		number, err := n.parse(nodeText(item))
		if err != nil {
			return &nodeError{item, err}
		}
		all = append(all, number)
	}
	*n.field = all
	return nil
}

// mapEntry is a text value that lives under its name in a map. It may be a secret: errors don't repeat it.
type mapEntry struct {
	in    map[string]string
	name  string
	wants string
	valid func(string) bool
}

func (m mapEntry) want() string   { return m.wants }
func (m mapEntry) String() string { return m.in[m.name] }

func (m mapEntry) setText(text string) error {
	if !m.valid(text) {
		return fmt.Errorf("the value is not %s", m.wants)
	}
	m.in[m.name] = text
	return nil
}

func (m mapEntry) setNode(_ document, node ast.Node) error {
	if !isText(node) {
		return fmt.Errorf("the value is not %s", m.wants)
	}
	return m.setText(nodeText(node))
}

// nodeError puts an error at a node inside of the value that is being set.
type nodeError struct {
	node ast.Node
	err  error
}

func (e *nodeError) Error() string { return e.err.Error() }
func (e *nodeError) Unwrap() error { return e.err }

func text(field *string, wants string, valid func(string) bool) scalar[string] {
	return scalar[string]{
		field: field, wants: wants, isNode: isText,
		parse: func(s string) (string, bool) { return s, valid(s) },
		show:  func(s string) string { return s },
	}
}

func oneOf(field *string, words ...string) scalar[string] {
	return text(field, "one of "+strings.Join(words, ", "), func(s string) bool { return slices.Contains(words, s) })
}

func boolean(field *bool) scalar[bool] {
	return scalar[bool]{
		field: field, wants: "true or false", isNode: isType(ast.BoolType),
		parse: func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" },
		show:  strconv.FormatBool,
	}
}

// autoBoolean is a boolean that may be auto, which is nil.
func autoBoolean(field **bool) scalar[*bool] {
	return scalar[*bool]{
		field: field, wants: "auto, true or false",
		isNode: func(n ast.Node) bool { return n.Type() == ast.BoolType || isText(n) },
		parse: func(s string) (*bool, bool) {
			yes := s == "true"
			switch s {
			case "auto":
				return nil, true
			case "true", "false":
				return &yes, true
			}
			return nil, false
		},
		show: func(b *bool) string {
			if b == nil {
				return "auto"
			}
			return strconv.FormatBool(*b)
		},
	}
}

func integer[T int | int64](field *T, least T) scalar[T] {
	return scalar[T]{
		field: field, wants: fmt.Sprintf("a whole number of at least %d", least), isNode: isType(ast.IntegerType),
		parse: func(s string) (T, bool) {
			n, err := strconv.ParseInt(s, 10, strconv.IntSize)
			return T(n), err == nil && T(n) >= least
		},
		show: func(n T) string { return strconv.FormatInt(int64(n), 10) },
	}
}

func amount(field *float64) scalar[float64] {
	return scalar[float64]{
		field: field, wants: "a number of at least 0", isNode: isType(ast.IntegerType, ast.FloatType),
		parse: func(s string) (float64, bool) {
			n, err := strconv.ParseFloat(s, 64)
			return n, err == nil && n >= 0 && n < 1e18 // false for NaN
		},
		show: func(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) },
	}
}

func duration(field *time.Duration, least time.Duration) scalar[time.Duration] {
	return scalar[time.Duration]{
		field: field, wants: fmt.Sprintf("a duration such as 90s, 30m or 168h, at least %s", showDuration(least)), isNode: isText,
		parse: func(s string) (time.Duration, bool) {
			d, err := time.ParseDuration(s)
			return d, err == nil && d >= least
		},
		show: showDuration,
	}
}

// showDuration writes 168h for 168h0m0s.
func showDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func tokenValue(field *access.Token) scalar[access.Token] {
	return scalar[access.Token]{
		field: field, wants: "a token: 64 hexadecimal digits or 43 characters of base64url", hidden: true, isNode: isText,
		parse: func(s string) (access.Token, bool) {
			t, err := access.ParseToken(s)
			return t, err == nil
		},
		show: func(t access.Token) string {
			if t.IsZero() {
				return ""
			}
			return masked
		},
	}
}

// optional makes of a scalar one whose field tells whether it was set.
func optional[T any](field **T, like scalar[T]) scalar[*T] {
	return scalar[*T]{
		field: field, wants: like.wants, isNode: like.isNode,
		parse: func(s string) (*T, bool) {
			v, ok := like.parse(s)
			return &v, ok
		},
		show: func(v *T) string {
			if v == nil {
				return ""
			}
			return like.show(*v)
		},
	}
}

// hidden keeps a value that may be a secret out of errors.
func hidden(s scalar[string]) scalar[string] {
	s.hidden = true
	return s
}

// maxQuoted is how many characters of a wrong value an error repeats.
const maxQuoted = 60

func quote(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:maxQuoted]) + "…"
	}
	return strconv.Quote(s)
}
