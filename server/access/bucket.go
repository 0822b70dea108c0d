package access

import (
	"sync"
	"time"
)

// bucket limits how often something happens: burst times at once, and one more each interval.
type bucket struct {
	burst    int
	interval time.Duration
	now      func() time.Time

	mu    sync.Mutex
	spent int       // of burst
	since time.Time // from when on spent goes down
}

func newBucket(burst int, interval time.Duration, now func() time.Time) *bucket {
	return &bucket{burst: burst, interval: interval, now: now}
}

// take reports whether it may happen once more now, and if so counts it.
func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	if b.spent >= b.burst {
		return false
	}
	b.spent++
	return true
}

func (b *bucket) refill() {
	now := b.now()
	gained := int64(now.Sub(b.since) / b.interval)
	if gained < 0 || gained >= int64(b.spent) { // the clock was set back, or all is paid
		b.spent, b.since = 0, now
		return
	}
	b.spent -= int(gained)
	b.since = b.since.Add(time.Duration(gained) * b.interval)
}
