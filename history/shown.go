package history

import (
	"fmt"

	"strata/internal/exact"
)

// CallShown is what clients were shown of a tool call besides its arguments, status and content. It is stored with the
// result, so that a replay shows the same.
type CallShown struct {
	Title     string     `json:"title,omitempty"`
	Kind      string     `json:"kind,omitempty"`      // of ACP: read, search, edit, execute, think, other and so on
	Locations []Location `json:"locations,omitempty"` // files that the call concerns

	Outcome CallOutcome `json:"outcome,omitempty"` // set if the result is Strata's own, not the tool's
	Plan    []PlanEntry `json:"plan,omitempty"`    // that the call has made the session's plan
	Diffs   []Diff      `json:"diffs,omitempty"`   // of files that the call has changed
}

// CallOutcome says why a call has a result of Strata instead of one of its tool.
type CallOutcome string

// The outcomes.
const (
	CallCancelled   CallOutcome = "cancelled"   // by the user
	CallInterrupted CallOutcome = "interrupted" // the session was closed
	CallLost        CallOutcome = "lost"        // the server ended; whether the call took effect is unknown
	CallNotRun      CallOutcome = "not_run"     // the reply was cut off, or there are no tools
)

// PlanEntry is one entry of a plan, as ACP has it.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"` // high, medium, low
	Status   string `json:"status"`   // pending, in_progress, completed
}

// Location is a place in a file.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // from 1; 0 for none
}

// The bounds of a CallShown.
const (
	MaxShownText      = 4 << 10 // bytes of a title, a kind, an outcome or a path
	MaxShownLocations = 100
	MaxPlan           = 100 // entries
	maxShownLine      = 1 << 40
)

// CheckShown returns an error with the place of a CallShown in blocks that exceeds the bounds, or that is not in a tool
// result.
func CheckShown(blocks []Block) error {
	for i := range blocks {
		b := &blocks[i]
		if b.Call != nil && b.Type != BlockToolResult {
			return &exact.Error{Path: fmt.Sprintf("[%d].call", i), Want: "is only allowed in a tool result"}
		}
		if b.Call != nil {
			if err := b.Call.check(); err != nil {
				return fmt.Errorf("[%d].call.%w", i, err)
			}
		}
		if err := CheckShown(b.Content); err != nil {
			return fmt.Errorf("[%d].content%w", i, err)
		}
	}
	return nil
}

func (c *CallShown) check() error {
	tooLong := func(name, text string) error {
		if len(text) > MaxShownText {
			return &exact.Error{Path: name, Want: fmt.Sprintf("%d bytes exceeds the limit of %d", len(text), MaxShownText)}
		}
		return nil
	}
	if err := tooLong("title", c.Title); err != nil {
		return err
	}
	if err := tooLong("kind", c.Kind); err != nil {
		return err
	}
	if err := tooLong("outcome", string(c.Outcome)); err != nil {
		return err
	}
	if err := checkDiffs(c.Diffs); err != nil {
		return err
	}
	if n := len(c.Locations); n > MaxShownLocations {
		return &exact.Error{Path: "locations", Want: fmt.Sprintf("%d elements exceeds the limit of %d", n, MaxShownLocations)}
	}
	if n := len(c.Plan); n > MaxPlan {
		return &exact.Error{Path: "plan", Want: fmt.Sprintf("%d elements exceeds the limit of %d", n, MaxPlan)}
	}
	for i, e := range c.Plan {
		for name, text := range map[string]string{"content": e.Content, "priority": e.Priority, "status": e.Status} {
			if err := tooLong(fmt.Sprintf("plan[%d].%s", i, name), text); err != nil {
				return err
			}
		}
	}
	for i, l := range c.Locations {
		place := fmt.Sprintf("locations[%d].", i)
		if err := tooLong(place+"path", l.Path); err != nil {
			return err
		}
		if l.Line < 0 || l.Line > maxShownLine {
			return &exact.Error{Path: place + "line", Want: fmt.Sprintf("must be a whole number from 0 to %d", maxShownLine)}
		}
	}
	return nil
}
