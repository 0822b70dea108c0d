package tokens

import (
	"math"
	"strconv"
)

// Format writes a count the way it is shown: 500, 1.5K, 2.3M. It rounds to one decimal, halves away from zero,
// leaves out ".0", and takes the next unit where rounding reaches it: 999,950 is 1M.
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

// decimal writes n / unit with at most one decimal.
func decimal(n, unit int) string {
	tenths := math.Round(float64(n) * 10 / float64(unit))
	return strconv.FormatFloat(tenths/10, 'f', -1, 64)
}
