package content

import (
	"context"

	"strata/history"
	"strata/llm/reply"
	"strata/tokens"
)

// maxOpen limits the blocks of a reply whose count is not awaited yet.
const maxOpen = 16

// Arriving counts the blocks of a reply while they arrive, so that Tokens of the whole reply finds their counts. It decides
// nothing: Tokens counts whatever block it does not find. Its methods must not be called concurrently.
type Arriving struct {
	ctx     context.Context // of the turn
	counter *tokens.Counter
	ended   []*tokens.Running // blocks before the one that grows
	growing *tokens.Running   // nil for none
	block   blockKey          // of growing
}

// blockKey tells the block of one event from that of the next.
type blockKey struct {
	kind reply.EventKind
	call string // id of a tool call
}

// NewArriving returns a count for a reply of which nothing has arrived. Once ctx has ended, long texts are not counted to
// their end.
func NewArriving(ctx context.Context, counter *tokens.Counter) *Arriving {
	return &Arriving{ctx: ctx, counter: counter}
}

// Take takes an event of the reply. It does not wait for a count, except in a reply with very many blocks.
func (a *Arriving) Take(e reply.Event) {
	switch e.Kind {
	case reply.EventText, reply.EventThinking:
		a.add(blockKey{kind: e.Kind}, e.Text)
	case reply.EventToolCall:
		a.add(blockKey{e.Kind, e.Call.ID}, e.Call.Args)
	case reply.EventRetrying: // the reply begins again
		a.end()
	}
}

func (a *Arriving) add(block blockKey, text string) {
	if a.growing == nil || a.block != block {
		a.end()
		a.growing, a.block = a.counter.Running(a.ctx), block
	}
	a.growing.Add(text)
}

// end ends the block that grows.
func (a *Arriving) end() {
	if a.growing == nil {
		return
	}
	a.growing.Close()
	a.ended, a.growing = append(a.ended, a.growing), nil
	if len(a.ended) > maxOpen {
		a.ended[0].Finish()
		a.ended = a.ended[1:]
	}
}

// Tokens returns Tokens of the reply's blocks. No count is under way after that.
func (a *Arriving) Tokens(blocks []history.Block) int {
	a.Close()
	return Tokens(a.ctx, a.counter, blocks)
}

// Close waits for the counts that are under way, also of a reply that nobody asks for.
func (a *Arriving) Close() {
	a.end()
	for _, r := range a.ended {
		r.Finish()
	}
	a.ended = nil
}
