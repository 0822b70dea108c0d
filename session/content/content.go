// Package content measures the content of messages: tokens, bytes and pictures, and what a model can take of them.
//
// It must never store anything: changes are returned as patches of the view.
package content

import (
	"context"
	"slices"
	"strings"

	"strata/history"
	"strata/llm/reply"
	"strata/tokens"
)

// Measure sets the tokens of messages, and the types and sizes of their pictures. It returns the error of ctx if that ends
// before.
func Measure(ctx context.Context, counter *tokens.Counter, messages []history.Message) error {
	for i := range messages {
		Identify(messages[i].Blocks)
		messages[i].Tokens = Tokens(ctx, counter, messages[i].Blocks)
	}
	return ctx.Err()
}

// Identify sets the type and the size in pixels of pictures by their bytes, since the size decides the cost and providers
// refuse a wrong type. A block that is not a picture is left as it is.
func Identify(blocks []history.Block) {
	for i := range blocks {
		b := &blocks[i]
		if b.Type == history.BlockImage {
			if mime, width, height, ok := tokens.Picture(b.Data); ok {
				b.MIME, b.Width, b.Height = mime, width, height
			}
		}
		Identify(b.Content)
	}
}

// Tokens returns the tokens of a message's content, framing included. Once ctx has ended long texts are estimated: a turn
// that is cancelled ends at once, however long its reply is.
func Tokens(ctx context.Context, c *tokens.Counter, blocks []history.Block) int {
	n := tokens.MessageOverhead
	for i := range blocks {
		n += blockTokens(ctx, c, &blocks[i])
	}
	return n
}

func blockTokens(ctx context.Context, c *tokens.Counter, b *history.Block) int {
	count := func(text string) int { return c.CountContext(ctx, text) }
	switch b.Type {
	case history.BlockImage:
		return tokens.Image(b.Width, b.Height)
	case history.BlockToolCall:
		return count(b.Name) + count(b.Args)
	case history.BlockToolResult:
		n := 0
		for i := range b.Content {
			n += blockTokens(ctx, c, &b.Content[i])
		}
		return n
	case history.BlockLink, history.BlockResource:
		return count(b.URI) + count(b.Name) + count(b.Text)
	default:
		return count(b.Text)
	}
}

// Bytes returns the approximate size of a message's stored content.
func Bytes(blocks []history.Block) int {
	n := 0
	for i := range blocks {
		b := &blocks[i]
		n += 64 + len(b.Text) + len(b.Data)*4/3 + len(b.Args) + len(b.URI) + Bytes(b.Content)
	}
	return n
}

// Empty reports whether content says nothing: it has at most thinking and blanks.
func Empty(blocks []history.Block) bool {
	return !slices.ContainsFunc(blocks, func(b history.Block) bool {
		return b.Type != history.BlockThinking && (b.Type != history.BlockText || strings.TrimSpace(b.Text) != "")
	})
}

// EmptyNotice returns the notice about a complete reply that says nothing, which ended for a reason.
func EmptyNotice(stopReason string) string {
	if stopReason == string(reply.StopMaxTokens) {
		return "The model's reply is empty: it reached its output limit before any text."
	}
	return "The model's reply is empty."
}

// Joined returns the saved chunks of a reply as blocks, one for each run of one kind.
func Joined(partials []history.Partial) []history.Block {
	var blocks []history.Block
	for _, p := range partials {
		if n := len(blocks); n > 0 && blocks[n-1].Type == p.Kind {
			blocks[n-1].Text += p.Text
			continue
		}
		blocks = append(blocks, history.Block{Type: p.Kind, Text: p.Text})
	}
	return blocks
}

// Failed reports whether a message has the result of a tool that failed.
func Failed(m *history.Message) bool {
	for i := range m.Blocks {
		if m.Blocks[i].IsError {
			return true
		}
	}
	return false
}

// Patched returns a message of the view with one more patch.
func Patched(v history.Viewed, p history.Patch) history.Viewed {
	v.Patches = append(v.Patches[:len(v.Patches):len(v.Patches)], p)
	v.Tokens = max(v.Tokens-p.Saved, 0)
	return v
}

// Reader reads messages of one session by their sequence numbers, in the order asked for.
type Reader func(ctx context.Context, seqs []int64) ([]history.Message, error)

// View reads messages as the view shows them.
func (read Reader) View(ctx context.Context, view []history.Viewed) ([]history.Message, error) {
	seqs := make([]int64, len(view))
	for i, v := range view {
		seqs[i] = v.Seq
	}
	stored, err := read(ctx, seqs)
	if err != nil {
		return nil, err
	}
	messages := make([]history.Message, len(stored))
	for i := range stored {
		messages[i] = history.Patched(stored[i], view[i].Patches)
	}
	return messages, nil
}
