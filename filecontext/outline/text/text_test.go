package text

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext/outline"
	"strata/internal/leak"
	"strata/tokens"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { leak.Main(m) }

func parse(t testing.TB, parser *outline.Parser, name, path string) File {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := parser.Parse(t.Context(), name, string(content))
	if err != nil {
		t.Fatal(err)
	}
	return File{name, o}
}

func newParser(t testing.TB) *outline.Parser {
	parser := outline.New(outline.Options{CacheDir: t.TempDir(), Timeout: time.Hour})
	t.Cleanup(parser.Close)
	return parser
}

func TestBlocksOfTestdata(t *testing.T) {
	parser := newParser(t)
	for _, language := range []string{"c", "go", "java", "markdown", "python", "typescript"} {
		sources, err := filepath.Glob("../testdata/" + language + "/*[^n]") // not the golden files
		if err != nil || len(sources) < 2 {
			t.Fatalf("%d files in %s, error %v", len(sources), language, err)
		}
		var got strings.Builder
		for _, s := range sources {
			name := language + "/" + strings.TrimSuffix(filepath.Base(s), ".src")
			got.WriteString(Block(parse(t, parser, name, s), Aliases{}))
		}
		golden := "testdata/" + language + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got.String()); d != "" {
			t.Errorf("%s (-want +got) %s", language, d)
		}
	}
}

// class returns an outline with a class that has a number of methods.
func class(path string, methods int, imports ...string) File {
	o := &outline.Outline{Language: outline.LanguageOf(path)}
	for i, p := range imports {
		o.Imports = append(o.Imports, outline.Import{Path: p, Line: i + 1})
	}
	o.Symbols = append(o.Symbols, outline.Symbol{Kind: "class", Name: "Order", Signature: "class Order", Line: 10})
	for i := range methods {
		n := fmt.Sprintf("find%d", i)
		o.Symbols = append(o.Symbols, outline.Symbol{Kind: "method", Name: n, Signature: n + "(id: string): Order", Line: 11 + i, Depth: 1})
	}
	return File{path, o}
}

func TestLargeBlocks(t *testing.T) {
	many := class("a.ts", 0)
	for i := range MaxLines {
		many.Outline.Symbols = append(many.Outline.Symbols, outline.Symbol{Name: "x", Signature: fmt.Sprint("x", i)})
	}
	for i := range 3 * maxImports {
		many.Outline.Imports = append(many.Outline.Imports, outline.Import{Path: fmt.Sprintf("m%02d", i/2)})
	}
	tests := []struct {
		file  File
		lines int
		ends  string
	}{
		{class("a.ts", MaxLines-1), 1 + MaxLines, "find298(id: string): Order\n"},
		{class("a.ts", MaxLines), 3, " 10 class Order\n +300 definitions\n"},
		{many, 1 + 1 + MaxLines + 1, " +1 definitions\n"},
	}
	for _, test := range tests {
		got := Block(test.file, Aliases{})
		if n := strings.Count(got, "\n"); n != test.lines || !strings.HasSuffix(got, test.ends) {
			t.Errorf("%d lines, want %d, the end is %q", n, test.lines, got[max(0, len(got)-100):])
		}
	}
	if got := Block(many, Aliases{}); !strings.Contains(got, "m19, +10\n") {
		t.Error("imports beyond the limit are not counted", got[:300])
	}
}

// hostile are texts that no line of a block may have as they are.
var hostile = []string{"", " ", "a\nb.go", "\r\n x", "\x00", "\x1b[31m", "a\u202eb", "a\u2028b", "\u200b", "\xff", "@1/x", `"quoted"`, " lead", "trail ", "(x)", "+3", "a", "a (incomplete)", "tab\tx", "```\n", strings.Repeat("deep/", 3000), "größe/名前.go"}

func TestHostileTextsStayInTheirLine(t *testing.T) {
	check := func(block string, lines int) {
		t.Helper()
		if n := strings.Count(block, "\n"); n > lines || !strings.HasSuffix(block, "\n") {
			t.Errorf("%d lines, want at most %d: %q", n, lines, block)
		}
		for i, l := range strings.Split(strings.TrimSuffix(block, "\n"), "\n") {
			if i > 0 && !strings.HasPrefix(l, " ") || strings.ContainsFunc(l, func(c rune) bool { return !unicode.IsPrint(c) }) {
				t.Errorf("line %q", l)
			}
		}
	}
	seen := make(map[string]string)
	a := RestoreAliases([]string{"deep/deep/"})
	for _, h := range hostile {
		o := &outline.Outline{Language: h, Partial: true, Imports: []outline.Import{{Path: h, Names: []string{h}}, {Path: ".", Names: []string{h}}}}
		o.Symbols = []outline.Symbol{
			{Kind: h, Name: h, Signature: h, Line: -1}, {Kind: "func", Name: "f", Signature: h, Depth: 1 << 40}, {Kind: "package", Name: h, Depth: -5},
		}
		check(Block(File{h, o}, Aliases{}), 5)
		check(Block(File{h, nil}, Aliases{}), 1)
		check(Block(File{h, o}, a), 5)
		for _, partial := range []bool{false, true} {
			heading := Block(File{h, &outline.Outline{Language: outline.LanguageOf(h), Partial: partial}}, a)
			if other, twice := seen[heading]; twice {
				t.Errorf("%q and %q have the same heading", h, other)
			}
			seen[heading] = h
		}
	}
	if got := Block(File{"@1/x", nil}, a); got != "\"@1/x\"\n" {
		t.Errorf("a path like an alias is %q", got)
	}
}

// bytes counts the bytes of a text.
func bytes(text string) int { return len(text) }

var count = tokens.For(tokens.O200k).Count

// project returns files with long common prefixes.
func project(n int) []File {
	var files []File
	for i := range n {
		files = append(files, class(fmt.Sprintf("services/billing/src/main/java/org/example/billing/Order%02d.java", i), i%7,
			fmt.Sprintf("org.example.billing.persistence.Repository%d", i%5), "java.util.List"))
	}
	return files
}

func render(files []File, a Aliases) string {
	var b strings.Builder
	b.WriteString(a.Legend())
	for _, f := range files {
		b.WriteString(Block(f, a))
	}
	return b.String()
}

func TestAliasesSaveTokens(t *testing.T) {
	for n := range 40 {
		files := project(n)
		a := FindAliases(files, count, Aliases{})
		plain, short := count(render(files, Aliases{})), count(render(files, a))
		if len(a.prefixes) > 0 && short > plain-minSaving || len(a.prefixes) == 0 && short != plain {
			t.Errorf("%d files: %d tokens with aliases, %d without", n, short, plain)
		}
		if n == 2 && len(a.prefixes) > 0 || n == 39 && len(a.prefixes) == 0 {
			t.Errorf("%d files have the aliases %q", n, a.prefixes)
		}
	}
}

func TestAliasesAreReversible(t *testing.T) {
	files := project(20)
	a := FindAliases(files, count, Aliases{})
	long := render(files, Aliases{})
	short := strings.TrimPrefix(render(files, a), a.Legend())
	for i, p := range a.Prefixes() {
		name := fmt.Sprintf("@%d/", i+1)
		if !strings.Contains(a.Legend(), " "+name+" = "+p+"\n") {
			t.Errorf("the legend does not explain %s", name)
		}
		short = strings.ReplaceAll(short, name, p)
	}
	// Imports are sorted before they are shortened, so that nothing but the prefixes differs.
	if d := cmp.Diff(long, short); d != "" {
		t.Error(d)
	}
}

func TestAliasesChangeSeldom(t *testing.T) {
	files := project(20)
	a := FindAliases(files, count, Aliases{})
	web := func(n int) (more []File) {
		for i := range n {
			more = append(more, class(fmt.Sprintf("clients/web/packages/application/src/components/View%d.ts", i), 2))
		}
		return more
	}
	restored := RestoreAliases(a.Prefixes())
	if got := FindAliases(append(project(22)[1:], web(8)...), count, restored); cmp.Diff(got.prefixes, a.prefixes) != "" {
		t.Errorf("a few files change the aliases from %q to %q", a.prefixes, got.prefixes)
	}
	if got := FindAliases(append(project(20), web(200)...), count, restored); len(got.prefixes) <= len(a.prefixes) {
		t.Errorf("many files do not change the aliases %q", got.prefixes)
	}
	if got := FindAliases(web(30), count, restored); len(got.prefixes) != 1 || !strings.HasPrefix(got.prefixes[0], "clients/") {
		t.Errorf("aliases that save nothing are replaced by %q", got.prefixes)
	}
	if got := FindAliases(nil, count, restored); len(got.prefixes) != 0 {
		t.Errorf("no files have the aliases %q", got.prefixes)
	}
}

func TestRestoredAliasesAreChecked(t *testing.T) {
	for _, p := range []string{"", "a\nb/", "\xff/", strings.Repeat("x", maxPrefix+1)} {
		if a := RestoreAliases([]string{"fine/", p}); len(a.prefixes) > 0 {
			t.Errorf("%q is restored", p)
		}
	}
	if a := RestoreAliases(make([]string, 0, 1)); a.Legend() != "" {
		t.Error("no aliases have a legend")
	}
}
