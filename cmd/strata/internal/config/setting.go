package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"strata/server/access"
)

// setting is a field of a Config with its dotted name: a value, a section (a struct) or a table (a map of pointers, or
// the overrides of profiles). The tags of the field are
//
//	yaml    its name
//	doc     what it is, in one sentence, with the unit
//	default its text if no source sets it
//	allow   the rule that a text or number, or each in a list, must follow
//	oneof   the words of which a text must be one
//	empty   yes: a text may be empty whatever the rule
//	min     the least duration, or the least number if it is not 0
//	names   the rule that the names in a table must follow
//	secret  value: listings and errors mask it; query: listings mask the query of an address, errors mask all; error: errors mask it
//	only    env: neither a file nor a flag can contain it
type setting struct {
	dotted string
	field  reflect.Value
	tag    reflect.StructTag
}

// all returns the whole configuration as a section.
func (c *Config) all() setting { return setting{field: reflect.ValueOf(c).Elem()} }

func isA[T any](v reflect.Value) bool { return v.Type() == reflect.TypeFor[T]() }

func (s setting) isOverrides() bool { return isA[[]Override](s.field) }
func (s setting) isTable() bool     { return s.field.Kind() == reflect.Map || s.isOverrides() }
func (s setting) isValue() bool {
	return s.field.Kind() != reflect.Struct && !s.isTable() || isA[access.Token](s.field)
}
func (s setting) isList() bool    { return s.field.Kind() == reflect.Slice }
func (s setting) isEnvOnly() bool { return s.tag.Get("only") == "env" }
func (s setting) name() string    { return s.dotted[strings.LastIndex(s.dotted, ".")+1:] }

// members returns the members of a section in the order of its fields, or the entries of a table in that of the names.
func (s setting) members() []setting {
	var all []setting
	switch s.field.Kind() {
	case reflect.Struct:
		for i := range s.field.NumField() {
			f := s.field.Type().Field(i)
			if name := f.Tag.Get("yaml"); name != "" {
				all = append(all, setting{strings.TrimPrefix(s.dotted+"."+name, "."), s.field.Field(i), f.Tag})
			}
		}
	case reflect.Map:
		for _, name := range s.field.MapKeys() {
			all = append(all, s.entry(name.String()))
		}
		slices.SortFunc(all, func(a, b setting) int { return strings.Compare(a.dotted, b.dotted) })
	}
	return all
}

// values returns all values in a section or table.
func (s setting) values() []setting {
	var all []setting
	for _, m := range s.members() {
		if m.isValue() {
			all = append(all, m)
		} else {
			all = append(all, m.values()...)
		}
	}
	return all
}

// member returns the member with a name, which is one of only unless that is nil. A table gets a new entry for a new name.
func (s setting) member(name string, only []string) (setting, error) {
	if s.isTable() {
		if names := rules[s.tag.Get("names")]; !names.follows(name) {
			return s, fmt.Errorf("%s is not %s", quote(name), names.want)
		}
		return s.entry(name), nil
	}
	var allowed []string
	for _, m := range s.members() {
		switch {
		case m.name() == name && m.isEnvOnly():
			return s, fmt.Errorf("%s is not allowed in a file: use token_file or %s", name, m.env())
		case m.isEnvOnly(), only != nil && !slices.Contains(only, m.name()):
		case m.name() == name:
			return m, nil
		default:
			allowed = append(allowed, m.name())
		}
	}
	return s, fmt.Errorf("unknown key %s; allowed: %s", quote(name), strings.Join(allowed, ", "))
}

// entry returns the entry of a table for a name, a new entry for a new name.
func (s setting) entry(name string) setting {
	dotted, key := s.dotted+"."+name, reflect.ValueOf(name)
	if s.isOverrides() {
		return setting{dotted, s.field, s.tag}
	}
	if !s.field.MapIndex(key).IsValid() {
		entry := reflect.New(s.field.Type().Elem().Elem())
		setting{field: entry.Elem()}.reset()
		s.field.SetMapIndex(key, entry)
	}
	return setting{dotted, s.field.MapIndex(key).Elem(), s.tag}
}

// reset sets all values in a new section to their defaults and makes its tables.
func (s setting) reset() {
	for _, m := range s.members() {
		switch text := m.tag.Get("default"); {
		case m.field.Kind() == reflect.Map:
			m.field.Set(reflect.MakeMap(m.field.Type()))
		case !m.isValue():
			m.reset()
		case text != "":
			m.setText(text)
		}
	}
}

// env returns the name of the environment variable: STRATA_ and the dotted name in capitals, joined by "_".
func (s setting) env() string {
	return "STRATA_" + strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(s.dotted))
}

// flag returns the name of the flag, without the dashes before it.
func (s setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.dotted) }

// setText sets a value. Commas separate the items of a list.
func (s setting) setText(text string) error {
	if !s.isList() {
		_, err := s.set(text)
		return err
	}
	items := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	_, err := s.set(items...)
	return err
}

// setNode sets a value. If the value is not allowed, setNode returns the node at fault, which may be an item of a list.
func (s setting) setNode(node ast.Node) (ast.Node, error) {
	nodes := []ast.Node{node}
	if s.isList() {
		sequence, ok := node.(*ast.SequenceNode)
		if !ok {
			return node, s.refuse(describe(node), s.want())
		}
		nodes = sequence.Values
	}
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		texts[i] = nodeText(n)
		if _, isScalar := n.(ast.ScalarNode); !isScalar || isText(n) != (s.isText() || texts[i] == "auto") {
			return n, s.refuse(describe(n), s.rule().want)
		}
	}
	if i, err := s.set(texts...); err != nil {
		return nodes[i], err
	}
	return node, nil
}

// set sets a value from its text, or a list from those of its items. It returns the index of the text that is not allowed.
func (s setting) set(texts ...string) (int, error) {
	v := reflect.New(s.field.Type()).Elem()
	if s.isList() {
		v.Set(reflect.MakeSlice(v.Type(), len(texts), len(texts)))
	}
	for i, text := range texts {
		one := v
		if s.isList() {
			one = v.Index(i)
		}
		if !s.parse(one, text) {
			return i, s.fault(text)
		}
	}
	s.field.Set(v)
	return 0, nil
}

// scalar returns the type of the value, or of an item of the list.
func (s setting) scalar() reflect.Type {
	if s.isList() {
		return s.field.Type().Elem()
	}
	return s.field.Type()
}

func (s setting) isText() bool {
	return s.scalar().Kind() == reflect.String || isA[time.Duration](s.field)
}

// parse sets v to the value of a text and reports whether it is allowed.
func (s setting) parse(v reflect.Value, text string) bool {
	switch {
	case isA[*bool](v) && text == "auto":
		return true
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return s.parse(v.Elem(), text)
	case isA[access.Token](v):
		token, err := access.ParseToken(text)
		v.Set(reflect.ValueOf(token))
		return err == nil
	case isA[time.Duration](v):
		d, err := time.ParseDuration(text)
		least, _ := time.ParseDuration(s.min())
		v.SetInt(int64(d))
		return err == nil && d >= least
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "true")
		return text == "true" || text == "false"
	case v.Kind() == reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		v.SetFloat(n)
		return err == nil && n >= 0 && n < 1e18 // false for NaN
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		least, _ := strconv.ParseInt(s.min(), 10, 64)
		v.SetInt(n)
		return err == nil && n >= least && s.rule().follows(text)
	}
	v.SetString(text)
	return text == "" && s.tag.Get("empty") != "" || s.rule().follows(text)
}

func (s setting) min() string { return cmp.Or(s.tag.Get("min"), "0") }

// words returns the words of which the value must be one; nil if it can be another text.
func (s setting) words() []string {
	if s.tag.Get("allow") == "profile" {
		return ProfileNames
	}
	return strings.Fields(s.tag.Get("oneof"))
}

// rule returns the rule for the value, or for an item of the list.
func (s setting) rule() rule {
	if words := s.words(); len(words) > 0 {
		return oneOf(words...)
	}
	r := rules[cmp.Or(s.tag.Get("allow"), s.scalar().String())]
	r.want = strings.Replace(r.want, "MIN", s.min(), 1)
	return r
}

// want returns what is allowed, as a phrase that completes "is not".
func (s setting) want() string {
	if s.isList() {
		return "a list, each " + s.rule().want
	}
	return s.rule().want
}

// fault returns the error for a text that is not allowed.
func (s setting) fault(text string) error {
	if explain := faults[s.tag.Get("allow")]; explain != nil {
		return explain(text)
	}
	return s.refuse(quote(text), s.rule().want)
}

// refuse returns the error for a value that is not allowed.
func (s setting) refuse(what, want string) error {
	if s.tag.Get("secret") != "" {
		what = "the value"
	}
	return fmt.Errorf("%s is not %s", what, want)
}

// String returns the value for listings, a token masked. A value that is not set gives "", or "auto" if it is a boolean.
func (s setting) String() string { return show(s.field) }

func show(v reflect.Value) string {
	switch {
	case v.IsZero() && isA[*bool](v):
		return "auto"
	case v.IsZero() && (v.Kind() == reflect.Pointer || isA[access.Token](v)):
		return ""
	case v.Kind() == reflect.Pointer:
		return show(v.Elem())
	case v.Kind() == reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = show(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case isA[time.Duration](v):
		return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(fmt.Sprint(v))
	}
	return fmt.Sprint(v)
}
