package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// ProfileNames are the profiles that are built in.
var ProfileNames = []string{"chat", "steps", "loop", "task", "phased"}

// Override is one value that replaces a profile's own, as it was written: whoever owns the profiles checks its
// name and type and reports what is wrong with Errorf.
type Override struct {
	Path   []string // such as compaction, summarize_every
	Value  any      // string, bool, int64, float64, nil, or []any and map[string]any of these
	Origin Origin
}

// Errorf makes an error that names the place of the override.
func (o Override) Errorf(format string, args ...any) error {
	return &Error{o.Origin, strings.Join(o.Path, "."), fmt.Errorf(format, args...)}
}

// override sets one value of a profile; what was set before at the same path is replaced.
func override(profile []Override, o Override) []Override {
	for i := range profile {
		if slices.Equal(profile[i].Path, o.Path) {
			profile[i] = o
			return profile
		}
	}
	return append(profile, o)
}

func (c *Config) profileKey(name string) (key, error) {
	if !slices.Contains(ProfileNames, name) {
		return key{}, fmt.Errorf("there is no profile %s; there are %s", quote(name), strings.Join(ProfileNames, ", "))
	}
	if _, ok := c.Profiles[name]; !ok {
		c.Profiles[name] = nil
	}
	return key{name: name, doc: "Values that replace the profile's own.", value: profileValue{c, name}}, nil
}

// profileValue reads all overrides of one profile at once.
type profileValue struct {
	c    *Config
	name string
}

func (profileValue) want() string { return "a mapping of the profile's keys" }

func (p profileValue) String() string {
	words := make([]string, len(p.c.Profiles[p.name]))
	for i, o := range p.c.Profiles[p.name] {
		words[i] = fmt.Sprintf("%s: %v", strings.Join(o.Path, "."), o.Value)
	}
	return "{" + strings.Join(words, ", ") + "}"
}

func (p profileValue) setText(string) error {
	return errors.New("a whole profile can be set in a file only")
}

func (p profileValue) setNode(d document, node ast.Node) error {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return wrongType(node, p.want())
	}
	return p.collect(d, mapping, nil)
}

func (p profileValue) collect(d document, mapping *ast.MappingNode, prefix []string) error {
	for _, entry := range mapping.Values {
		name, err := entryName(entry)
		if err != nil {
			return &nodeError{entry.Key, err}
		}
		path := append(slices.Clone(prefix), name)
		if inner, ok := entry.Value.(*ast.MappingNode); ok {
			if err := p.collect(d, inner, path); err != nil {
				return err
			}
			continue
		}
		v, err := plainValue(entry.Value)
		if err != nil {
			return &nodeError{entry.Value, err}
		}
		p.c.Profiles[p.name] = override(p.c.Profiles[p.name], Override{Path: path, Value: v, Origin: d.at(nodeStart(entry.Value))})
	}
	return nil
}

// plainValue gives a node as the types that Override names.
func plainValue(node ast.Node) (any, error) {
	switch n := node.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.StringNode, *ast.LiteralNode:
		return nodeText(n), nil
	case *ast.IntegerNode, *ast.FloatNode:
		return plainNumber(nodeText(n))
	case *ast.SequenceNode:
		return plainList(n)
	case *ast.MappingNode:
		return plainMap(n)
	}
	return nil, fmt.Errorf("%s is not allowed here", describe(node))
}

func plainNumber(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%s is not a decimal number", quote(s))
	}
	return f, nil
}

func plainList(sequence *ast.SequenceNode) (any, error) {
	items := make([]any, 0, len(sequence.Values))
	for _, item := range sequence.Values {
		v, err := plainValue(item)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

func plainMap(mapping *ast.MappingNode) (any, error) {
	entries := make(map[string]any, len(mapping.Values))
	for _, entry := range mapping.Values {
		name, err := entryName(entry)
		if err != nil {
			return nil, err
		}
		if entries[name], err = plainValue(entry.Value); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
