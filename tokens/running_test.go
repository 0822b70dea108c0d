package tokens

import (
	"context"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"
)

// fresh returns a counter with the tokenizer of an encoding that remembers nothing.
func fresh(encoding string) *Counter { return &Counter{tokenizer: For(encoding).tokenizer} }

// counterOf returns a counter that calls encode for each chunk.
func counterOf(encode func(text string) []int) *Counter {
	tok := &tokenizer{
		pretoken: func(chunk string) int { return len(chunk) },
		merge:    func(chunk string) int { return len(encode(chunk)) },
	}
	return &Counter{tokenizer: func() (*tokenizer, error) { return tok, nil }}
}

// sumCounter returns a counter by whose tokenizer each text that differs has, most likely, another number of tokens.
func sumCounter() *Counter {
	return counterOf(func(text string) []int { return make([]int, 1+crc32.ChecksumIEEE([]byte(text))%1021) })
}

// cutUp adds text to a new Running in parts of the lengths that length returns.
func cutUp(c *Counter, text string, length func() int) *Running {
	r := c.Running(context.Background())
	for text != "" {
		n := min(max(length(), 0), len(text))
		r.Add(text[:n])
		text = text[n:]
	}
	return r
}

// awkward are parts of texts with forced splits, invalid bytes, and chunk ends at which the next rune matters.
var awkward = append([]string{
	strings.Repeat("a", maxRun-1), strings.Repeat("é", maxRun/2), strings.Repeat(" ", maxRun), strings.Repeat("漢", 90),
	strings.Repeat("=", maxRun-seamSize), "\xff", "\xe6\xbc", "\xf0\x9f", "\x80\x80\x80\x80", "\n\u2028", "\n/",
	strings.Repeat("line of text\n", softChunk/12), "😀", "\n漢",
}, ordinary...)

func TestRunningCountsLikeCount(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 / scale {
		text := randomText(r, awkward, 1+r.IntN(6000))
		if r.IntN(2) == 0 {
			text = text[r.IntN(len(text)):] // can begin within a rune
		}
		most := 1 + r.IntN(1+r.IntN(2000))
		for name, c := range map[string]*Counter{"fake": sumCounter(), CL100k: fresh(CL100k)} {
			want, _ := c.measure(t.Context(), text)
			got := cutUp(c, text, func() int { return r.IntN(most + 1) }).Finish()
			if got != want {
				t.Fatalf("%s: counted %d, want %d, of %q in parts of up to %d bytes", name, got, want, text, most)
			}
		}
	}
}

// Each way to cut a text into two is tried, with a forced split, its seam and a soft split between.
func TestRunningCountsLikeCountAtEachCut(t *testing.T) {
	text := strings.Repeat("word 漢字 ", 30) + strings.Repeat("é", maxRun) + strings.Repeat("line 😀\n", 140) + "\xe6\xbc"
	c := sumCounter()
	want, _ := c.measure(t.Context(), text)
	for cut := range len(text) + 1 {
		r := c.Running(context.Background())
		r.Add(text[:cut])
		r.Add(text[cut:])
		if got := r.Finish(); got != want {
			t.Errorf("cut at %d: counted %d, want %d", cut, got, want)
		}
	}
}

// The longest chunks, and additions that are longer than what is scanned at a time.
func TestRunningCountsLongChunks(t *testing.T) {
	for name, part := range map[string]string{"words": "word 12 ", "three bytes": "漢 1", "invalid": "\xff1", "digits": "7"} {
		text := strings.Repeat(part, 3*hardChunk/len(part))
		c := sumCounter()
		want, _ := c.measure(t.Context(), text)
		for _, length := range []int{1, 1000, hardChunk + 1, len(text)} {
			if got := cutUp(c, text, func() int { return length }).Finish(); got != want {
				t.Errorf("%s in parts of %d bytes: counted %d, want %d", name, length, got, want)
			}
		}
	}
}

func TestRunningIsRememberedByItsCounter(t *testing.T) {
	var encoded atomic.Int64
	c := counterOf(func(text string) []int {
		encoded.Add(int64(len(text)))
		return make([]int, len(text))
	})
	text := strings.Repeat("The reply.\n", 1000)
	n := cutUp(c, text, func() int { return 7 }).Finish()
	if got := encoded.Load(); got != int64(len(text)) {
		t.Errorf("%d bytes were encoded, want %d", got, len(text))
	}
	if got := c.Count(text); got != n || encoded.Load() != int64(len(text)) {
		t.Errorf("counted %d, want %d, with %d bytes encoded, want %d", got, n, encoded.Load(), len(text))
	}
}

// At the end of a text no more is left to count than its last chunk.
func TestRunningCountsChunksAsTheyCome(t *testing.T) {
	encoded := make(chan int, 1000)
	c := counterOf(func(text string) []int {
		encoded <- len(text)
		return make([]int, len(text))
	})
	line := "a line of the reply\n"
	text := strings.Repeat(line, 2000)
	r := c.Running(context.Background())
	for left := text; left != ""; left = left[len(line):] {
		r.Add(left[:len(line)])
	}
	counted := 0
	for len(text)-counted > softChunk+2*len(line) {
		counted += <-encoded // without Finish: this ends only if Add counts
	}
	if len(r.open.String()) > softChunk+2*len(line) || r.open.Cap() > 4*softChunk {
		t.Errorf("%d bytes are held, with %d of memory", r.open.Len(), r.open.Cap())
	}
	if n := r.Finish(); n != len(text) {
		t.Errorf("counted %d, want %d", n, len(text))
	}
}

// The text of a chunk is not held after the chunk has ended and its seam has arrived.
func TestRunningHoldsOneChunk(t *testing.T) {
	for _, tt := range []struct {
		name, part string
		most       int
	}{
		{"words", "word 12 ", hardChunk},
		{"digits", "7", hardChunk},
		{"letters", "a", maxRun},
		{"three bytes", "漢", maxRun},
		{"symbols", "=", maxRun},
		{"lines", "a line\n", softChunk},
		{"invalid", "\x80", maxRun},
	} {
		r := sumCounter().Running(context.Background())
		for range 3 * hardChunk / len(tt.part) {
			r.Add(tt.part)
			if held := r.open.Len(); held > tt.most+seamSize+len(tt.part)+utf8.UTFMax {
				t.Fatalf("%s: %d bytes are held", tt.name, held)
			}
		}
		r.Finish()
	}
}

// Each byte is examined once, however small the parts are.
func TestRunningScansOnce(t *testing.T) {
	r := sumCounter().Running(context.Background())
	for range hardChunk / 2 {
		before := r.scan.examined
		r.Add("7")
		if r.scan.examined != before+1 {
			t.Fatalf("%d bytes examined after %d", r.scan.examined, before)
		}
	}
	r.Finish()
}

func TestRunningAfterItsEnd(t *testing.T) {
	c := sumCounter()
	r := c.Running(context.Background())
	r.Add("text")
	r.Close()
	r.Add("more")
	r.Close()
	want, _ := c.measure(t.Context(), "text")
	for range 2 {
		if got := r.Finish(); got != want {
			t.Errorf("counted %d, want %d", got, want)
		}
	}
	if got := c.Running(context.Background()).Finish(); got != 0 {
		t.Errorf("an empty text has %d tokens", got)
	}
}

func TestRunningWithoutTokenizer(t *testing.T) {
	c := newCounter(O200k, "", 199_998, o200kPretoken)
	text := strings.Repeat("漢字 line\n", 1001) + "\xff\xe6"
	want, _ := c.measure(t.Context(), text)
	if got := cutUp(c, text, func() int { return 5 }).Finish(); got != want {
		t.Errorf("estimated %d, want %d", got, want)
	}
}

// A count that nobody waits for any more ends after the start of the text; the rest is estimated and not remembered.
func TestRunningEndsWithItsContext(t *testing.T) {
	var encoded atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	c := counterOf(func(text string) []int {
		if encoded.Add(int64(len(text))) == int64(len(text)) {
			close(begun)
			<-release
		}
		return make([]int, len(text)/5)
	})
	text := strings.Repeat("abcd\n", 2<<20/5)
	ctx, end := context.WithCancel(t.Context())
	r := c.Running(ctx)
	r.Add(text)
	<-begun
	end()
	close(release)
	n := r.Finish()
	if got := encoded.Load(); got < sampleBytes || got > 2*sampleBytes {
		t.Errorf("%d of %d bytes are encoded", got, len(text))
	}
	encoded.Store(1)
	exact := c.Count(text)
	if encoded.Load() < int64(len(text)) {
		t.Error("the estimate is remembered")
	}
	if n < exact*98/100 || n > exact*102/100 {
		t.Errorf("%d tokens are estimated, %d counted", n, exact)
	}
}

// Chunks that are added after the end of the context are only counted as far as an estimate needs them.
func TestRunningWithAnEndedContext(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	var encoded atomic.Int64
	c := counterOf(func(text string) []int {
		encoded.Add(int64(len(text)))
		return make([]int, len(text)/5)
	})
	text := strings.Repeat("abcd\n", 2<<20/5)
	r := c.Running(ctx)
	for part := range slices.Chunk([]byte(text), 100<<10) {
		r.Add(string(part))
	}
	if n := r.Finish(); n < len(text)/6 || n > len(text)/4 {
		t.Errorf("%d bytes are estimated as %d tokens", len(text), n)
	}
	if got := encoded.Load(); got < sampleBytes || got > 2*sampleBytes {
		t.Errorf("%d of %d bytes are encoded", got, len(text))
	}
}

func TestWholeRunes(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "aé": 3, "a\xc3": 1, "\xf0\x9f\x98": 0, "😀\xf0\x9f\x98": 4, "a\xe6\xbc": 1,
		"\xff": 1, "\x80\x80\x80\x80\x80": 5, "\xe6a": 2, "\xf0\x80": 2,
	} {
		if got := wholeRunes(text); got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
}

func FuzzRunning(f *testing.F) {
	for _, text := range awkward {
		f.Add(text, uint64(1), 3)
	}
	f.Add(strings.Repeat("\u2028\n", 600)+"/", uint64(2), 50)
	f.Add(strings.Repeat("e\u0301", 300), uint64(3), 1)
	f.Fuzz(func(t *testing.T, text string, seed uint64, most int) {
		if most < 1 || most > 1<<20 {
			most = 1
		}
		for i := 1; len(text) > 0 && len(text)*i < 3*maxRun; i *= 2 {
			text += text // long enough for splits
		}
		r := rand.New(rand.NewPCG(seed, 1))
		c := sumCounter()
		want, _ := c.measure(t.Context(), text)
		if got := cutUp(c, text, func() int { return r.IntN(most + 1) }).Finish(); got != want {
			t.Errorf("counted %d, want %d, of %q", got, want, text)
		}
	})
}

// BenchmarkAfterTheLastDelta measures how long a reply's count takes after its last delta, of the length of some words. Each
// reply streams as fast as it can be counted.
func BenchmarkAfterTheLastDelta(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"20KB", 20_000}, {"1MB", 1 << 20}} {
		line := "The quick brown fox jumps over the lazy dog, and it doesn't care.\n"
		text := strings.Repeat(line, size.bytes/len(line))
		b.Run(size.name+"/before", func(b *testing.B) {
			for b.Loop() {
				fresh(Default).Count(text)
			}
		})
		b.Run(size.name+"/after", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				r := cutUp(fresh(Default), text, func() int { return 20 })
				r.done.Wait()
				b.StartTimer()
				r.Finish()
			}
		})
		b.Run(size.name+"/add", func(b *testing.B) {
			none := counterOf(func(string) []int { return nil })
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				cutUp(none, text, func() int { return 20 }).Finish()
			}
		})
	}
}
