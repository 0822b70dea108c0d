package web

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// minContrast is what WCAG 2.2 asks of text at level AA.
const minContrast = 4.5

// pairs are the colours of text and the grounds that it stands on.
var pairs = map[string][]string{
	"text":        {"ground", "sheet", "raised", "hover", "accent-soft", "mark", "good-soft", "bad-soft"},
	"quiet":       {"ground", "sheet", "raised", "hover", "good-soft", "bad-soft"},
	"accent":      {"ground", "sheet", "raised", "accent-soft"},
	"bad":         {"ground", "sheet", "raised", "bad-soft"},
	"good":        {"raised", "sheet", "good-soft"},
	"accent-text": {"accent"},

	"code-keyword": codeGrounds, "code-string": codeGrounds, "code-number": codeGrounds,
	"code-comment": codeGrounds, "code-title": codeGrounds, "code-attr": codeGrounds,
}

// codeGrounds are those of code: in replies, prompts and the lines of diffs.
var codeGrounds = []string{"raised", "sheet", "good-soft", "bad-soft"}

func TestTextHasEnoughContrast(t *testing.T) {
	css, err := os.ReadFile("hud/src/style/base.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("there is no dark scheme")
	}
	for scheme, part := range map[string]string{"light": light, "dark": dark} {
		colours := coloursOf(t, part)
		for text, grounds := range pairs {
			for _, ground := range grounds {
				if got := contrast(t, colours, text, ground); got < minContrast {
					t.Errorf("%s: %s on %s has a contrast of %.2f", scheme, text, ground, got)
				}
			}
		}
	}
}

func TestContrastIsThatOfTheStandard(t *testing.T) {
	colours := map[string][3]float64{"black": {}, "white": {255, 255, 255}, "grey": {119, 119, 119}}
	for ground, want := range map[string]float64{"black": 21, "white": 1, "grey": 4.48} {
		if got := contrast(t, colours, "white", ground); math.Abs(got-want) > 0.01 {
			t.Errorf("white on %s: %.2f, want %.2f", ground, got, want)
		}
	}
}

var colour = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`)

// coloursOf returns red, green and blue of each variable that is a colour.
func coloursOf(t *testing.T, css string) map[string][3]float64 {
	t.Helper()
	all := make(map[string][3]float64)
	for _, found := range colour.FindAllStringSubmatch(css, -1) {
		value, err := strconv.ParseUint(found[2], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		all[found[1]] = [3]float64{float64(value >> 16), float64(value >> 8 & 255), float64(value & 255)}
	}
	return all
}

func contrast(t *testing.T, colours map[string][3]float64, one, other string) float64 {
	t.Helper()
	a, known := colours[one]
	b, alsoKnown := colours[other]
	if !known || !alsoKnown {
		t.Fatalf("there is no colour %s or %s", one, other)
	}
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(colour [3]float64) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := colour[i] / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
