package tools

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// matching returns the numbers of the lines that match.
func matching(t testing.TB, m *matcher, text string) (all []int) {
	t.Helper()
	must(t, m.each(t.Context(), text, func(line, start, end, at int) {
		if at < start || at > end || end > len(text) || strings.Contains(text[start:end], "\n") {
			t.Errorf("line %d is at %d to %d, the match at %d", line, start, end, at)
		}
		all = append(all, line)
	}))
	return all
}

func TestLinesThatMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		regex   bool
		text    string
		want    []int
	}{
		{"a", false, "a\nb\nba\n", []int{1, 3}},
		{"a", false, "", nil},
		{"a", false, "\n\n\na", []int{4}},
		{"a.c", false, "abc\na.c\n", []int{2}},
		{"(", false, "f(\n", []int{1}},
		{"a.c", true, "abc\na.c\na\nc\n", []int{1, 2}},
		{"^b$", true, "a\nb\nc", []int{2}},
		{"^$", true, "a\n\nb\n", []int{2}},
		{`\Ab\z`, true, "a\nb\nc", []int{2}},
		{"(?i)B", true, "a\nb\n", []int{2}},
		{`a[^x]*b`, true, "a\nb\nacb\n", []int{3}},
		{`a\s+b`, true, "a\nb\na b\n", []int{3}},
		{`(?s)a.*b`, true, "a\nb\na b\n", []int{3}},
		{`x*`, true, "a\n\nxx", []int{1, 2, 3}},
		{`(?-m)^b$`, true, "a\nb\n", []int{2}},
		{`\bword\b`, true, "words\nword\nmy word.\n", []int{2, 3}},
		{"ü+", true, "u\nüü\n", []int{2}},
	} {
		m, err := newMatcher(tt.pattern, tt.regex)
		must(t, err)
		if got := matching(t, m, tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s in %q: lines %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}

// The matcher finds the lines that the expression matches alone, whatever their length and number.
func TestRandomTextsMatchLineByLine(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	patterns := []string{`a`, `ab*c`, `^a`, `c$`, `^$`, `[^a]b`, `\Aa`, `a{3,200}b`, `(a|b)+$`, `\s`, `(?s)a.b`, `\bab\b`, `(?:a{50}|b{50}){3}`}
	for range 600 {
		var b strings.Builder
		for range random.IntN(30) {
			n := random.IntN(20)
			if random.IntN(20) == 0 {
				n = random.IntN(4000)
			}
			for range n {
				b.WriteByte("aaab bc"[random.IntN(7)])
			}
			b.WriteByte('\n')
		}
		text := strings.TrimSuffix(b.String(), "\n")
		pattern := patterns[random.IntN(len(patterns))]
		m, err := newMatcher(pattern, true)
		must(t, err)
		expression := regexp.MustCompile("(?m)" + pattern)
		var want []int
		for i, line := range strings.Split(text, "\n") {
			if expression.MatchString(line) && (text != "" && (i < strings.Count(text, "\n") || line != "")) {
				want = append(want, i+1)
			}
		}
		if got := matching(t, m, text); !slices.Equal(got, want) {
			t.Fatalf("%s: lines %v, want %v in %q", pattern, got, want, text)
		}
	}
}

func TestHostilePatternsAreExplained(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		regex   bool
		want    string
	}{
		{"", false, "pattern is empty"},
		{strings.Repeat("a", 2001), false, "pattern has 2001 bytes, the limit is 2000"},
		{"a\nb", false, "pattern contains a line break"},
		{`a\nb`, true, "pattern contains a line break"},
		{"(", true, "pattern is not a valid regular expression: missing closing ): \"(\"; the syntax is RE2; without regex"},
		{"a**", true, "invalid nested repetition operator: \"**\""},
		{`(?=a)`, true, "the syntax is RE2, which has no lookaround"},
		{`(a)\1`, true, "the syntax is RE2, which has no backreferences"},
		{`a{1001}`, true, "invalid repeat count"},
		{strings.Repeat(`a{1000}`, 11), true, "pattern is too large"},
		{`(((x{1,10}){1,10}){1,10})` + strings.Repeat(`[a-z]{1000}`, 20), true, "pattern is too large"},
		{strings.Repeat("(", 1500), true, "pattern is not a valid regular expression"},
		{strings.Repeat("(?:", 300) + "a" + strings.Repeat(")*", 300), true, ""},
		{"\xff", true, "invalid UTF-8"},
		{`(a+)+$`, true, ""},
		{`(a|a)*b`, true, ""},
		{`.*.*.*.*.*=.*`, true, ""},
	} {
		m, err := newMatcher(tt.pattern, tt.regex)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%.60q: %v, want %q", tt.pattern, err, tt.want)
		case err == nil:
			matching(t, m, strings.Repeat("a", 30_000)+"!\n")
		}
	}
}

// countdown is a context that ends after so many looks at it.
type countdown struct {
	context.Context
	left, looks int
}

func (c *countdown) Err() error {
	c.looks++
	if c.looks > c.left {
		return context.Canceled
	}
	return nil
}

// A search looks at its context after little work, however long the text, its lines and the pattern are, and ends with it.
func TestASearchLooksAtItsContextAfterLittleWork(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for _, tt := range []struct {
		name, pattern string
		regex         bool
		text          string
	}{
		{"a text in one line", "b", false, long},
		{"a text in many lines", "b", false, strings.Repeat("aaaaaaa\n", 1<<17)},
		{"an expression in one line", "(a+)+b", true, long},
		{"an expression in many lines", "(a+)+b", true, strings.Repeat("aaaaaaa\n", 1<<17)},
		{"a large expression in one line", "a{300}b", true, long[:1<<17]},
		{"a large expression in many lines", "a{300}b", true, strings.Repeat("aaaaaaa\n", 1<<14)},
	} {
		m, err := newMatcher(tt.pattern, tt.regex)
		must(t, err)
		ctx := &countdown{Context: t.Context(), left: 1 << 30}
		must(t, m.each(ctx, tt.text, func(int, int, int, int) { t.Error("a match") }))
		if least := len(tt.text) * m.size / (2 * maxMatchWork); ctx.looks < least {
			t.Errorf("%s: %d looks at the context, want at least %d", tt.name, ctx.looks, least)
		}
		for _, left := range []int{0, 1, ctx.looks / 2} {
			ended := &countdown{Context: t.Context(), left: left}
			if err := m.each(ended, tt.text, func(int, int, int, int) {}); !errors.Is(err, context.Canceled) || ended.looks > left+3 {
				t.Errorf("%s: %v after %d looks, %d before the end", tt.name, err, ended.looks, left)
			}
		}
	}
}

func FuzzMatcher(f *testing.F) {
	f.Add(`(a+)+$`, true, "aaa\n\nb")
	f.Add(`\A^x|\s*`, true, "x\r\n y")
	f.Add(`ab`, false, "ab\n")
	f.Fuzz(func(t *testing.T, pattern string, regex bool, text string) {
		m, err := newMatcher(pattern, regex)
		if err != nil {
			return
		}
		var want []int
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if regex && regexp.MustCompile("(?m)"+pattern).MatchString(line) || !regex && strings.Contains(line, pattern) {
				want = append(want, 1)
			} else {
				want = append(want, 0)
			}
		}
		got := make([]int, len(want))
		for _, line := range matching(t, m, text) {
			got[line-1] = 1
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q in %q: %v, want %v", pattern, text, got, want)
		}
	})
}
