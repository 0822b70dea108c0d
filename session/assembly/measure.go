package assembly

import (
	"sync"

	"strata/history"
	"strata/llm"
	"strata/session/fit"
	"strata/session/profile"
	"strata/tokens"
)

// Measure converts between counted tokens and those of a model's provider.
type Measure struct {
	Model        llm.Model
	Calibrations *Calibrations
	Drift        float64 // provider's count of the last request divided by ours; at least 1
}

// Reserve returns how many tokens of the window are kept for the reply: as many as the model can write, but at most a
// quarter, since some models can write nearly as much as they can read.
func Reserve(m *llm.Model) int { return min(m.MaxOutput, m.Window/4) }

// Narrowed returns a model with no more window and reply than a profile's budget gives it. A window with a reserve leaves
// that to the reply: a larger reply would make requests too large before a compaction is due.
func Narrowed(m llm.Model, b *profile.Budget) llm.Model {
	if b.ContextWindow > 0 {
		m.Window = min(m.Window, b.ContextWindow)
	}
	if b.ReservedOutput > 0 {
		m.MaxOutput = min(m.MaxOutput, b.ReservedOutput)
	}
	if reserve := b.Reserve.Of(m.Window); reserve > 0 {
		m.MaxOutput = min(m.MaxOutput, reserve)
	}
	return m
}

// Room returns how many of the provider's tokens the input may have.
func (m *Measure) Room() int { return m.Model.Window - Reserve(&m.Model) }

// ResultTokens returns how many counted tokens the texts in the results of one step may have.
func (m *Measure) ResultTokens() int { return int(float64(m.Capacity(m.Room())) * stepShare) }

// stepShare is the part of the room that the results of one step may take, so that they never prevent the next request.
const stepShare = 0.25

// Kept returns how many counted tokens of the input remain after an eviction.
func (m *Measure) Kept() int { return m.Capacity(int(float64(m.Room()) * fit.KeepShare)) }

// Calibrated returns counted tokens as the model's provider would report them, as far as that was learned of the model and
// of the last request.
func (m *Measure) Calibrated(n int) int {
	return int(float64(m.Calibrations.Apply(m.Model.Name, n)) * m.Drift)
}

// Capacity returns how many counted tokens the provider takes for at most n of its own.
func (m *Measure) Capacity(n int) int {
	c := n
	if provider := m.Calibrated(n); provider > 0 {
		c = int(float64(n) * float64(n) / float64(provider))
	}
	for c > 0 && m.Calibrated(c) > n {
		c--
	}
	return c
}

// Calibrations are the learned ratios between providers' token counts and ours, shared by all sessions.
// It is safe for concurrent use; its lock is a leaf.
type Calibrations struct {
	mu     sync.Mutex
	models map[string]tokens.Calibration
}

// NewCalibrations returns the stored calibrations.
func NewCalibrations(stored []history.Calibration) *Calibrations {
	c := &Calibrations{models: make(map[string]tokens.Calibration)}
	for _, s := range stored {
		c.models[s.Model] = tokens.NewCalibration(s.Ratio, s.Weight)
	}
	return c
}

// Apply returns n counted tokens as the model's provider would report them.
func (c *Calibrations) Apply(model string, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.models[model].Apply(n)
}

// Known reports whether a ratio was learned of a model.
func (c *Calibrations) Known(model string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.models[model].Known()
}

// Learn learns from a provider's count of a request's tokens and ours, and returns the calibration to store.
func (c *Calibrations) Learn(model string, counted, reported int) *history.Calibration {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.models[model]
	known.Learn(counted, reported)
	c.models[model] = known
	ratio, weight := known.State()
	return &history.Calibration{Model: model, Ratio: ratio, Weight: weight}
}
