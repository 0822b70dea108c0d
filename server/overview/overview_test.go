package overview

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
	_ "time/tzdata"

	"strata/history"
	"strata/historystore/spending"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestDaysFollowTheClocks(t *testing.T) {
	for _, test := range []struct {
		zone  string
		now   string
		hours []float64 // of the days
		first string    // beginning of the first one
	}{
		{"Europe/Berlin", "2026-03-30T10:00:00Z", []float64{24, 23, 24}, "2026-03-28T00:00:00+01:00"},
		{"Europe/Berlin", "2026-10-25T23:30:00Z", []float64{24, 25, 24}, "2026-10-24T00:00:00+02:00"},
		{"Africa/Cairo", "2026-04-25T10:00:00Z", []float64{24, 23, 24}, "2026-04-23T00:00:00+02:00"},          // no midnight on the 24th
		{"America/Havana", "2026-03-08T20:00:00Z", []float64{24, 24, 23}, "2026-03-06T00:00:00-05:00"},        // none today
		{"America/Havana", "2026-11-01T20:00:00Z", []float64{24, 24, 25}, "2026-10-30T00:00:00-04:00"},        // midnight twice
		{"Australia/Lord_Howe", "2026-04-05T10:00:00Z", []float64{24, 24, 24.5}, "2026-04-03T00:00:00+11:00"}, // half an hour
		{"Asia/Kathmandu", "2026-04-05T18:20:00Z", []float64{24, 24, 24}, "2026-04-04T00:00:00+05:45"},        // the 6th there
		{"Pacific/Apia", "2011-12-30T20:00:00Z", []float64{24, 0, 24}, "2011-12-29T00:00:00-10:00"},           // has no 30th
		{"America/Los_Angeles", "2026-01-01T03:00:00Z", []float64{24, 24, 24}, "2025-12-29T00:00:00-08:00"},   // last year there
		{"UTC", "2024-03-01T00:00:00Z", []float64{24, 24, 24}, "2024-02-28T00:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		times := Days(now, len(test.hours), zone(t, test.zone))
		var hours []float64
		for i := range len(times) - 1 {
			hours = append(hours, times[i+1].Sub(times[i]).Hours())
		}
		if !reflect.DeepEqual(hours, test.hours) || times[0].Format(time.RFC3339) != test.first {
			t.Errorf("%s at %s: days of %v hours from %s, want %v from %s", test.zone, test.now, hours, times[0].Format(time.RFC3339), test.hours, test.first)
		}
		if last := len(times) - 1; now.Before(times[last-1]) || !now.Before(times[last]) {
			t.Errorf("%s at %s: today is from %s to %s", test.zone, test.now, times[last-1], times[last])
		}
	}
}

// prices knows the prices of all models but one: 3 dollars per million tokens of input, 15 of output.
func prices(model string, u history.Usage) (float64, bool) {
	if model == "maker/unknown" {
		return 0, false
	}
	return (float64(u.Context())*3 + float64(u.Output)*15) / 1e6, true
}

// Whatever the calls, days, models and folders each add up to the totals, and the rest of a long list is one entry.
func TestEachListAddsUpToTheTotals(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 17))
	for _, most := range []int{1, 7, 120} {
		now := time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC)
		days := Days(now, 30, zone(t, "Europe/Berlin"))
		table := NewTable(days, prices, func(cwd string) string { return cwd })
		for range 2000 {
			session := random.IntN(200)
			free := random.IntN(2)
			s := spending.Sum{
				At: days[0].Add(time.Duration(random.Int64N(int64(days[30].Sub(days[0]))))).Truncate(spending.Grain), Session: fmt.Sprint("sess_", session),
				CWD: fmt.Sprint("/folder", session%most), Model: fmt.Sprint("maker/model", random.IntN(most)),
				Totals: history.Totals{Calls: 1 + free, Cost: random.Float64(), Usage: history.Usage{
					Input: random.IntN(1000), Output: random.IntN(1000), CacheRead: random.IntN(9000), CacheWrite: random.IntN(1000),
				}}, Expected: random.IntN(1000), Free: free, Failed: random.IntN(2), Stopped: random.IntN(2),
			}
			if random.IntN(9) == 0 {
				s.Model = "maker/unknown"
			}
			table.Add(s)
		}
		o := table.Overview()
		var byDay, byModel, byFolder Spent
		for i := range o.Days {
			add(&byDay, &o.Days[i].Spent)
		}
		for i := range o.Models {
			add(&byModel, &o.Models[i].Spent)
		}
		for i := range o.Folders {
			add(&byFolder, &o.Folders[i].Spent)
		}
		for name, sum := range map[string]Spent{"days": byDay, "models": byModel, "folders": byFolder} {
			if math.Abs(sum.Cost-o.Totals.Cost) > 1e-6 || math.Abs(sum.Uncached-o.Totals.Uncached) > 1e-6 {
				t.Errorf("%d groups: the %s cost %v, uncached %v; the totals are %v and %v", most, name, sum.Cost, sum.Uncached, o.Totals.Cost, o.Totals.Uncached)
			}
			sum.Cost, sum.Uncached, sum.HitRate = o.Totals.Cost, o.Totals.Uncached, o.Totals.HitRate
			if sum != o.Totals {
				t.Errorf("%d groups: the %s are %+v, the totals %+v", most, name, sum, o.Totals)
			}
		}
		if last := o.Folders[len(o.Folders)-1]; len(o.Folders) > maxGroups+1 || (last.Others > 0) != (most > maxGroups) || (last.Folder == "") != (last.Others > 0) {
			t.Errorf("%d groups: %d folders, the last is %+v", most, len(o.Folders), last)
		}
		if len(o.Sessions) != maxSessions || o.Totals.Unpriced == 0 || o.Totals.HitRate <= 0 || o.Totals.HitRate >= 1 {
			t.Errorf("%d groups: %d sessions, totals %+v", most, len(o.Sessions), o.Totals)
		}
		for i := range o.Sessions[1:] {
			if o.Sessions[i].Cost < o.Sessions[i+1].Cost {
				t.Errorf("session %d costs %v, less than the next one", i, o.Sessions[i].Cost)
			}
		}
	}
}

func TestSumsOutsideTheDaysDoNotCount(t *testing.T) {
	days := Days(time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC), 2, time.UTC)
	table := NewTable(days, prices, func(cwd string) string { return cwd })
	for _, at := range []time.Time{days[0].Add(-spending.Grain), days[0], days[1].Add(-spending.Grain), days[1], days[2].Add(-spending.Grain), days[2]} {
		table.Add(spending.Sum{At: at, Session: "sess_a", CWD: "/a", Model: "m", Totals: history.Totals{Calls: 1}})
	}
	o := table.Overview()
	if o.Totals.Calls != 4 || o.Days[0].Calls != 2 || o.Days[1].Calls != 2 {
		t.Errorf("%d calls, %d and %d by day", o.Totals.Calls, o.Days[0].Calls, o.Days[1].Calls)
	}
}
