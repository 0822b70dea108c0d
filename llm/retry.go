package llm

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"strata/llm/reply"
)

// Limits of the retries of one call.
const (
	maxTries   = 5
	firstDelay = 500 * time.Millisecond // doubles with each try
	maxDelay   = 60 * time.Second       // also of what a provider may ask for
)

// retries are the rules by which calls are tried again.
type retries struct {
	statuses []int // HTTP statuses that may be retried
	sleep    func(context.Context, time.Duration) error
	jitter   func() float64
}

// run runs try until it succeeds, fails for good, or has shown something.
// A failure of ctx ends it at once, also in mid-wait.
func (r retries) run(ctx context.Context, on func(reply.Event), try func() *Error) *Error {
	for attempt := 1; ; attempt++ {
		err := try()
		if err != nil {
			err.Attempts = attempt
		}
		if err == nil || err.Partial || !err.retryable(r.statuses) || attempt == maxTries {
			return err
		}
		delay := r.delay(attempt, err.RetryAfter)
		on(reply.Event{Kind: reply.EventRetrying, Retry: &reply.Retry{Attempt: attempt, Of: maxTries, Delay: delay, Status: err.Status, Reason: err.reason()}})
		if r.sleep(ctx, delay) != nil {
			return failure(ctx, err.Provider, "", err)
		}
	}
}

// delay is what the provider asked for, else exponential with half of it left to chance.
func (r retries) delay(attempt int, asked time.Duration) time.Duration {
	if asked > 0 {
		return min(asked, maxDelay)
	}
	d := min(firstDelay<<(attempt-1), maxDelay)
	return d/2 + time.Duration(r.jitter()*float64(d/2))
}

// retryAfter reads how long the provider asks to wait: milliseconds, seconds or a date. 0 where it does not.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return duration(s, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// duration is n units, within what a Duration holds. NaN counts as nothing.
func duration(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(24*time.Hour)))
}

// sleep waits for d or until ctx ends, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
