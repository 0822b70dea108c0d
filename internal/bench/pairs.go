package bench

import "slices"

// pairs are alternating measurements of two things.
type pairs struct{ ours, theirs []float64 }

// takeTurns measures both n times. The order alternates, so that neither always runs after the other.
func takeTurns(n int, ours, theirs func() float64) pairs {
	var p pairs
	for range n {
		p.take(ours, theirs)
	}
	return p
}

// take adds one measurement of both. The order alternates, as in takeTurns.
func (p *pairs) take(ours, theirs func() float64) {
	if len(p.ours)%2 == 0 {
		p.ours = append(p.ours, ours())
		p.theirs = append(p.theirs, theirs())
	} else {
		p.theirs = append(p.theirs, theirs())
		p.ours = append(p.ours, ours())
	}
}

// beside returns a row whose target applies to the median of ours itself; theirs is shown for comparison.
func (p pairs) beside(measure string, u unit, of string, target float64) row {
	return alone(measure, u, median(p.ours), target).versus(median(p.theirs), of)
}

// addGrowth adds how many times the median has grown from one group of pairs to another.
func (p *pairs) addGrowth(before, after pairs) {
	p.ours = append(p.ours, median(after.ours)/median(before.ours))
	p.theirs = append(p.theirs, median(after.theirs)/median(before.theirs))
}

// addAll adds the pairs of q.
func (p *pairs) addAll(q pairs) {
	p.ours = append(p.ours, q.ours...)
	p.theirs = append(p.theirs, q.theirs...)
}

// ratio returns a row with the median of the pairs' ratios.
func (p pairs) ratio(measure string, u unit, of string, target float64) row {
	return row{
		measure: measure, unit: u, figure: median(p.ours), reference: median(p.theirs), of: of,
		compared: p.median(func(a, b float64) float64 { return a / b }), with: times, target: target,
	}
}

// difference returns a row with the median of the pairs' differences.
func (p pairs) difference(measure string, u unit, of string, target float64) row {
	r := p.ratio(measure, u, of, target)
	r.compared, r.with = p.median(func(a, b float64) float64 { return a - b }), u
	return r
}

func (p pairs) median(of func(ours, theirs float64) float64) float64 {
	values := make([]float64, len(p.ours))
	for i := range values {
		values[i] = of(p.ours[i], p.theirs[i])
	}
	return median(values)
}

// percentile returns the value that p percent of values do not exceed, 0 for no values.
func percentile(values []float64, p int) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[(len(values)*p+99)/100-1]
}

// median returns the median, 0 for no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
