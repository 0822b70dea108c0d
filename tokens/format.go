package tokens

import (
	"math"
	"strconv"
)

// Format returns a count for display: 500, 1.5K, 2.3M. It rounds to one decimal, halves away from zero, omits ".0", and
// uses the next unit if rounding reaches it: 999,950 is 1M.
func Format(n int) string {
	switch size := math.Abs(float64(n)); {
	case size < 1000:
		return strconv.Itoa(n)
	case size < 999_950:
		return decimal(n, 1000) + "K"
	default:
		return decimal(n, 1_000_000) + "M"
	}
}

// decimal formats n / unit with at most one decimal.
func decimal(n, unit int) string {
	tenths := math.Round(float64(n) * 10 / float64(unit))
	return strconv.FormatFloat(tenths/10, 'f', -1, 64)
}
