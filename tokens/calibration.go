package tokens

import "math"

// Bounds of what a calibration believes.
const (
	minRatio  = 0.5 // below it a report is partial
	maxRatio  = 4.0
	maxWeight = 16.0 // calls that are remembered: one call moves a settled ratio by a sixteenth
	minSample = 64   // counted tokens below which a call says more about framing than about the tokenizer
)

// Calibration is what was learned of a model's real token counts: the ratio of reported to counted tokens,
// weighted exponentially. The zero value knows nothing and changes no count.
type Calibration struct {
	ratio  float64
	weight float64 // evidence in calls, at most maxWeight
}

// NewCalibration restores a calibration from its State. What makes no sense, or was learned from partial reports, is
// forgotten; a ratio or a weight that is too high is brought within its bound.
func NewCalibration(ratio, weight float64) Calibration {
	if !(weight > 0) || !(ratio >= minRatio) || math.IsInf(ratio, 0) { // also NaN
		return Calibration{}
	}
	return Calibration{bounded(ratio), min(weight, maxWeight)}
}

// State returns the ratio and the weight of its evidence, for storing.
func (c Calibration) State() (ratio, weight float64) { return c.ratio, c.weight }

// Known reports whether anything was learned.
func (c Calibration) Known() bool { return c.weight > 0 }

// Partial reports whether a provider's count of an input cannot be all of it: it is less than half of ours. Some
// providers report the uncached part only.
func Partial(counted, reported int) bool { return float64(reported) < minRatio*float64(counted) }

// Learn takes in one call: what was counted for its input and what the provider reported. Small calls and partial
// reports teach nothing.
func (c *Calibration) Learn(counted, reported int) {
	if counted < minSample || reported <= 0 || Partial(counted, reported) {
		return
	}
	seen := bounded(float64(reported) / float64(counted))
	c.weight = min(c.weight+1, maxWeight)
	c.ratio += (seen - c.ratio) / c.weight
}

// Apply returns the tokens that the provider is expected to report for what was counted as n.
func (c Calibration) Apply(n int) int {
	if !c.Known() {
		return n
	}
	return int(math.Round(float64(n) * c.ratio))
}

func bounded(ratio float64) float64 { return min(max(ratio, minRatio), maxRatio) }
