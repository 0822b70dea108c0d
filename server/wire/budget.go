package wire

import "time"

// BudgetState is a budget of the configuration with the cost in its current period.
type BudgetState struct {
	Name        string    `json:"name"`
	Folder      string    `json:"folder,omitempty"` // whose sessions count, and those of the folders below it; empty: all
	Per         string    `json:"per"`              // day, month
	Since       time.Time `json:"since"`            // beginning of the current period
	Until       time.Time `json:"until"`            // its end
	Limit       float64   `json:"limit"`            // US dollars
	WarnPercent int       `json:"warnPercent"`
	Spent       float64   `json:"spent"`    // US dollars
	Unpriced    int       `json:"unpriced"` // calls whose price is unknown: spent counts them as 0
	State       string    `json:"state"`    // ok, near, over
}
