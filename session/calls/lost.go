package calls

import (
	"slices"

	"strata/history"
	"strata/session/tools"
)

// Newest is the newest step of a turn of a server that has ended.
type Newest struct {
	ID    string // of its message
	heads []history.Head
}

// NewestStep returns the newest stored step of the turn that ends a transcript; nil if nothing of its reply is stored.
func NewestStep(transcript []history.Head, turn string) *Newest {
	for i := range slices.Backward(transcript) {
		switch h := &transcript[i]; {
		case h.Turn != turn:
			return nil
		case h.Role == history.RoleAssistant:
			return &Newest{h.ID, transcript[i:]}
		}
	}
	return nil
}

// Lost returns results for those calls of the step that have none; a nil step has no calls. The error is that of read, which
// reads the messages with the given sequence numbers.
func (n *Newest) Lost(read func(seqs []int64) ([]history.Message, error)) ([]history.Block, error) {
	if n == nil || !n.heads[0].HasCalls {
		return nil, nil
	}
	var seqs []int64
	for i := range n.heads {
		seqs = append(seqs, n.heads[i].Seq)
	}
	messages, err := read(seqs)
	if err != nil {
		return nil, err
	}
	return tools.Lost.Results(history.Unanswered(messages)), nil
}
