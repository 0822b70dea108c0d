package outline

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"sort"
	"strings"
	"sync"
)

// outlineGo reads a Go file. After a syntax error, go/parser can lose all that follows, so each declaration that
// starts at the beginning of a line is then parsed separately.
func outlineGo(b *builder) (err error) {
	defer func() { // a panic of the parser must not end the server
		if failure := recover(); failure != nil {
			err = fmt.Errorf("go/parser failed: %v", failure)
		}
	}()
	g := &goFile{builder: b, set: token.NewFileSet(), packages: make(map[string]bool)}
	file, err := parser.ParseFile(g.set, "", b.text, parser.ParseComments)
	if err == nil {
		g.add(file, 0, true)
		return nil
	}
	b.out.Partial = true
	starts := goDeclarations(b.text)
	starts = starts[:min(len(starts), MaxSymbols)]
	for i, start := range starts {
		end := len(b.text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		clause := "package p;"
		if strings.HasPrefix(b.text[start:], "package") {
			clause = ""
		}
		file, _ := parser.ParseFile(g.set, "", clause+b.text[start:end], parser.ParseComments)
		if file != nil {
			g.add(file, start-len(clause), clause == "")
		}
	}
	return nil
}

// goDeclarations returns the offsets of keywords of declarations at the beginning of a line, outside of strings and
// comments.
func goDeclarations(text string) []int {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, 0)
	var starts []int
	for {
		pos, tok, _ := s.Scan()
		switch tok {
		case token.EOF:
			return starts
		case token.PACKAGE, token.IMPORT, token.CONST, token.VAR, token.TYPE, token.FUNC:
			if offset := file.Offset(pos); offset == 0 || text[offset-1] == '\n' {
				starts = append(starts, offset)
			}
		}
	}
}

// A goFile adds the declarations of one or several parsed parts of a file.
type goFile struct {
	*builder
	set      *token.FileSet
	file     *token.File
	shift    int // offset in the text minus offset in the parsed part
	comments []*ast.CommentGroup
	packages map[string]bool
}

// add adds a parsed part; its package clause counts only if it is from the text.
func (g *goFile) add(file *ast.File, shift int, clause bool) {
	g.file, g.shift, g.comments = g.set.File(file.FileStart), shift, file.Comments
	if clause {
		g.symbol("package", file.Name.Name, file.Package, file.Name.End(), file.Name.End(), 0)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			g.general(d)
		}
	}
	g.addUses(file)
}

// offset returns where a position is in the text, at most its end. It is negative in an added package clause.
func (g *goFile) offset(pos token.Pos) int {
	if !pos.IsValid() {
		return g.shift
	}
	base := token.Pos(g.file.Base())
	return min(min(max(int(pos-base), 0), g.file.Size())+g.shift, len(g.text))
}

// symbol adds a symbol from one position to another, with a signature that ends earlier.
func (g *goFile) symbol(kind, name string, from, body, to token.Pos, depth int) {
	start, end := g.offset(from), g.offset(to)
	if start < 0 || name == "_" {
		return
	}
	g.builder.add(kind, name, g.signature(start, g.offset(body)), start, end, depth)
}

// signature returns the text between two offsets without comments.
func (g *goFile) signature(start, end int) string {
	end = min(max(end, start), start+8*MaxSignature)
	var text strings.Builder
	first := sort.Search(len(g.comments), func(i int) bool { return g.offset(g.comments[i].Pos()) >= start })
	for _, c := range g.comments[first:] {
		from, to := g.offset(c.Pos()), g.offset(c.End())
		if to > end {
			break
		}
		text.WriteString(g.text[start:from] + " ")
		start = to
	}
	text.WriteString(g.text[start:end])
	return trimSignature(text.String())
}

func (g *goFile) function(d *ast.FuncDecl) {
	kind, name, body := "func", d.Name.Name, d.End()
	if d.Body != nil {
		body = d.Body.Pos()
	} else if start := g.offset(d.Pos()); g.out.Partial && start >= 0 { // the parser lost it
		line, _, _ := strings.Cut(g.text[start:], "\n")
		body = d.Pos() + token.Pos(len(line))
	}
	if d.Recv != nil && len(d.Recv.List) > 0 {
		kind = "method"
		if of := goReceiver(d.Recv.List[0].Type); of != "" {
			name = of + "." + name
		}
	}
	g.symbol(kind, name, d.Pos(), body, d.End(), 0)
}

// goReceiver returns the name of a method's type.
func goReceiver(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func (g *goFile) general(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		start := spec.Pos()
		if !d.Lparen.IsValid() {
			start = d.Pos() // with the keyword
		}
		switch s := spec.(type) {
		case *ast.ImportSpec:
			g.addImport(unquoted(s.Path.Value), g.offset(s.Pos()))
		case *ast.TypeSpec:
			g.typeOf(s, start)
		case *ast.ValueSpec:
			g.values(d.Tok.String(), s, start)
		}
	}
}

// typeOf adds a type; the methods of an interface are inside it.
func (g *goFile) typeOf(s *ast.TypeSpec, start token.Pos) {
	kind, body := "type", s.End()
	switch t := s.Type.(type) {
	case *ast.StructType:
		kind = "struct"
		if t.Fields != nil && t.Fields.Opening.IsValid() {
			body = t.Fields.Opening
		}
	case *ast.InterfaceType:
		kind = "interface"
		if t.Methods != nil && t.Methods.Opening.IsValid() {
			body = t.Methods.Opening
		}
	}
	g.symbol(kind, s.Name.Name, start, body, s.End(), 0)
	t, ok := s.Type.(*ast.InterfaceType)
	if !ok || t.Methods == nil {
		return
	}
	for _, method := range t.Methods.List {
		if _, ok := method.Type.(*ast.FuncType); ok {
			for _, name := range method.Names {
				g.symbol("method", name.Name, method.Pos(), method.End(), method.End(), 1)
			}
		}
	}
}

// values adds constants or variables. The signature omits long values.
func (g *goFile) values(kind string, s *ast.ValueSpec, start token.Pos) {
	body := s.End()
	if len(s.Values) > 0 {
		from, to := g.offset(s.Values[0].Pos()), g.offset(s.End())
		if from >= 0 && from <= to && (to-from > 60 || strings.ContainsAny(g.text[from:to], "\r\n")) {
			body = s.Values[0].Pos()
		}
	}
	for _, name := range s.Names {
		g.symbol(kind, name.Name, start, body, s.End(), 0)
	}
}

// addUses notes the names that the file does not resolve itself, and the names selected from values and packages.
func (g *goFile) addUses(file *ast.File) {
	for _, d := range file.Imports {
		g.packages[importedAs(d)] = true
	}
	for _, name := range file.Unresolved {
		if !predeclared()[name.Name] && !g.packages[name.Name] {
			g.use(name.Name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			g.use(s.Sel.Name)
		}
		return true
	})
}

// importedAs returns the name under which a file mentions a package.
func importedAs(s *ast.ImportSpec) string {
	if s.Name != nil {
		return s.Name.Name
	}
	path := unquoted(s.Path.Value)
	return path[strings.LastIndexByte(path, '/')+1:]
}

// predeclared has the names of the language.
var predeclared = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, name := range strings.Fields(`any append bool byte cap clear close comparable complex complex128 complex64 copy
		delete error false float32 float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print println
		real recover rune string true uint uint16 uint32 uint64 uint8 uintptr`) {
		names[name] = true
	}
	return names
})
