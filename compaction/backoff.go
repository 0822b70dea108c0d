package compaction

// Backoff delays automatic compaction after failures. The zero value allows compactions.
// Sessions store it, and reset it when their history is cleared, restored or compacted on request.
type Backoff struct {
	Fruitless int `json:"fruitless,omitempty"` // failed compactions since the last one that made the history smaller
	Tokens    int `json:"tokens,omitempty"`    // of the history at the newest of them
}

// maxFruitless is the number of consecutive compactions without gain that start a backoff.
const maxFruitless = 2

// Allows reports whether a history of the given size may be compacted automatically. A backoff ends when the history
// has grown by a quarter.
func (b Backoff) Allows(historyTokens int) bool {
	return b.Fruitless < maxFruitless || historyTokens >= b.Tokens+max(b.Tokens/4, 1)
}

// Note records the outcome of a compaction. It ignores compactions that were cancelled or had nothing to do.
func (b *Backoff) Note(o Outcome) {
	switch o.Result {
	case Compacted:
		*b = Backoff{}
	case NoGain, Failed:
		b.Fruitless++
		b.Tokens = o.Before
	}
}
