package content

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"strata/history"
	"strata/llm/reply"
	"strata/tokens"
)

// streamed is a reply: its blocks, and the events by which they arrive.
type streamed struct {
	blocks []history.Block
	events []reply.Event
}

// add adds a block that arrives in parts of random lengths.
func (s *streamed) add(r *rand.Rand, b history.Block) {
	s.blocks = append(s.blocks, b)
	whole := b.Text + b.Args
	if b.Type == history.BlockToolCall {
		s.events = append(s.events, reply.Event{Kind: reply.EventToolCall, Call: &reply.ToolCallDelta{ID: b.CallID, Name: b.Name}})
	}
	for whole != "" {
		n := min(1+r.IntN(300), len(whole))
		s.events = append(s.events, eventOf(&b, whole[:n]))
		whole = whole[n:]
	}
}

func eventOf(b *history.Block, text string) reply.Event {
	switch b.Type {
	case history.BlockThinking:
		return reply.Event{Kind: reply.EventThinking, Text: text}
	case history.BlockToolCall:
		return reply.Event{Kind: reply.EventToolCall, Call: &reply.ToolCallDelta{ID: b.CallID, Name: b.Name, Args: text}}
	}
	return reply.Event{Kind: reply.EventText, Text: text}
}

// linesOf returns lines that no other call returns.
func linesOf(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "line %d of the reply, naïve\n", r.Uint64())
	}
	return b.String()
}

var counter = tokens.For(tokens.CL100k)

// recount returns the tokens of blocks as Tokens counts them without remembering: each text ends with its own words, which
// are counted alone. The texts end with a line, after which such a split is exact.
func recount(t *testing.T, blocks []history.Block) int {
	t.Helper()
	const mark = "Zq"
	alone := counter.Count(mark)
	n := tokens.MessageOverhead
	for _, b := range blocks {
		if b.Type == history.BlockToolCall {
			n += counter.Count(b.Name)
		}
		n += counter.Count(b.Text+b.Args+mark) - alone
	}
	return n
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, rand.Uint64())) }

// A reply of any blocks has the tokens that its blocks have when nothing is counted before.
func TestArrivingRepliesHaveTheTokensOfTheirBlocks(t *testing.T) {
	r := random(1)
	for range 6 {
		var s streamed
		for i := range 1 + r.IntN(30) {
			text := linesOf(r, 1+r.IntN(15))
			switch r.IntN(4) {
			case 0:
				s.add(r, history.Block{Type: history.BlockThinking, Text: text})
			case 1:
				s.add(r, history.Block{Type: history.BlockToolCall, CallID: fmt.Sprint(i), Name: "write_file", Args: text})
			default: // often two in a row, whose border the events do not tell
				s.add(r, history.Block{Type: history.BlockText, Text: text})
			}
		}
		arriving := NewArriving(t.Context(), counter)
		if r.IntN(2) == 0 { // a try that fails
			for _, e := range s.events[:r.IntN(len(s.events))] {
				arriving.Take(e)
			}
			arriving.Take(reply.Event{Kind: reply.EventRetrying, Retry: &reply.Retry{}})
		}
		for _, e := range s.events {
			arriving.Take(e)
		}
		arriving.Take(reply.Event{Kind: reply.EventUsage, Usage: &history.Usage{}})
		if got, want := arriving.Tokens(s.blocks), recount(t, s.blocks); got != want {
			t.Fatalf("counted %d, want %d, for %d blocks", got, want, len(s.blocks))
		}
	}
}

// Blocks that the events tell apart are tokenized once. After a retry the blocks are those of the last try.
func TestArrivingRepliesAreTokenizedOnce(t *testing.T) {
	r := random(2)
	var s streamed
	s.add(r, history.Block{Type: history.BlockThinking, Text: linesOf(r, 200)})
	s.add(r, history.Block{Type: history.BlockText, Text: linesOf(r, 400)})
	for i := range 2 * maxOpen {
		s.add(r, history.Block{Type: history.BlockToolCall, CallID: fmt.Sprint("call_", i), Name: "write_file", Args: linesOf(r, 3)})
	}
	s.add(r, history.Block{Type: history.BlockText, Text: linesOf(r, 50)})
	size := 0
	for _, b := range s.blocks {
		size += len(b.Text + b.Args)
	}
	arriving := NewArriving(t.Context(), counter)
	failed := linesOf(r, 50)
	before := counter.Encoded() + int64(len(failed))
	arriving.Take(reply.Event{Kind: reply.EventText, Text: failed})
	arriving.Take(reply.Event{Kind: reply.EventRetrying, Retry: &reply.Retry{}})
	for _, e := range s.events {
		arriving.Take(e)
	}
	n := arriving.Tokens(s.blocks)
	if got := counter.Encoded() - before; got < int64(size) || got > int64(size+len("write_file")) {
		t.Errorf("%d bytes were tokenized, want %d", got, size)
	}
	if want := recount(t, s.blocks); n != want {
		t.Errorf("counted %d, want %d", n, want)
	}
}

// Blocks that differ from what arrived are counted by themselves.
func TestArrivingRepliesAreCountedByTheirBlocks(t *testing.T) {
	r := random(3)
	arriving := NewArriving(t.Context(), counter)
	arriving.Take(reply.Event{Kind: reply.EventText, Text: linesOf(r, 100)})
	blocks := []history.Block{{Type: history.BlockText, Text: linesOf(r, 70)}}
	if got, want := arriving.Tokens(blocks), recount(t, blocks); got != want {
		t.Errorf("counted %d, want %d", got, want)
	}
	if got := NewArriving(t.Context(), counter).Tokens(nil); got != tokens.MessageOverhead {
		t.Errorf("an empty reply has %d tokens", got)
	}
}

// A turn that is cancelled does not wait until a long reply is counted.
func TestArrivingRepliesEndWithTheirTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := random(4)
	text := linesOf(r, 512<<10/40)
	arriving := NewArriving(ctx, counter)
	before := counter.Encoded()
	arriving.Take(reply.Event{Kind: reply.EventText, Text: text})
	n := arriving.Tokens([]history.Block{{Type: history.BlockText, Text: text}})
	if got := counter.Encoded() - before; got > int64(len(text)/2) {
		t.Errorf("%d of %d bytes were tokenized", got, len(text))
	}
	sample := text[:64<<10]
	if want := counter.Count(sample) * (len(text) / 1000) / (len(sample) / 1000); n < want*9/10 || n > want*11/10 {
		t.Errorf("estimated %d tokens, want about %d", n, want)
	}
}

// A reply that nobody asks for, as after a panic, leaves no count under way, and its texts are counted.
func TestClosingEndsTheCounts(t *testing.T) {
	counter := tokens.For("")
	a := NewArriving(t.Context(), counter)
	text := strings.Repeat("a reply that is never asked for 8127 ", 3000)
	a.Take(reply.Event{Kind: reply.EventText, Text: text})
	before := counter.Encoded()
	a.Close()
	a.Close()
	if n := a.Tokens(nil); n != Tokens(t.Context(), counter, nil) || a.growing != nil || len(a.ended) > 0 {
		t.Errorf("%d tokens, %d counts are under way", n, len(a.ended))
	}
	known := counter.Encoded()
	counter.Count(text)
	if got := counter.Encoded(); got != known || got < before {
		t.Errorf("%d bytes of the text were counted again", got-known)
	}
}
