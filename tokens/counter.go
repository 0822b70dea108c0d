// Package tokens counts the tokens of texts and images, offline.
//
// Counts are exact for OpenAI's encodings. For other models they are estimates, which a Calibration corrects using the
// counts reported by the provider. It must never access the network, never fail on any input, and never take more than
// linear time.
package tokens

import (
	"context"
	"fmt"
	"sync/atomic"
	"unicode/utf8"
)

// The built-in encodings.
const (
	O200k  = "o200k_base"  // gpt-4o and later
	CL100k = "cl100k_base" // gpt-4, gpt-3.5
)

// Default is the encoding used for models whose encoding is unknown.
const Default = O200k

// sampleBytes is the length of the start of a text by which the rest is estimated. Counting it takes a small part of a second.
const sampleBytes = 64 << 10

// charsPerToken is used to estimate counts if the tokenizer fails.
const charsPerToken = 4

// MessageOverhead is the number of tokens that a provider's framing adds to each message: three delimiters and one for
// the role (num_tokens_from_messages in OpenAI's cookbook, "How to count tokens with tiktoken").
const MessageOverhead = 4

// Counter counts the tokens of texts in one encoding. It is safe for concurrent use and holds no lock while counting.
type Counter struct {
	tokenizer func() (*tokenizer, error) // built at the first count, then kept
	recent    recent
	encoded   atomic.Int64 // bytes
}

// New returns the shared counter of an encoding, or an error for an unknown encoding. The first count loads the
// encoding's table.
func New(encoding string) (*Counter, error) {
	if c, ok := counters[encoding]; ok {
		return c, nil
	}
	return nil, fmt.Errorf("unknown encoding %q; use %s or %s", encoding, O200k, CL100k)
}

// For returns the shared counter of an encoding, or the counter of Default if the encoding is unknown.
func For(encoding string) *Counter {
	if c, ok := counters[encoding]; ok {
		return c
	}
	return counters[Default]
}

// Count returns the number of tokens in text. Special-token strings are ordinary text.
// The count is exact for the encoding unless a split was forced (see nextChunk); then the error is below 0.3 %.
// If the tokenizer fails, 4 characters count as one token.
func (c *Counter) Count(text string) int { return c.CountContext(context.Background(), text) }

// CountContext is Count, but once ctx has ended it counts no more than the first sampleBytes of text: the rest is
// estimated to have as many tokens a byte.
func (c *Counter) CountContext(ctx context.Context, text string) int {
	return c.recent.count(text, func(text string) (n int, exact bool) { return c.measure(ctx, text) })
}

// Encoded returns how many bytes of text were tokenized so far: a remembered count needs none.
func (c *Counter) Encoded() int64 { return c.encoded.Load() }

// measure counts text. exact is false if a part of it was estimated because ctx has ended.
func (c *Counter) measure(ctx context.Context, text string) (n int, exact bool) {
	tok, err := c.tokenizer()
	if err != nil {
		return estimate(utf8.RuneCountInString(text)), true
	}
	for whole := len(text); text != ""; {
		if counted := whole - len(text); counted >= sampleBytes && ctx.Err() != nil {
			return n + n*len(text)/counted, false
		}
		end, forced := nextChunk(text)
		n += c.countChunk(tok, text, end, forced)
		text = text[end:]
	}
	return n, true
}

// countChunk counts the first end bytes of text, which are a chunk, and corrects the count of a forced split.
func (c *Counter) countChunk(tok *tokenizer, text string, end int, forced bool) int {
	c.encoded.Add(int64(end))
	n := tok.count(text[:end])
	if forced {
		n -= seam(tok, text, end)
	}
	return n
}

// seam returns the extra tokens caused by a split at cut, measured on the seamSize bytes on each side.
func seam(tok *tokenizer, text string, cut int) int {
	from, to := seamStart(text, cut), seamEnd(text, cut)
	return tok.count(text[from:cut]) + tok.count(text[cut:to]) - tok.count(text[from:to])
}

// estimate returns the estimated tokens of so many characters.
func estimate(characters int) int { return (characters + charsPerToken - 1) / charsPerToken }
