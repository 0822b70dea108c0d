// Package text renders outlines for a model: for each file a block with its path, its imports, and its definitions with
// their lines. It also decides which files are rendered within a budget.
//
// All functions are pure: equal arguments give equal bytes, and the block of a file depends on no other file. Every line
// of a block but its first starts with a space, and no text from a file can start a line or contain a control character.
package text

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"strata/filecontext/outline"
)

// The limits of a block.
const (
	MaxLines   = 300 // lines of symbols; the innermost are omitted first
	maxImports = 20
	maxDepth   = 12 // levels of indentation
)

// A File is a file with an outline.
type File struct {
	Path    string
	Outline *outline.Outline // nil: the file has only a name
}

// Block renders a file: the path, imports and definitions. It is the same for equal files and aliases.
func Block(f File, a Aliases) string {
	var b strings.Builder
	b.WriteString(a.shorten(quoted(f.Path)))
	o := f.Outline
	if o == nil {
		b.WriteByte('\n')
		return b.String()
	}
	if o.Language != outline.LanguageOf(f.Path) {
		b.WriteString(" (" + line(o.Language) + ")")
	}
	if o.Partial {
		b.WriteString(" (incomplete)")
	}
	b.WriteByte('\n')
	if imports := importsOf(f, a); imports != "" {
		b.WriteString(imports + "\n")
	}
	writeSymbols(&b, f)
	return b.String()
}

// importsOf returns the line of imports, or "".
func importsOf(f File, a Aliases) string {
	names := importNames(f)
	omitted := len(names) - maxImports
	names = names[:min(len(names), maxImports)]
	for i := range names {
		names[i] = a.shorten(names[i])
	}
	if omitted > 0 {
		names = append(names, fmt.Sprintf("+%d", omitted))
	}
	if len(names) == 0 {
		return ""
	}
	return " imports " + strings.Join(names, ", ")
}

// importNames returns the imports of a file, sorted.
func importNames(f File) []string {
	var names []string
	for _, i := range f.Outline.Imports {
		for _, n := range imported(i) {
			if n = line(n); n != "" {
				names = append(names, quoteAlias(n))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// imported returns an import with the names that Python imports from a folder.
func imported(i outline.Import) []string {
	if strings.Trim(i.Path, ".") != "" || len(i.Names) == 0 || i.Path == "" {
		return []string{i.Path}
	}
	names := make([]string, len(i.Names))
	for k, n := range i.Names {
		names[k] = i.Path + n
	}
	return names
}

// writeSymbols writes a line for each definition, indented by its depth.
func writeSymbols(b *strings.Builder, f File) {
	symbols := f.Outline.Symbols
	shown := deepest(symbols)
	count, previous := 0, ""
	omitted := 0
	for i := range symbols {
		y := &symbols[i]
		if isImplied(f.Path, y) {
			continue
		}
		if y.Depth > shown || count == MaxLines {
			omitted++
			continue
		}
		text := symbolLine(f.Outline.Language, y)
		if text == previous { // several names in one definition
			continue
		}
		previous = text
		b.WriteString(text)
		count++
	}
	if omitted > 0 {
		fmt.Fprintf(b, " +%d definitions\n", omitted)
	}
}

// deepest returns the greatest depth up to which the symbols are at most MaxLines, at least 0.
func deepest(symbols []outline.Symbol) int {
	var counts [maxDepth + 1]int
	for i := range symbols {
		counts[min(max(symbols[i].Depth, 0), maxDepth)]++
	}
	sum := counts[0]
	for depth := 1; depth <= maxDepth; depth++ {
		if sum += counts[depth]; sum > MaxLines {
			return depth - 1
		}
	}
	return 1 << 30
}

// isImplied reports a package that the path of its file tells.
func isImplied(p string, y *outline.Symbol) bool {
	if y.Kind != "package" {
		return false
	}
	folder, pkg := "/"+path.Dir(p), strings.ReplaceAll(y.Name, ".", "/")
	return strings.HasSuffix(folder, "/"+pkg) || strings.HasSuffix(p, "_test.go") && strings.HasSuffix(folder, "/"+strings.TrimSuffix(pkg, "_test"))
}

func symbolLine(language string, y *outline.Symbol) string {
	depth := min(max(y.Depth, 0), maxDepth)
	if language == "markdown" {
		depth = 0 // the signs of a heading tell its level
	}
	signature, name := line(y.Signature), line(y.Name)
	if !strings.Contains(signature, lastPart(name)) {
		signature = strings.TrimSpace(line(y.Kind) + " " + name + " " + signature)
	}
	if language == "go" && depth == 0 {
		signature = withKeyword(y.Kind, signature)
	}
	return fmt.Sprintf("%s%d %s\n", strings.Repeat(" ", depth+1), y.Line, signature)
}

// withKeyword returns the signature of a Go declaration with its keyword, which those in a group do not have.
func withKeyword(kind, signature string) string {
	keyword := ""
	switch kind {
	case "const", "var":
		keyword = kind + " "
	case "struct", "interface", "type":
		keyword = "type "
	}
	if strings.HasPrefix(signature, keyword) {
		return signature
	}
	return keyword + signature
}

// lastPart returns a name without the type or namespace before it.
func lastPart(name string) string {
	if i := strings.LastIndexAny(name, `.:\`); i >= 0 {
		return name[i+1:]
	}
	return name
}

// line returns a text on one line without control characters and others that hide or reorder text.
func line(text string) string {
	if !strings.ContainsFunc(text, isUnsafe) {
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || isUnsafe(c) }), " ")
}

func isUnsafe(c rune) bool { return !unicode.IsPrint(c) || c == unicode.ReplacementChar }

// quoted returns a path, in quotes if it could be taken for something else.
func quoted(p string) string {
	if p == "" || strings.ContainsFunc(p, isUnsafe) || strings.HasSuffix(p, " ") || strings.Contains(p, " (") || strings.ContainsAny(p[:1], " \"(+") {
		return strconv.Quote(p)
	}
	return quoteAlias(p)
}

// quoteAlias returns a text, in quotes if it starts like an alias.
func quoteAlias(text string) string {
	if len(text) > 2 && text[0] == '@' && '0' <= text[1] && text[1] <= '9' && text[2] == '/' {
		return strconv.Quote(text)
	}
	return text
}
