package tokens

import (
	"math"
	"testing"
)

func TestFormat(t *testing.T) {
	tests := []struct {
		n    int
		want string
	}{
		{0, "0"}, {7, "7"}, {500, "500"}, {999, "999"},
		{1000, "1K"}, {1049, "1K"}, {1050, "1.1K"}, {1250, "1.3K"}, {1500, "1.5K"}, {9999, "10K"},
		{24_000, "24K"}, {128_000, "128K"}, {123_456, "123.5K"}, {999_900, "999.9K"}, {999_949, "999.9K"},
		{999_950, "1M"}, {1_000_000, "1M"}, {1_049_999, "1M"}, {2_300_000, "2.3M"}, {1_234_567_890, "1234.6M"},
		{-500, "-500"}, {-1500, "-1.5K"}, {-999_950, "-1M"},
	}
	for _, tt := range tests {
		if got := Format(tt.n); got != tt.want {
			t.Errorf("Format(%d) = %q, want %q", tt.n, got, tt.want)
		}
	}
	Format(math.MinInt) // must not overflow into a loop
}
