package server

import (
	"fmt"
	"io"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"strata/compaction"
	"strata/history"
	"strata/server/wire"
)

// Metrics are the counters of /metrics. They implement session.Meter and are safe for concurrent use.
type Metrics struct {
	set      *metrics.Set
	deltas   *metrics.Counter
	tokens   map[string]*metrics.Counter
	cost     *metrics.FloatCounter
	turns    map[history.TurnStatus]*metrics.Counter
	started  *metrics.Counter
	requests *metrics.Counter
	strays   *metrics.Counter
}

// The kinds of tokens.
const (
	tokensInput      = "input"
	tokensOutput     = "output"
	tokensCacheRead  = "cache_read"
	tokensCacheWrite = "cache_write"
)

// NewMetrics returns metrics at zero.
func NewMetrics() *Metrics {
	set := metrics.NewSet()
	m := &Metrics{
		set:      set,
		deltas:   set.NewCounter("strata_deltas_total"),
		cost:     set.NewFloatCounter("strata_cost_dollars_total"),
		started:  set.NewCounter("strata_turns_started_total"),
		requests: set.NewCounter("strata_requests_total"),
		strays:   set.NewCounter("strata_stray_responses_total"),
		tokens:   make(map[string]*metrics.Counter),
		turns:    make(map[history.TurnStatus]*metrics.Counter),
	}
	for _, kind := range []string{tokensInput, tokensOutput, tokensCacheRead, tokensCacheWrite} {
		m.tokens[kind] = set.NewCounter(fmt.Sprintf("strata_tokens_total{kind=%q}", kind))
	}
	for _, status := range []history.TurnStatus{history.TurnCompleted, history.TurnCancelled, history.TurnFailed, history.TurnInterrupted} {
		m.turns[status] = set.NewCounter(fmt.Sprintf("strata_turns_total{status=%q}", status))
	}
	return m
}

func (m *Metrics) request() { m.requests.Inc() }

// stray counts the responses of clients to requests that are not in flight.
func (m *Metrics) stray() { m.strays.Inc() }

// TurnStarted implements session.Meter.
func (m *Metrics) TurnStarted() { m.started.Inc() }

// TurnFinished implements session.Meter.
func (m *Metrics) TurnFinished(status history.TurnStatus, usage history.Usage, cost float64) {
	if c := m.turns[status]; c != nil {
		c.Inc()
	}
	m.tokens[tokensInput].Add(usage.Input)
	m.tokens[tokensOutput].Add(usage.Output)
	m.tokens[tokensCacheRead].Add(usage.CacheRead)
	m.tokens[tokensCacheWrite].Add(usage.CacheWrite)
	m.cost.Add(cost)
}

// Deltas implements session.Meter.
func (m *Metrics) Deltas(n int) { m.deltas.Add(n) }

// compaction counts compactions by outcome.
func (m *Metrics) compaction(d compaction.Done) {
	m.set.GetOrCreateCounter(fmt.Sprintf("strata_compactions_total{outcome=%q}", d.Result)).Inc()
}

// StoreLatency records the duration of an operation of the store.
func (m *Metrics) StoreLatency(op string, took time.Duration) {
	m.set.GetOrCreateHistogram(fmt.Sprintf("strata_store_seconds{op=%q}", op)).Update(took.Seconds())
}

// write writes all metrics, and the gauges now, in the text format of Prometheus.
func (m *Metrics) write(w io.Writer, now wire.Counts) {
	m.set.WritePrometheus(w)
	for _, g := range []struct {
		name  string
		value int64
	}{
		{"strata_connections", int64(now.Connections)},
		{"strata_sessions_loaded", int64(now.Sessions)},
		{"strata_store_queue", int64(now.Writing)},
		{"strata_outbox_replies", int64(now.Replies)},
		{"strata_database_bytes", now.DatabaseBytes},
	} {
		fmt.Fprintf(w, "%s %d\n", g.name, g.value)
	}
	metrics.WriteProcessMetrics(w)
	metrics.WriteFDMetrics(w)
}
