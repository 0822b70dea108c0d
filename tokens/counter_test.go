package tokens

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scale divides the size of the largest texts; the race detector makes the tokenizer many times slower.
var scale = 1

var encodings = []string{O200k, CL100k}

// whole returns the library's own count of text, without chunks.
func whole(t testing.TB, encoding, text string) int {
	t.Helper()
	return len(referenceOf(t, encoding).library.EncodeOrdinary(text))
}

func TestCountMatchesTheReference(t *testing.T) {
	// Counts by OpenAI's tiktoken.
	tests := []struct {
		text         string
		o200k, cl100 int
	}{
		{"", 0, 0},
		{"hello world", 2, 2},
		{"antidisestablishmentarianism", 6, 6},
		{"2 + 2 = 4", 7, 7},
		{"お誕生日おめでとう", 8, 9},
		{"tiktoken is great!", 6, 6},
	}
	for _, tt := range tests {
		got := []int{For(O200k).Count(tt.text), For(CL100k).Count(tt.text)}
		if diff := cmp.Diff([]int{tt.o200k, tt.cl100}, got); diff != "" {
			t.Errorf("Count(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestNewListsTheKnownEncodings(t *testing.T) {
	_, err := New("p100k_base")
	if err == nil || !strings.Contains(err.Error(), O200k) || !strings.Contains(err.Error(), CL100k) {
		t.Errorf("New of an unknown encoding: %v", err)
	}
	for _, encoding := range encodings {
		a, err := New(encoding)
		if err != nil || a != For(encoding) {
			t.Errorf("New(%s) = %p, %v: want the shared counter", encoding, a, err)
		}
	}
}

// ordinary are parts of texts without long runs, which need no forced splits.
var ordinary = []string{
	"The quick brown fox doesn't jump. ", "func main() {\n\tfmt.Println(x)\n}\n", "\n\n", "\r\n", " ", "\t\t", "/", "//", "\n/",
	"1234567", "x1y2", "naïve café ", "漢字かな。", "🙂👩‍👩‍👧 ", "e\u0301", "!\u0301", "<|endoftext|>", "'ll", "\u00a0", "\u2028", "{}();\n",
}

func randomText(r *rand.Rand, parts []string, size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

func TestCountIsExactWithoutForcedSplits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		text := randomText(r, ordinary, 200+r.IntN(6000))
		if needsForcedSplit(text) {
			continue
		}
		for _, encoding := range encodings {
			if got, want := For(encoding).Count(text), whole(t, encoding, text); got != want {
				t.Fatalf("%s: counted %d, want %d, of %q", encoding, got, want, text)
			}
		}
	}
}

func needsForcedSplit(text string) bool {
	for text != "" {
		end, forced := nextChunk(text)
		if forced {
			return true
		}
		text = text[end:]
	}
	return false
}

func TestForcedSplitsAreNearlyExact(t *testing.T) {
	texts := map[string][]string{
		"words without spaces": {"the", "context", "window", "counter", "chunk"},
		"letters":              strings.Split("abcdefghijklmnopqrstuvwxyz", ""),
		"one letter":           {"a"},
		"symbols":              strings.Split("!@#$%^&*()_+-=[]{};:,.|~", ""),
		"spaces":               {" ", "  ", "\t", "\n"},
		"Cyrillic":             {"привет", "мир", "компьютер"},
		"Thai":                 {"สวัสดี", "ครับ", "ประเทศ", "ไทย"},
		"Chinese":              strings.Split("的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能", ""),
		"pictures":             strings.Split("😀😁😂🤣😃😄😅😆", ""),
		"marks":                {"e\u0301", "o\u0302"},
	}
	r := rand.New(rand.NewPCG(3, 4))
	for name, parts := range texts {
		text := randomText(r, parts, 6_000)
		if !needsForcedSplit(text) {
			t.Errorf("%s: no split was forced", name)
		}
		for _, encoding := range encodings {
			got, want := For(encoding).Count(text), whole(t, encoding, text)
			if off := float64(got-want) / float64(want); off > 0.003 || off < -0.003 {
				t.Errorf("%s, %s: counted %d, want %d: off by %.2f %%", name, encoding, got, want, off*100)
			}
		}
	}
}

func TestChunksAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, text := range map[string]string{
		"no newline": strings.Repeat("word 12 ", 1<<16),
		"digits":     strings.Repeat("7", 1<<19),
		"slashes":    strings.Repeat("!\n/", 1<<17),
		"invalid":    strings.Repeat("\xff\x80", 1<<17),
		"random":     randomText(r, ordinary, 1<<19),
	} {
		rest := text
		for rest != "" {
			end, _ := nextChunk(rest)
			if end <= 0 || end > hardChunk+len("\u2028") {
				t.Fatalf("%s: chunk of %d bytes", name, end)
			}
			rest = rest[end:]
		}
	}
}

// K2-01: counting takes linear time for any text.
func TestK2_01_LongRunsAreCounted(t *testing.T) {
	runs := map[string]string{
		"letters": strings.Repeat("a", 200_000/scale),
		"carets":  strings.Repeat("^", 1_000_000/scale),
		"base64":  strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo5", 1<<20/36/scale),
		"spaces":  strings.Repeat(" ", 300_000/scale),
		"marks":   strings.Repeat("!\u0301", 100_000/scale),
		"slashes": strings.Repeat("\r/\n/", 100_000/scale),
	}
	const bound = 2*maxRun + 8 // a run of symbols, one of the runes that may end it, an opening and a contraction
	for name, text := range runs {
		if longest := longestPreToken(t, text); longest > bound {
			t.Errorf("%s: pre-token of %d bytes: counting takes quadratic time", name, longest)
		}
		n := For(Default).Count(text)
		if n < len(text)/300 || n > len(text) {
			t.Errorf("%s: %d bytes counted as %d", name, len(text), n)
		}
	}
}

// longestPreToken returns the length of the longest pre-token of text in any encoding.
func longestPreToken(t *testing.T, text string) int {
	longest := 0
	for text != "" {
		end, _ := nextChunk(text)
		for _, r := range references(t) {
			for _, pretoken := range r.pretokens(t, text[:end]) {
				longest = max(longest, len(pretoken))
			}
		}
		text = text[end:]
	}
	return longest
}

// K2-01: a count completes while another one is in progress.
func TestK2_01_CountingHoldsUpNobody(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	c := counterOf(func(text string) []int {
		if text == "slow" {
			close(inside)
			<-release
		}
		return make([]int, len(text))
	})
	slow := make(chan int)
	go func() { slow <- c.Count("slow") }()
	<-inside
	if n := c.Count("quick"); n != 5 {
		t.Errorf("counted %d", n)
	}
	close(release)
	if n := <-slow; n != 4 {
		t.Errorf("counted %d", n)
	}
}

// K2-02: special-token strings are ordinary text.
func TestK2_02_SpecialTokensAreText(t *testing.T) {
	for _, special := range []string{"<|endoftext|>", "<|im_start|>", "<|fim_prefix|>", "<|endofprompt|>"} {
		for _, encoding := range encodings {
			if n := For(encoding).Count(special); n < 3 || n > len(special) {
				t.Errorf("%s: %s counted as %d", encoding, special, n)
			}
		}
	}
}

// K2-04: the cost of an image depends on its pixels, and the costs of several images add up.
func TestK2_04_PicturesHaveABoundedCost(t *testing.T) {
	if n := Image(4000, 3000); n < 1000 || n > 2000 {
		t.Errorf("large image: %d tokens", n)
	}
	if n := 60 * Image(0, 0); n < 60_000 {
		t.Errorf("60 images: %d tokens", n)
	}
}

// K2-08: counting needs no network, cache folder or model name, and builds the tokenizer once.
func TestK2_08_CountsOfflineWithOneEncoder(t *testing.T) {
	t.Setenv("TIKTOKEN_CACHE_DIR", t.TempDir())
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	c := For("encoding of my-model-x")
	if c != For(Default) {
		t.Fatal("For returned a separate counter for an unknown encoding")
	}
	first, _ := c.tokenizer()
	for range 200 {
		if n := c.Count("A short prompt."); n != 4 {
			t.Fatalf("counted %d", n)
		}
	}
	if last, _ := c.tokenizer(); last != first {
		t.Error("the tokenizer was built again")
	}
}

func TestCountIsTheSameFromManyGoroutines(t *testing.T) {
	text := randomText(rand.New(rand.NewPCG(7, 8)), ordinary, 20_000)
	want := For(Default).Count(text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, _ := For(Default).measure(t.Context(), text); got != want {
				t.Errorf("counted %d, want %d", got, want)
			}
		})
	}
	wg.Wait()
}

func TestPanickingTokenizerFallsBackToEstimate(t *testing.T) {
	c := counterOf(func(string) []int { panic("index out of range") })
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "漢字漢字漢": 2} {
		if got := c.Count(text); got != want {
			t.Errorf("Count(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestMissingTokenizerFallsBackToEstimate(t *testing.T) {
	for name, c := range map[string]*Counter{
		"an empty table":            newCounter(CL100k, "", 100_256, cl100kPretoken),
		"a table with tokens lost":  newCounter(CL100k, cl100kTable[:1000], 100_256, cl100kPretoken),
		"a table that breaks off":   newCounter(CL100k, "\x01a\x05bc", 2, cl100kPretoken),
		"the table of another size": newCounter(O200k, cl100kTable, 199_998, o200kPretoken),
	} {
		if got := c.Count("eight ch"); got != 2 {
			t.Errorf("%s: counted %d, want 2", name, got)
		}
	}
}

func FuzzCount(f *testing.F) {
	for _, text := range ordinary {
		f.Add(text)
	}
	f.Add("\xff\xfe\x00")
	f.Fuzz(func(t *testing.T, text string) {
		n := For(CL100k).Count(text)
		if n < 0 || n > 3*len(text) || (n == 0) != (text == "") { // the tokenizer replaces an invalid byte by U+FFFD, three bytes
			t.Errorf("%q counted as %d", text, n)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	For(Default).Count("warm")
	const size = 1 << 20
	for _, bench := range []struct{ name, part string }{
		{"prose", "The quick brown fox jumps over the lazy dog, and it doesn't care.\n"},
		{"code", "func main() {\n\tfmt.Println(\"hello\", x+1)\n}\n"},
		{"letter", "a"},
		{"caret", "^"},
		{"pictures", "😀"},
		{"base64", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo5"},
	} {
		text := strings.Repeat(bench.part, size/len(bench.part)+1)[:size]
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				For(Default).measure(b.Context(), text)
			}
		})
	}
}

// A count that nobody waits for any more encodes only the start of a text, estimates the rest by it, and is not remembered.
func TestR05CountingEndsWithItsContext(t *testing.T) {
	encoded := 0
	c := counterOf(func(text string) []int {
		encoded += len(text)
		return make([]int, len(text)/5)
	})
	text := strings.Repeat("abcd\n", 8<<20/5)
	ended, end := context.WithCancel(t.Context())
	end()
	n := c.CountContext(ended, text)
	if encoded < sampleBytes || encoded > 2*sampleBytes {
		t.Errorf("%d of %d bytes are encoded", encoded, len(text))
	}
	encoded = 0
	exact := c.CountContext(t.Context(), text)
	if encoded < len(text) {
		t.Errorf("the estimate is remembered: %d bytes are encoded", encoded)
	}
	if n < exact*98/100 || n > exact*102/100 {
		t.Errorf("%d tokens are estimated, %d counted", n, exact)
	}
	if short := "abcd\nabcd\n"; c.CountContext(ended, short) != 2 {
		t.Error("a short text is not counted")
	}
}
