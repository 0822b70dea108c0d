package tokens

import (
	"math"
	"testing"
)

func TestCalibrationLearnsARatio(t *testing.T) {
	var c Calibration
	if c.Known() || c.Apply(1000) != 1000 {
		t.Errorf("zero calibration: Known %v, Apply(1000) = %d", c.Known(), c.Apply(1000))
	}
	c.Learn(1000, 1200)
	if got := c.Apply(500); got != 600 {
		t.Errorf("after one call Apply(500) = %d, want 600", got)
	}
	for range 200 {
		c.Learn(1000, 1500)
	}
	if got := c.Apply(1000); got != 1500 {
		t.Errorf("after many calls Apply(1000) = %d, want 1500", got)
	}
}

func TestCalibrationForgetsSlowly(t *testing.T) {
	var c Calibration
	for range 100 {
		c.Learn(1000, 1000)
	}
	if _, weight := c.State(); weight != maxWeight {
		t.Errorf("weight %v, want the maximum %v", weight, maxWeight)
	}
	c.Learn(1000, 2600)
	if got, want := c.Apply(1000), 1100; got != want {
		t.Errorf("after one outlier Apply(1000) = %d, want %d", got, want)
	}
}

func TestCalibrationIgnoresSmallPartialAndMissingReports(t *testing.T) {
	tests := []struct{ counted, reported int }{{0, 100}, {minSample - 1, 500}, {1000, 0}, {1000, -5}, {-1, -1}, {1000, 499}, {16_839, 682}}
	for _, tt := range tests {
		var c Calibration
		if c.Learn(tt.counted, tt.reported); c.Known() {
			t.Errorf("learned from counted %d, reported %d", tt.counted, tt.reported)
		}
	}
}

func TestCalibrationStaysInBounds(t *testing.T) {
	var c Calibration
	c.Learn(100, 1_000_000)
	if got := c.Apply(100); got != 100*maxRatio {
		t.Errorf("100 is %d, want %v", got, 100*maxRatio)
	}
	c = Calibration{}
	c.Learn(1_000_000, 500_000)
	if got := c.Apply(100); got != 100*minRatio {
		t.Errorf("100 is %d, want %v", got, 100*minRatio)
	}
}

func TestCalibrationIsRestored(t *testing.T) {
	var c Calibration
	c.Learn(1000, 1300)
	if got := NewCalibration(c.State()); got != c {
		t.Errorf("restored %+v, want %+v", got, c)
	}
	tests := []struct {
		ratio, weight float64
		want          Calibration
	}{
		{1.5, 1e9, Calibration{1.5, maxWeight}},
		{100, 1, Calibration{maxRatio, 1}},
		{minRatio, 1, Calibration{minRatio, 1}},
		{0.25, 16, Calibration{}}, // learned from partial reports
		{0, 5, Calibration{}},
		{-1, 5, Calibration{}},
		{1, -5, Calibration{}},
		{math.NaN(), 5, Calibration{}},
		{1, math.NaN(), Calibration{}},
		{math.Inf(1), 5, Calibration{}},
	}
	for _, tt := range tests {
		if got := NewCalibration(tt.ratio, tt.weight); got != tt.want {
			t.Errorf("NewCalibration(%v, %v) = %+v, want %+v", tt.ratio, tt.weight, got, tt.want)
		}
	}
}
