package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"strata/filecontext"
	"strata/filecontext/index"
	"strata/filecontext/outline"
	outlinetext "strata/filecontext/outline/text"
)

// Symbols has the outlines of the workspace.
type Symbols interface {
	// Outline returns the path and the outline of a file, nil if it has none. The error is a *filecontext.RefusedError, or that
	// of ctx.
	Outline(ctx context.Context, path string) (name string, o *outline.Outline, err error)
	// Find returns symbols and files, best first, and whether all files of the workspace were searched. The error is a sentence
	// for the model, or that of ctx.
	Find(ctx context.Context, query string, limit int) (hits []index.Hit, complete bool, err error)
}

type outlineInput struct {
	Path string `json:"path" need:"content"`
}

const outlineSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","description":"Path of a source file, relative to the workspace folder or absolute"}},` +
	`"required":["path"],"additionalProperties":false}`

// outlineOf returns the tool outline.
func outlineOf(symbols Symbols) Tool {
	return Tool{
		Definition: Definition{
			Name: "outline",
			Description: "Show the outline of a source file: its imports, and its definitions with their lines. It is much shorter than the " +
				"file; use it to decide which lines to read. At most 300 definitions.",
			Schema: json.RawMessage(outlineSchema),
		},
		Kind: KindSearch, ReadOnly: true,
		Describe: func(raw json.RawMessage) Description {
			in := decoded[outlineInput](raw)
			return Description{Title: "Outline of " + titlePath(in.Path), Locations: []Location{{Path: in.Path}}}
		},
		Run: with(func(ctx context.Context, in outlineInput, _ int) (Result, error) {
			name, o, err := symbols.Outline(ctx, in.Path)
			switch {
			case err != nil:
				return refused(ctx, in.Path, err)
			case o == nil:
				return Failed("%s has no outline; read the file instead", titlePath(name)), nil
			}
			return text("%s", outlinetext.Block(outlinetext.File{Path: name, Outline: o}, outlinetext.Aliases{})), nil
		}),
	}
}

type findInput struct {
	Query string `json:"query" need:"content"`
}

const findSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"A name, a part of one, or a few words of what it does"}},` +
	`"required":["query"],"additionalProperties":false}`

// maxHits is the maximum number of hits of find_symbol.
const maxHits = 50

// findSymbol returns the tool find_symbol.
func findSymbol(symbols Symbols) Tool {
	return Tool{
		Definition: Definition{
			Name: "find_symbol",
			Description: "Find definitions (functions, types, methods, headings) and files of the workspace by name, with the file and line of each, " +
				"best first. At most 50. To find uses, or any other text, use search.",
			Schema: json.RawMessage(findSchema),
		},
		Kind: KindSearch, ReadOnly: true,
		Describe: func(raw json.RawMessage) Description {
			return Description{Title: "Find " + titlePath(decoded[findInput](raw).Query)}
		},
		Run: with(func(ctx context.Context, in findInput, _ int) (Result, error) {
			hits, complete, err := symbols.Find(ctx, in.Query, maxHits)
			switch {
			case ctx.Err() != nil:
				return Result{}, ctx.Err()
			case err != nil:
				return Failed("find_symbol cannot search: %v", err), nil
			}
			return text("%s", found(in.Query, hits[:min(len(hits), maxHits)], complete)), nil
		}),
	}
}

// found returns hits as text, one a line.
func found(query string, hits []index.Hit, complete bool) string {
	var out strings.Builder
	if len(hits) == 0 {
		fmt.Fprintf(&out, "Nothing is named like %s.\n", titlePath(query))
	}
	for _, h := range hits {
		path := filecontext.Printable(h.Path)
		if h.Kind == index.KindFile {
			fmt.Fprintf(&out, "%s (file)\n", path)
		} else {
			fmt.Fprintf(&out, "%s:%d %s %s\n", path, h.Line, filecontext.Printable(h.Kind), titlePath(h.Name))
		}
	}
	if !complete {
		out.WriteString("[the workspace is still being indexed: there may be more]\n")
	}
	return out.String()
}
