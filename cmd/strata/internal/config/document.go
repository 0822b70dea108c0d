package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFileBytes bounds a configuration file. The parser takes a second for the worst text of this size.
const maxFileBytes = 64 << 10

// maxDepth bounds the nesting of lists and mappings in one line: the parser's time grows faster than their number.
const maxDepth = 32

// document is a YAML file that contains one mapping.
type document struct {
	path string
	root *ast.MappingNode // without values in an empty file
}

// readDocument reads a file of at most maxFileBytes and parses it. Errors show the file as path.
func readDocument(path string, r io.Reader) (document, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return document{}, fmt.Errorf("read %s: %w", path, err)
	}
	return parseDocument(path, data)
}

func parseDocument(path string, data []byte) (document, error) {
	d := document{path, &ast.MappingNode{}}
	if len(data) > maxFileBytes {
		return d, d.errorf(nil, "the file exceeds the limit of %d bytes", maxFileBytes)
	}
	if !utf8.Valid(data) {
		return d, d.errorf(nil, "the file is not UTF-8 text")
	}
	tokens := lexer.Tokenize(string(bytes.TrimPrefix(data, []byte("\ufeff"))))
	if t := tooDeep(tokens); t != nil {
		return d, d.errorf(t, "lists and mappings nest deeper than %d", maxDepth)
	}
	file, err := parser.Parse(tokens, 0)
	if syntax := yaml.Error(nil); errors.As(err, &syntax) {
		return d, d.errorf(syntax.GetToken(), "%s", syntax.GetMessage())
	} else if err != nil {
		return d, d.errorf(nil, "the file is not YAML")
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		root, ok := doc.Body.(*ast.MappingNode)
		if !ok {
			return d, d.errorf(doc.Body.GetToken(), "%s is not a mapping of keys to values", describe(doc.Body))
		}
		if len(d.root.Values) > 0 {
			return d, d.errorf(nodeStart(root), "the file contains more than one document")
		}
		d.root = root
	}
	return d, d.refuseMore()
}

// refuseMore refuses all that is more than plain keys and values. Aliases could make a file large.
func (d document) refuseMore() error {
	var found problems
	for _, t := range []ast.NodeType{ast.MergeKeyType, ast.MappingKeyType, ast.AnchorType, ast.AliasType, ast.TagType, ast.InfinityType, ast.NanType} {
		for _, node := range ast.Filter(t, d.root) {
			found.add(d.at(node.GetToken()), "", fmt.Errorf("%s is not supported", describe(node)))
		}
	}
	return found.err()
}

// tooDeep returns the token that opens a list or mapping too deep inside of others: in brackets, or with dashes in a row.
func tooDeep(tokens token.Tokens) *token.Token {
	depth, dashes, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType:
			if t.Position.Line != line {
				dashes, line = 0, t.Position.Line
			}
			dashes++
		}
		if depth > maxDepth || dashes > maxDepth {
			return t
		}
	}
	return nil
}

// errorf returns an error at a token, or in the whole file if t is nil.
func (d document) errorf(t *token.Token, format string, args ...any) error {
	return &Error{d.at(t), "", fmt.Errorf(format, args...)}
}

// at returns the place of a token.
func (d document) at(t *token.Token) Origin {
	if t == nil || t.Position == nil {
		return Origin{Source: d.path}
	}
	return Origin{Source: d.path, Line: t.Position.Line, Column: t.Position.Column}
}

// nodeStart returns the first token of a node, which for a block mapping is not its own.
func nodeStart(node ast.Node) *token.Token {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

func keyName(entry *ast.MappingValueNode) string { return entry.Key.GetToken().Value }

func isText(node ast.Node) bool {
	return node.Type() == ast.StringType || node.Type() == ast.LiteralType
}

func nodeText(node ast.Node) string {
	if literal, ok := node.(*ast.LiteralNode); ok {
		node = literal.Value
	}
	return node.GetToken().Value
}

// describe returns what a node is, with the value of a scalar.
func describe(node ast.Node) string {
	switch node.Type() {
	case ast.StringType, ast.LiteralType:
		return "string " + quote(nodeText(node))
	case ast.IntegerType, ast.FloatType:
		return "number " + shorten(nodeText(node))
	case ast.BoolType:
		return "boolean " + nodeText(node)
	case ast.NullType:
		return "an empty value"
	case ast.SequenceType:
		return "a list"
	}
	return "a YAML " + node.Type().YAMLName()
}

// maxShown is how many characters of a wrong value an error repeats.
const maxShown = 60

func quote(s string) string { return strconv.Quote(shorten(s)) }

func shorten(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}
