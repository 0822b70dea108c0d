// Package metered measures model calls for their rows in the usage log.
//
// It must never call a model or store a row.
package metered

import (
	"time"

	"strata/history"
	"strata/llm/reply"
	"strata/session/assembly"
)

// Call is a model call, with all requests that are sent for it. It belongs to one goroutine at a time. The methods of a
// nil Call describe one that was never sent.
type Call struct {
	now              func() time.Time
	sent, first, end time.Time // zero: not yet
	attempts         int
	received         bool
}

// Begin returns a call before its first request.
func Begin(now func() time.Time) *Call { return &Call{now: now} }

// Sending notes that a request is about to be sent.
func (c *Call) Sending() {
	if c.sent.IsZero() {
		c.sent = c.now()
	}
	c.received = false
}

// Event notes an event of the reply.
func (c *Call) Event(e *reply.Event) {
	if c.first.IsZero() && (e.Kind == reply.EventText || e.Kind == reply.EventThinking || e.Kind == reply.EventToolCall) {
		c.first = c.now()
	}
}

// Ended notes the end of the newest request.
func (c *Call) Ended(r *reply.Result) {
	c.end = c.now()
	c.attempts += r.Attempts
	c.received = r.Received
}

// Received reports whether the provider has the newest request and did not refuse it.
func (c *Call) Received() bool { return c != nil && c.received }

// Spent returns what the call used. request and reply are counted tokens: of the whole request, and of the reply as far as
// it arrived, without its framing. A provider charges nothing for a request that it did not receive, or refused.
func (c *Call) Spent(m *assembly.Measure, result *reply.Result, err error, request, reply int) assembly.Spent {
	switch {
	case err == nil:
		return m.SpentBy(result, request, reply)
	case c.Received() || result.UsageReported || len(result.Blocks) > 0:
		return m.SpentUntil(result, request, reply)
	}
	return assembly.Spent{}
}

// Put sets the status of the call's row, its attempts and durations. failure is nil for a call that was stopped. A call whose
// usage was counted because it has not ended is not compared to what it was expected to read from the cache.
func (c *Call) Put(row *history.Call, status history.CallStatus, failure *history.Failure) {
	row.Status, row.Failure = status, failure
	if !row.TellsCache() {
		row.Expected = 0
	}
	if c == nil || c.sent.IsZero() {
		return
	}
	row.Attempts = c.attempts
	row.Duration = max(c.end.Sub(c.sent).Milliseconds(), 0)
	if !c.first.IsZero() {
		row.FirstToken = max(c.first.Sub(c.sent).Milliseconds(), 1)
	}
}
