package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFileBytes bounds a configuration file. The parser takes a second for the worst text of this size.
const maxFileBytes = 64 << 10

// maxDepth bounds how deep lists and mappings in one line may nest: the parser's time grows with its cube.
const maxDepth = 32

// document is a YAML file that holds one mapping.
type document struct {
	path string
	root *ast.MappingNode // nil in an empty file
}

// readDocument reads a whole file of at most maxFileBytes and parses it. The file is shown as path in errors.
func readDocument(path string, r io.Reader) (document, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return document{}, fmt.Errorf("read %s: %w", path, err)
	}
	return parseDocument(path, data)
}

func openDocument(path string) (document, error) {
	f, err := os.Open(path)
	if err != nil {
		return document{}, err
	}
	defer f.Close()
	return readDocument(path, f)
}

func parseDocument(path string, data []byte) (document, error) {
	d := document{path: path}
	if len(data) > maxFileBytes {
		return d, &Error{Origin{Source: path}, "", fmt.Errorf("the file is larger than %d bytes", maxFileBytes)}
	}
	if !utf8.Valid(data) {
		return d, &Error{Origin{Source: path}, "", errors.New("the file is not UTF-8 text")}
	}
	tokens := lexer.Tokenize(string(bytes.TrimPrefix(data, []byte("\ufeff"))))
	if t := tooDeep(tokens); t != nil {
		return d, &Error{d.at(t), "", fmt.Errorf("lists and mappings nest deeper than %d", maxDepth)}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return d, d.syntaxError(err)
	}
	return d, d.takeRoot(file)
}

func (d *document) takeRoot(file *ast.File) error {
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		root, ok := doc.Body.(*ast.MappingNode)
		switch {
		case !ok:
			return &Error{d.at(doc.Body.GetToken()), "", wrongType(doc.Body, "a mapping of keys to values")}
		case d.root != nil:
			return &Error{d.at(nodeStart(root)), "", errors.New("the file holds more than one document")}
		}
		d.root = root
	}
	return nil
}

// tooDeep gives the token that opens a list or mapping too deep inside of others: in brackets, or with dashes in a row.
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

func (d document) syntaxError(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return &Error{d.at(at.GetToken()), "", errors.New(at.GetMessage())}
	}
	return &Error{Origin{Source: d.path}, "", errors.New("the file is not YAML")}
}

// at gives a token's place in the file.
func (d document) at(t *token.Token) Origin {
	if t == nil || t.Position == nil {
		return Origin{Source: d.path}
	}
	return Origin{Source: d.path, Line: t.Position.Line, Column: t.Position.Column}
}

// entryName gives the name under which a mapping holds an entry.
func entryName(entry *ast.MappingValueNode) (string, error) {
	name, ok := entry.Key.(*ast.StringNode)
	if !ok {
		return "", errors.New("only plain names can be keys")
	}
	return name.Value, nil
}

func nodeStart(node ast.Node) *token.Token {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

func isType(types ...ast.NodeType) func(ast.Node) bool {
	return func(n ast.Node) bool { return slices.Contains(types, n.Type()) }
}

var isText = isType(ast.StringType, ast.LiteralType)

func nodeText(node ast.Node) string {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return node.GetToken().Value
}

// wrongType says what a node is and what it should be.
func wrongType(node ast.Node, wants string) error {
	return fmt.Errorf("%s is not %s", describe(node), wants)
}

func describe(node ast.Node) string {
	switch node.Type() {
	case ast.NullType:
		return "an empty value"
	case ast.BoolType:
		return "the boolean " + node.GetToken().Value
	case ast.IntegerType, ast.FloatType, ast.InfinityType, ast.NanType:
		return "the number " + node.GetToken().Value
	case ast.StringType, ast.LiteralType:
		return "the text " + quote(strings.TrimSpace(nodeText(node)))
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		return "an anchor or alias"
	case ast.TagType:
		return "a tagged value"
	}
	return "this"
}
