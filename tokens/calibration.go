package tokens

import "math"

// Bounds of a calibration.
const (
	minRatio  = 0.5 // a lower ratio means a partial report
	maxRatio  = 4.0
	maxWeight = 16.0 // calls in the moving average: one call moves a settled ratio by at most a sixteenth of the difference
	minSample = 64   // counted tokens below which framing dominates the reported count
)

// Calibration corrects token counts for a model. It is an exponentially weighted average of the ratio of reported to
// counted tokens. The zero value has learned nothing and leaves counts unchanged.
type Calibration struct {
	ratio  float64
	weight float64 // evidence in calls, at most maxWeight
}

// NewCalibration restores a calibration from its State. It returns the zero value for values that are not positive numbers
// or were learned from partial reports, and clamps a ratio or weight that is too high.
func NewCalibration(ratio, weight float64) Calibration {
	if !(weight > 0) || !(ratio >= minRatio) || math.IsInf(ratio, 0) { // also NaN
		return Calibration{}
	}
	return Calibration{bounded(ratio), min(weight, maxWeight)}
}

// State returns the ratio and its weight, for storage.
func (c Calibration) State() (ratio, weight float64) { return c.ratio, c.weight }

// Known reports whether c has learned from at least one call.
func (c Calibration) Known() bool { return c.weight > 0 }

// Partial reports whether a provider's count cannot be that of the whole input, because it is less than half of ours.
// Some providers report only the uncached part.
func Partial(counted, reported int) bool { return float64(reported) < minRatio*float64(counted) }

// Learn adds one call: the counted and the reported input tokens. It ignores calls below 64 counted tokens, calls without
// a report, and partial reports.
func (c *Calibration) Learn(counted, reported int) {
	if counted < minSample || reported <= 0 || Partial(counted, reported) {
		return
	}
	ratio := bounded(float64(reported) / float64(counted))
	c.weight = min(c.weight+1, maxWeight)
	c.ratio += (ratio - c.ratio) / c.weight
}

// Apply returns the tokens that the provider is expected to report for n counted tokens.
func (c Calibration) Apply(n int) int {
	if !c.Known() {
		return n
	}
	return int(math.Round(float64(n) * c.ratio))
}

func bounded(ratio float64) float64 { return min(max(ratio, minRatio), maxRatio) }
