package llm

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// DefaultRetryStatuses are the HTTP statuses that are tried again: the provider, or a proxy in front of it, has
// trouble that may pass. 520 to 524 and 530 are Cloudflare's, 529 is Anthropic's.
var DefaultRetryStatuses = []int{408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530}

// Limits of the retries of one call.
const (
	maxTries   = 5
	firstDelay = 500 * time.Millisecond // doubles with each try
	maxDelay   = 60 * time.Second       // also of what a provider may ask for
)

// withRetries runs try until it succeeds, fails for good, or has shown something.
// A failure of ctx ends it at once, also in mid-wait.
// statuses are the HTTP statuses that may be retried.
func (c *Client) withRetries(ctx context.Context, statuses []int, on func(Event), try func() *Error) *Error {
	for attempt := 1; ; attempt++ {
		err := try()
		if err == nil || err.Partial || !err.retryable(statuses) || attempt == maxTries {
			return err
		}
		delay := c.delay(attempt, err.RetryAfter)
		on(Event{Kind: EventRetrying, Retry: &Retry{Attempt: attempt, Of: maxTries, Delay: delay, Status: err.Status, Reason: err.reason()}})
		if c.sleep(ctx, delay) != nil {
			return failure(ctx, err.Provider, "", err)
		}
	}
}

// delay is what the provider asked for, else exponential with half of it left to chance.
func (c *Client) delay(attempt int, asked time.Duration) time.Duration {
	if asked > 0 {
		return min(asked, maxDelay)
	}
	d := min(firstDelay<<(attempt-1), maxDelay)
	return d/2 + time.Duration(c.jitter()*float64(d/2))
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
