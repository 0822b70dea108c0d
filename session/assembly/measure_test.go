package assembly

import (
	"testing"

	"strata/llm"
	"strata/session/profile"
	"strata/stability"
)

// A profile's budget narrows a model, and never widens it.
func TestNarrowedModels(t *testing.T) {
	for _, tt := range []struct {
		budget       profile.Budget
		window, most int
	}{
		{profile.Budget{}, 100_000, 10_000},
		{profile.Budget{ContextWindow: 50_000}, 50_000, 10_000},
		{profile.Budget{ContextWindow: 200_000}, 100_000, 10_000},
		{profile.Budget{ReservedOutput: 4_000}, 100_000, 4_000},
		{profile.Budget{ReservedOutput: 20_000}, 100_000, 10_000},
		{profile.Budget{Reserve: profile.Reserve{Percent: 5}}, 100_000, 5_000},
		{profile.Budget{Reserve: profile.Reserve{Percent: 20}}, 100_000, 10_000},
	} {
		if m := Narrowed(llm.Model{Window: 100_000, MaxOutput: 10_000}, &tt.budget); m.Window != tt.window || m.MaxOutput != tt.most {
			t.Errorf("%+v: a window of %d, replies of %d", tt.budget, m.Window, m.MaxOutput)
		}
	}
	for most, want := range map[int]int{10_000: 10_000, 25_000: 25_000, 90_000: 25_000} {
		m := Measure{Model: llm.Model{Window: 100_000, MaxOutput: most}}
		if Reserve(&m.Model) != want || m.Room() != 100_000-want {
			t.Errorf("a model that writes %d tokens reserves %d, leaves %d", most, Reserve(&m.Model), m.Room())
		}
	}
}

// What has room by our count has room by the provider's, and little is given away.
func TestCapacityIsWhatTheProviderTakes(t *testing.T) {
	learned := NewCalibrations(nil)
	learned.Learn("local/dense", 10_000, 14_300)
	learned.Learn("local/loose", 10_000, 8_100)
	for _, model := range []string{"local/dense", "local/loose", "local/unknown"} {
		for _, drift := range []float64{1, 1.37, 2} {
			m := Measure{Model: llm.Model{Name: model}, Calibrations: learned, Drift: drift}
			for n := range 3_000 {
				c := m.Capacity(n)
				if m.Calibrated(c) > n {
					t.Fatalf("%s, drift %g: %d tokens are %d of the provider's, more than %d", model, drift, c, m.Calibrated(c), n)
				}
				if more := c + c/50 + 4; m.Calibrated(more) < n {
					t.Fatalf("%s, drift %g: for %d of the provider's tokens there are %d, %d would do", model, drift, n, c, more)
				}
			}
		}
	}
}

// Prices that are not known are the provider's usual ones.
func TestRelativePrices(t *testing.T) {
	for _, tt := range []struct {
		price llm.Price
		want  stability.Prices
	}{
		{llm.Price{}, stability.Prices{}},
		{llm.Price{Input: 3}, stability.Prices{}},
		{llm.Price{CacheRead: 1}, stability.Prices{}},
		{llm.Price{Input: 4, CacheRead: 1}, stability.Prices{Read: 0.25, Write: 1, WriteLong: 1}},
		{llm.Price{Input: 4, CacheRead: 1, CacheWrite: 5}, stability.Prices{Read: 0.25, Write: 1.25, WriteLong: 2}},
	} {
		if got := relative(tt.price); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.price, got, tt.want)
		}
	}
}
