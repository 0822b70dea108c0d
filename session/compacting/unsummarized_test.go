package compacting

import (
	"testing"

	"strata/history"
)

// However many messages were evicted without a summary, a summary covers the oldest up to a limit, and the next one goes on
// behind them.
func TestP01EvictedMessagesAreSummarizedInParts(t *testing.T) {
	var evicted []history.Head
	for i := range 10 {
		evicted = append(evicted, history.Head{Seq: int64(i + 1), Bytes: maxUnsummarized / 3})
	}
	evicted[5].Bytes = 2 * maxUnsummarized // alone above the limit
	var parts []int
	for len(evicted) > 0 {
		part := unsummarized(evicted)
		if len(part) == 0 || part[0].Seq != evicted[0].Seq {
			t.Fatalf("%d of %d, from %d", len(part), len(evicted), evicted[0].Seq)
		}
		parts, evicted = append(parts, len(part)), evicted[len(part):]
	}
	if len(parts) != 5 || parts[0] != 3 || parts[1] != 2 || parts[2] != 1 || parts[3] != 3 || parts[4] != 1 {
		t.Errorf("parts of %v messages", parts)
	}
	if got := unsummarized(nil); len(got) != 0 {
		t.Errorf("%d of none", len(got))
	}
}
