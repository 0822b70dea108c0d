package compaction

// Fill is how far a history is on its way to the next automatic compaction, in the unit that its strategy counts.
type Fill struct {
	Size    int
	Trigger int // 0: the history's size never triggers a compaction
	Unit    Unit
	Due     bool
}

// Unit is what a strategy counts to decide whether a compaction is due.
type Unit string

// The units.
const (
	Tokens     Unit = "tokens"
	Steps      Unit = "steps"      // replies of the assistant, each with the results of its tools
	Iterations Unit = "iterations" // exchanges
)

// above returns the fill of a history that is due above a trigger in tokens; at 0 it never is.
func above(size, trigger int) Fill {
	return Fill{Size: size, Trigger: max(trigger, 0), Unit: Tokens, Due: trigger > 0 && size > trigger}
}

// from returns the fill of a history that is due as soon as it has so many units.
func from(trigger, size int, unit Unit) Fill {
	return Fill{Size: size, Trigger: trigger, Unit: unit, Due: size >= trigger}
}

// Percent returns the size in percent of the trigger, rounded down: 100 and more exactly if a compaction is due.
func (f Fill) Percent() int {
	if f.Trigger <= 0 {
		return 0
	}
	percent := int(int64(f.Size) * 100 / int64(f.Trigger))
	if f.Due {
		return max(percent, 100)
	}
	return min(percent, 99)
}
