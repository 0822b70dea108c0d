package overview

import (
	"time"

	"strata/historystore/spending"
)

// Days returns the beginnings of the n calendar days up to today in a time zone, and the end of today. A day has 23 to 25
// hours where clocks change.
func Days(now time.Time, n int, zone *time.Location) []time.Time {
	y, m, d := now.In(zone).Date()
	times := make([]time.Time, n+1)
	for i := range times {
		times[i] = Begin(y, m, d-n+1+i, zone)
	}
	return times
}

// Begin returns the first instant of a calendar day in a time zone: midnight, or the hour to which clocks change at
// midnight. Days and months out of range are normalized as by time.Date.
func Begin(y int, m time.Month, d int, zone *time.Location) time.Time {
	wanted := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	at := time.Date(y, m, d, 0, 0, 0, 0, zone).Truncate(spending.Grain).Add(-3 * time.Hour)
	for date(at.In(zone)).Before(wanted) {
		at = at.Add(spending.Grain)
	}
	return at.In(zone)
}

// date returns the calendar day of a time as the same day in UTC.
func date(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
