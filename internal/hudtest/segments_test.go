package hudtest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

// bundle compiles a module of the HUD to a script that assigns its exports to the variable module.
func bundle(t *testing.T, path string) string {
	t.Helper()
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{path}, Bundle: true, Format: api.FormatIIFE, GlobalName: "module", LogLevel: api.LogLevelSilent,
		Alias: map[string]string{"@preact/signals": "./testdata/signals.js"},
	})
	if len(result.Errors) > 0 || len(result.OutputFiles) != 1 {
		t.Fatalf("bundle %s: %v", path, result.Errors)
	}
	return string(result.OutputFiles[0].Contents) + "; window.module = module; 1"
}

// splitInto returns the segments of a text received in the given parts, each as its kind, a colon, and its text.
func splitInto(p *Page, parts []string) []string {
	p.t.Helper()
	return Eval[[]string](p, `(() => {
		const splitter = new module.Splitter();
		for (const part of `+jsonOf(parts)+`) { splitter.add(part); splitter.tail(); }
		splitter.finish();
		const tail = splitter.tail();
		return (tail ? [...splitter.done, tail] : splitter.done).map((p) => p.kind + (p.continued ? "+" : "") + ":" + p.text.trimEnd());
	})()`)
}

func TestTextIsDividedAtItsBlocks(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[int](p, bundle(t, "../../web/hud/src/text/segments.ts"))
	tests := map[string]struct {
		text string
		want []string
	}{
		"paragraphs":             {"One\nline\n\n\nTwo", []string{"markdown:One\nline", "markdown:Two"}},
		"nothing":                {" \n\n ", nil},
		"code":                   {"Before\n```go\na()\n\nb()\n```\nAfter", []string{"markdown:Before", "code:a()\n\nb()", "markdown:After"}},
		"code that is open":      {"```\na", []string{"code:a"}},
		"empty code":             {"```\n```", []string{"code:"}},
		"fences in longer ones":  {"````\n```\na\n```\n````\nb", []string{"code:```\na\n```", "markdown:b"}},
		"tildes":                 {"~~~\n```\n~~~", []string{"code:```"}},
		"a list with gaps":       {"1. one\n\n2. two\n\n   more\n\nEnd", []string{"markdown:1. one\n\n2. two\n\n   more", "markdown:End"}},
		"code in a list":         {"- a\n\n  ```\n  b\n\n  c\n  ```\n", []string{"markdown:- a\n\n  ```\n  b\n\n  c\n  ```"}},
		"a table":                {"| a |\n|---|\n| b |\n\nEnd", []string{"markdown:| a |\n|---|\n| b |", "markdown:End"}},
		"long code is cut":       {"```\n" + strings.Repeat("x\n", 121) + "```", []string{"code:" + strings.TrimSpace(strings.Repeat("x\n", 120)), "code+:x"}},
		"carriage returns":       {"One\r\n\r\nTwo", []string{"markdown:One", "markdown:Two"}},
		"long code ends at once": {"```\n" + strings.Repeat("x\n", 120) + "```\nEnd", []string{"code:" + strings.TrimSpace(strings.Repeat("x\n", 120)), "markdown:End"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			whole := splitInto(p, []string{tt.text})
			if strings.Join(whole, "|") != strings.Join(tt.want, "|") {
				t.Errorf("segments %q, want %q", whole, tt.want)
			}
		})
	}
}

// TestSegmentsDoNotDependOnHowTheTextArrives: a streamed text is shown like a stored one.
func TestSegmentsDoNotDependOnDeltas(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[int](p, bundle(t, "../../web/hud/src/text/segments.ts"))
	random := rand.New(rand.NewPCG(1, 2))
	lines := []string{"", "", "text", "- item", "  more", "```", "```go", "~~~", "1. one", "# head", "| a |", "x" + strings.Repeat("y", 400), " ```", "> said"}
	for range 150 {
		var text strings.Builder
		for range 1 + random.IntN(40) {
			text.WriteString(lines[random.IntN(len(lines))] + "\n")
		}
		whole := text.String()
		var parts []string
		for rest := whole; rest != ""; {
			n := min(1+random.IntN(12), len(rest))
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		if one, other := splitInto(p, []string{whole}), splitInto(p, parts); strings.Join(one, "|") != strings.Join(other, "|") {
			t.Fatalf("%q\nas a whole: %q\nin parts:   %q", whole, one, other)
		}
	}
}
