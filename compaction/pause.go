package compaction

// Pause keeps automatic compaction from trying in vain again and again. The zero value allows everything.
// Sessions store it, and begin with a new one when their history has been cleared, restored or compacted
// on request.
type Pause struct {
	Fruitless int `json:"fruitless,omitempty"` // compactions since the last one that made the history smaller
	Tokens    int `json:"tokens,omitempty"`    // of the history at the newest of them
}

// fruitlessRuns is how many fruitless compactions in a row begin a pause.
const fruitlessRuns = 2

// Allows reports whether a history of the given size may be compacted automatically. A pause ends when it
// has grown by a quarter.
func (p Pause) Allows(historyTokens int) bool {
	return p.Fruitless < fruitlessRuns || historyTokens >= p.Tokens+max(p.Tokens/4, 1)
}

// Note takes notice of how a compaction ended. One that was cancelled or had nothing to do proves nothing.
func (p *Pause) Note(o Outcome) {
	switch o.Result {
	case Compacted:
		*p = Pause{}
	case NoGain, Failed:
		p.Fruitless++
		p.Tokens = o.Before
	}
}
