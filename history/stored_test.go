package history

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestAStoredTimeIsRepresentable(t *testing.T) {
	for _, n := range []int64{math.MinInt64, math.MaxInt64, -63_000_000_000_000_000, 253_402_300_800_000_000} {
		if _, err := json.Marshal(StoredTime(n)); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
	for _, at := range []time.Time{{}, time.UnixMicro(0).UTC(), time.Date(2026, 11, 29, 21, 0, 0, 1000, time.UTC)} {
		if got := StoredTime(at.UnixMicro()); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%v is stored as %v", at, got)
		}
	}
}
