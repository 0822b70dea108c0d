package session

import (
	"sync"

	"strata/history"
	"strata/tokens"
)

// Calibrations is what was learned about the real token counts of models, shared by all sessions.
// It is safe for concurrent use; its lock is a leaf.
type Calibrations struct {
	mu     sync.Mutex
	models map[string]tokens.Calibration
}

// NewCalibrations starts with what is stored.
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

// Known reports whether anything was learned of a model.
func (c *Calibrations) Known(model string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.models[model].Known()
}

// Learn takes a provider's report on a request whose tokens were counted, and returns what is to be stored.
func (c *Calibrations) Learn(model string, counted, reported int) *history.Calibration {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.models[model]
	known.Learn(counted, reported)
	c.models[model] = known
	ratio, weight := known.State()
	return &history.Calibration{Model: model, Ratio: ratio, Weight: weight}
}
