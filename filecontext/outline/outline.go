// Package outline reads the outline of a source file: its imports, its definitions with their lines, and the names that
// it may use from other files. Go is parsed by go/parser, Markdown by a scan of its headings, and the other languages by
// tree-sitter, compiled to one WebAssembly module that can access nothing but the text.
//
// The outline of a text with syntax errors has the parts that could be read. Equal texts have equal outlines. The package
// opens no file of a workspace, and every text, time, memory and result has a limit.
package outline

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// The limits of one file.
const (
	MaxText      = 1 << 20 // bytes
	MaxSymbols   = 5_000
	MaxImports   = 1_000
	MaxUses      = 2_000
	MaxName      = 200 // bytes of a name, an import or a use
	MaxSignature = 240 // bytes
	maxNesting   = 200 // levels of nodes that are searched for definitions

	// DefaultTimeout limits parsing a file, in wall-clock time: a busy machine parses less.
	DefaultTimeout = 2 * time.Second
)

// Errors of Parse.
var (
	// ErrUnsupported reports that this system cannot run the parsers of languages other than Go and Markdown.
	ErrUnsupported = errors.New("outlines are unavailable: this system cannot execute compiled WebAssembly")
	// ErrLanguage reports a file in none of the languages.
	ErrLanguage = errors.New("no outlines for this kind of file")
	// ErrTooLarge reports a text of more than MaxText bytes.
	ErrTooLarge = fmt.Errorf("larger than the limit of %d bytes for outlines", MaxText)
	// ErrTime reports that parsing exceeded the time limit.
	ErrTime = errors.New("parsing exceeded the time limit")
	// ErrMemory reports that parsing exceeded the memory limit of 256 MiB.
	ErrMemory = errors.New("parsing exceeded the memory limit of 256 MiB")
	// ErrClosed reports a Parser that is closed.
	ErrClosed = errors.New("outline parser is closed")
)

// An Outline contains the definitions of a file, and names that it may use from others.
type Outline struct {
	Language string
	Imports  []Import // in the order of the text
	Symbols  []Symbol // in the order of the text, a symbol before those inside it
	// Uses are names that the file mentions and does not define, sorted: definitions of other files that it may use.
	Uses []string
	// Partial reports that the text has syntax errors, or exceeds a limit on the outline: something is missing.
	Partial bool
}

// An Import is a file, module, package or namespace that a file imports.
type Import struct {
	// Path is as the text has it, without quotes; a C header of the system keeps its angle brackets.
	Path string
	// Names are those imported from Path, if they can be modules themselves (Python's from).
	Names []string
	Line  int
}

// A Symbol is a definition, or a heading.
type Symbol struct {
	// Kind is one of class, const, enum, func, heading, impl, interface, macro, method, module, namespace, package,
	// property, record, struct, trait, type, union, var.
	Kind      string
	Name      string
	Signature string // one line: the definition without its body, its comments and its annotations
	Line      int    // first line, counted from 1
	EndLine   int    // last line
	Depth     int    // number of symbols around it; the level minus 1 for a heading
}

var languages = map[string]string{
	".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".c++": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
	".ipp": "cpp", ".tpp": "cpp", ".cppm": "cpp", ".ixx": "cpp",
	".h":  "cpp", // a C header is nearly always C++ too, a C++ header is not C
	".cs": "csharp", ".csx": "csharp",
	".go":   "go",
	".java": "java",
	".js":   "javascript", ".jsx": "javascript", ".mjs": "javascript", ".cjs": "javascript",
	".md": "markdown", ".markdown": "markdown", ".mdown": "markdown",
	".php": "php", ".phtml": "php",
	".py": "python", ".pyi": "python", ".pyw": "python",
	".rb": "ruby", ".rake": "ruby", ".gemspec": "ruby", ".ru": "ruby",
	".rs": "rust",
	".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
}

var namedFiles = map[string]string{"gemfile": "ruby", "rakefile": "ruby", "vagrantfile": "ruby", "guardfile": "ruby"}

// LanguageOf returns the language of a file by its name, or "" for one without outlines. It ignores case.
func LanguageOf(name string) string {
	name = strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if language := namedFiles[name]; language != "" {
		return language
	}
	return languages[path.Ext(name)]
}
