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

// Lost returns results for those calls of the step that have none; a nil step has no calls. changes are the file changes of
// these calls, settled. The error is that of read, which reads the messages with the given sequence numbers.
func (n *Newest) Lost(changes []history.FileChange, read func(seqs []int64) ([]history.Message, error)) (results []history.Block, err error) {
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
	for _, call := range history.Unanswered(messages) {
		results = append(results, reason(&call, changes).Block(&call))
	}
	return results, nil
}

// reason returns why a call has no result. One that changes files is stored before it does: without a record it has not begun.
func reason(call *history.Block, changes []history.FileChange) tools.NoResult {
	why := tools.Lost
	if tools.ChangesFiles(call.Name) {
		why = tools.LostNotMade
	}
	for i := range changes {
		switch c := &changes[i]; {
		case c.Call != call.CallID, c.State == history.FileChangeNotDone:
		case c.State != history.FileChangeDone:
			why = tools.Lost
		case call.Name == tools.MoveFile && c.Kind == history.FileCreated:
			why = tools.LostCopied
		default:
			why = tools.LostMade
		}
	}
	return why
}
