package history

import "time"

// The times that JSON and RFC 3339 can represent: their years have four digits.
var (
	earliest = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// StoredTime returns the time of a number of microseconds since 1970, as a store has it. The number of a damaged row can be
// any: the result is the nearest time that JSON can represent.
func StoredTime(micros int64) time.Time {
	return time.UnixMicro(min(max(micros, earliest.UnixMicro()), latest.UnixMicro())).UTC()
}
