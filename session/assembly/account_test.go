package assembly

import "testing"

func TestBudgetWarnsByTheRoom(t *testing.T) {
	for _, tt := range []struct {
		used, room int
		want       string
	}{
		{0, 0, ""},
		{0, 1000, ""},
		{749, 1000, ""},
		{750, 1000, "the window is filling up"},
		{899, 1000, "the window is filling up"},
		{900, 1000, "the window is nearly full"},
		{1000, 1000, "the window is nearly full"},
		{1001, 1000, "over the limit"},
		{1, 0, ""},
	} {
		if got := warningAt(tt.used, tt.room); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.used, tt.room, got, tt.want)
		}
	}
}
