package outline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// patient is a time limit that a busy machine does not reach.
const patient = time.Hour

func TestLanguageOf(t *testing.T) {
	for name, want := range map[string]string{
		"main.go": "go", "a/b/README.MD": "markdown", `src\App.tsx`: "tsx", "x.d.ts": "typescript", "x.mjs": "javascript",
		"lib/Rakefile": "ruby", "stack.h": "cpp", "x.c": "c", "x.cs": "csharp", "types.pyi": "python",
		"": "", "go": "", ".go": "go", "x.txt": "", "x.": "", "dir.go/": "go", "Makefile": "",
	} {
		if got := LanguageOf(name); got != want {
			t.Errorf("LanguageOf(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestFilesWithoutOutlines(t *testing.T) {
	p := newParser(t, Options{})
	if _, err := p.Parse(t.Context(), "x.txt", "text"); !errors.Is(err, ErrLanguage) {
		t.Errorf("text file: error %v, want %v", err, ErrLanguage)
	}
	for _, name := range []string{"x.go", "x.md", "x.py"} {
		if _, err := p.Parse(t.Context(), name, strings.Repeat("\n", MaxText+1)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s larger than the limit: error %v, want %v", name, err, ErrTooLarge)
		}
	}
	if p.module != nil {
		t.Error("the parsers were loaded for nothing")
	}
}

// wellFormed reports what breaks the promises that an outline makes for any text.
func wellFormed(o *Outline, text string) error {
	lines := strings.Count(text, "\n") + 1
	if len(o.Symbols) > MaxSymbols || len(o.Imports) > MaxImports || len(o.Uses) > MaxUses {
		return fmt.Errorf("%d symbols, %d imports, %d uses", len(o.Symbols), len(o.Imports), len(o.Uses))
	}
	last := 1
	for _, s := range o.Symbols {
		if s.Line < last || s.EndLine < s.Line || s.EndLine > lines || s.Depth < 0 || s.Kind == "" || s.Name == "" {
			return fmt.Errorf("symbol %+v after line %d of %d", s, last, lines)
		}
		last = s.Line
		if err := errors.Join(printable(s.Name, MaxName), printable(s.Signature, MaxSignature)); err != nil {
			return fmt.Errorf("symbol %+v: %w", s, err)
		}
	}
	last = 1
	for _, i := range o.Imports {
		if i.Line < last || i.Line > lines || i.Path == "" {
			return fmt.Errorf("import %+v after line %d of %d", i, last, lines)
		}
		last = i.Line
		for _, name := range append(i.Names, i.Path) {
			if err := printable(name, MaxName); err != nil {
				return fmt.Errorf("import %+v: %w", i, err)
			}
		}
	}
	for i, use := range o.Uses {
		if i > 0 && o.Uses[i-1] >= use {
			return fmt.Errorf("uses %q after %q", use, o.Uses[i-1])
		}
		if err := printable(use, MaxName); err != nil {
			return err
		}
	}
	return nil
}

func printable(s string, limit int) error {
	if len(s) > limit || !utf8.ValidString(s) || strings.ContainsFunc(s, unprintable) {
		return fmt.Errorf("%q is not a printable line of %d bytes", s, limit)
	}
	return nil
}

// examples returns a file name for each language.
func examples() map[string]string {
	names := make(map[string]string)
	for extension, language := range languages {
		if old := names[language]; old == "" || extension < old[1:] {
			names[language] = "x" + extension
		}
	}
	return names
}

// hostile returns texts of about a size that are made to break parsers.
func hostile(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"NULs":               fill("\x00"),
		"invalid UTF-8":      fill("\xff\xc0\x80\xed\xa0\x80"),
		"carriage returns":   fill("def f\r"),
		"parentheses":        fill("("),
		"closing":            fill(")}]"),
		"selectors":          fill("a.a."),
		"nested blocks":      fill("{[("),
		"nested classes":     fill("class A{"),
		"nested namespaces":  fill("namespace a{"),
		"nested modules":     fill("mod a{ "),
		"nested Ruby":        fill("class A\n"),
		"indented":           nestedPython(size),
		"generics":           fill("A<"),
		"unary":              fill("!"),
		"strings":            fill(`"`),
		"templates":          fill("`${"),
		"markup":             fill("<a>"),
		"heredocs":           fill("<<A\n"),
		"open comment":       "/*" + fill("*"),
		"fences":             fill("```\n"),
		"underlined":         fill("a\n-\n"),
		"one name":           fill("a"),
		"one line of spaces": fill(" "),
		"else if":            fill("else if(a)"),
		"long signature":     "def f(" + fill("a,") + "\nfunc f(" + fill("a,"),
		"errors in parts":    fill("class A {\n f(\n\n"),
		"declarators":        "int " + fill("a,") + "a;",
	}
}

func nestedPython(size int) string {
	var s strings.Builder
	for indent := 0; s.Len() < size && indent < 2000; indent++ {
		fmt.Fprintf(&s, "%sclass A:\n", strings.Repeat(" ", indent))
	}
	return s.String()
}

// A hostile text has an outline or is over a limit; the next text is not affected.
func TestHostileTexts(t *testing.T) {
	p := newParser(t, Options{Timeout: patient})
	for language, name := range examples() {
		for kind, text := range hostile(512) {
			o, err := p.Parse(t.Context(), name, text)
			if err != nil {
				t.Errorf("%s, %s: %v", language, kind, err)
			} else if err := wellFormed(o, text); err != nil {
				t.Errorf("%s, %s: %v", language, kind, err)
			}
		}
	}
}

// Parsing 1 MiB of parentheses takes seconds, so it is interrupted; other texts may or may not be.
func TestHostileTextsOfFullSize(t *testing.T) {
	p := newParser(t, Options{Timeout: 100 * time.Millisecond})
	texts := hostile(MaxText - 1000)
	interrupted := 0
	for language, name := range examples() {
		for _, kind := range []string{"parentheses", "selectors", "NULs"} {
			o, err := p.Parse(t.Context(), name, texts[kind])
			switch {
			case err == nil:
				err = wellFormed(o, texts[kind])
			case errors.Is(err, ErrTime):
				interrupted++
				continue
			case errors.Is(err, ErrMemory):
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", language, kind, err)
			}
		}
	}
	if interrupted == 0 {
		t.Error("no parse was interrupted")
	}
}

func TestLimitsOfAnOutline(t *testing.T) {
	p := newParser(t, Options{Timeout: patient})
	var text strings.Builder
	count := func(n int, format string) {
		for i := range n {
			fmt.Fprintf(&text, format+"\n", i)
		}
	}
	count(MaxImports+1, "import m%d")
	count(MaxSymbols+1, "def f%d(): pass")
	count(MaxUses+1, "use_%d()")
	fmt.Fprintf(&text, "import %s\n", strings.Repeat("x", 2*MaxName))
	o, err := p.Parse(t.Context(), "x.py", text.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Imports) != MaxImports || len(o.Symbols) != MaxSymbols || len(o.Uses) > MaxUses || len(o.Uses) < MaxUses/2 || !o.Partial {
		t.Errorf("%d imports, %d symbols, %d uses, partial %v", len(o.Imports), len(o.Symbols), len(o.Uses), o.Partial)
	}

	long := "def " + strings.Repeat("f", 2*MaxName) + "(" + strings.Repeat("größe, ", MaxSignature) + "): pass\n"
	o, err = p.Parse(t.Context(), "x.py", long)
	if err != nil {
		t.Fatal(err)
	}
	if err := wellFormed(o, long); err != nil || len(o.Symbols) != 1 || !strings.HasSuffix(o.Symbols[0].Signature, "…") {
		t.Errorf("%v, %+v", err, o.Symbols)
	}
	if o.Partial {
		t.Error("a long name makes an outline partial")
	}
}

func TestTimeLimit(t *testing.T) {
	p := newParser(t, Options{})
	p.timeout = -1 // over before it starts
	if _, err := p.Parse(t.Context(), "x.py", "pass"); !errors.Is(err, ErrTime) {
		t.Errorf("error %v, want %v", err, ErrTime)
	}
	if n := len(p.module.idle); n != 0 {
		t.Errorf("%d interrupted instances are kept", n)
	}
	p.timeout = patient
	if _, err := p.Parse(t.Context(), "x.py", "pass"); err != nil {
		t.Errorf("after an interrupted parse: %v", err)
	}
	if n := len(p.module.idle); n != 1 {
		t.Errorf("%d instances are kept, want 1", n)
	}
}

func TestCancelledContext(t *testing.T) {
	p := newParser(t, Options{})
	reason := errors.New("no longer needed")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	for _, name := range []string{"x.go", "x.py"} {
		if _, err := p.Parse(ctx, name, ""); !errors.Is(err, reason) {
			t.Errorf("%s: error %v, want %v", name, err, reason)
		}
	}
}

func TestEqualTextsHaveEqualOutlines(t *testing.T) {
	p := newParser(t, Options{Timeout: patient, Parallel: 1})
	other := newParser(t, Options{Timeout: patient, Parallel: 1})
	paths := sources(t)
	first := make(map[string]string)
	for _, path := range paths {
		o, err := p.Parse(t.Context(), named(path), read(t, path))
		if err != nil {
			t.Fatal(err)
		}
		first[path] = render(o)
	}
	slices.Reverse(paths) // what an instance parsed before has no influence
	for _, path := range paths {
		for _, p := range []*Parser{p, other} {
			o, err := p.Parse(t.Context(), named(path), read(t, path))
			if err != nil {
				t.Fatal(err)
			}
			if got := render(o); got != first[path] {
				t.Errorf("%s: got\n%s\nfirst\n%s", path, got, first[path])
			}
		}
	}
}
