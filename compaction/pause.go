package compaction

// Pause is the backoff of automatic compaction after failures. The zero value allows compactions.
// Sessions store it, and reset it when their history is cleared, restored or compacted on request.
type Pause struct {
	Fruitless int `json:"fruitless,omitempty"` // failed compactions since the last one that made the history smaller
	Tokens    int `json:"tokens,omitempty"`    // of the history at the newest of them
}

// maxFruitless is the number of consecutive compactions without gain that start a backoff.
const maxFruitless = 2

// Allows reports whether a history of the given size may be compacted automatically. A backoff ends when the history
// has grown by a quarter.
func (p Pause) Allows(historyTokens int) bool {
	return p.Fruitless < maxFruitless || historyTokens >= p.Tokens+max(p.Tokens/4, 1)
}

// Note records the outcome of a compaction. It ignores compactions that were cancelled or had nothing to do.
func (p *Pause) Note(o Outcome) {
	switch o.Result {
	case Compacted:
		*p = Pause{}
	case NoGain, Failed:
		p.Fruitless++
		p.Tokens = o.Before
	}
}
