package history

import "slices"

// Range is a range of messages, given by the sequence numbers of the first and the last one.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Ranges returns for each edit the messages that it removes from the view, returns to the view or patches. Adjacent
// messages form one range.
func (l *Log) Ranges(edits []Edit) [][]Range {
	index := make(map[string]int, len(l.heads))
	for i := range l.heads {
		index[l.heads[i].ID] = i
	}
	ranges := make([][]Range, len(edits))
	for i := range edits {
		ranges[i] = l.ranges(&edits[i], index)
	}
	return ranges
}

func (l *Log) ranges(e *Edit, index map[string]int) []Range {
	switch {
	case e.Undoes != "":
		i := slices.IndexFunc(l.edits, func(undone Edit) bool { return undone.ID == e.Undoes })
		if i < 0 || l.edits[i].Undoes != "" {
			return nil
		}
		return l.ranges(&l.edits[i], index)
	case e.Kind == EditRestore:
		return l.between(e.To, e.Seq)
	case e.Kind == EditClear || e.Kind == EditReplace:
		return l.between(0, e.Seq)
	}
	var at []int
	for _, id := range e.Messages {
		at = appendKnown(at, index, id)
	}
	for _, p := range e.Patches {
		at = appendKnown(at, index, p.Message)
	}
	slices.Sort(at)
	return l.runs(slices.Compact(at))
}

func appendKnown(at []int, index map[string]int, id string) []int {
	if i, known := index[id]; known {
		at = append(at, i)
	}
	return at
}

// between returns the messages after one sequence number and before another.
func (l *Log) between(after, before int64) []Range {
	first, _ := l.before(after)
	last, _ := l.before(before - 1)
	if last <= first {
		return nil
	}
	return []Range{{l.heads[first+1].Seq, l.heads[last].Seq}}
}

// runs joins adjacent messages, given by sorted indexes, to ranges.
func (l *Log) runs(at []int) (runs []Range) {
	for n, i := range at {
		if n > 0 && at[n-1] == i-1 {
			runs[len(runs)-1].To = l.heads[i].Seq
			continue
		}
		runs = append(runs, Range{l.heads[i].Seq, l.heads[i].Seq})
	}
	return runs
}

// TokensWith returns the tokens that the working history would have after e, which must be the next edit. It does not
// apply e.
func (l *Log) TokensWith(e Edit) int {
	v := l.with(e)
	return v.Tokens()
}

// LengthWith is TokensWith for the number of messages.
func (l *Log) LengthWith(e Edit) int { return len(l.with(e).messages) }

func (l *Log) with(e Edit) view {
	next := Log{heads: l.heads, edits: append(l.edits[:len(l.edits):len(l.edits)], e), view: view{unanswered: l.unanswered}}
	return next.at(e.Seq)
}
