package wire

import (
	"time"

	"strata/session/following"
)

// Activity is what a session that is not idle does.
type Activity struct {
	Kind  string    `json:"kind"`            // waiting, thinking, answering, calling, asking, compacting
	Title string    `json:"title,omitempty"` // of a call
	Since time.Time `json:"since"`
}

// EndedTurn is a turn that has ended.
type EndedTurn struct {
	TurnID string `json:"turnId"`
	Status string `json:"status"` // as in turn_finished
}

func newActivity(a following.Activity) *Activity {
	if a.Kind == "" {
		return nil
	}
	return &Activity{Kind: string(a.Kind), Title: a.Title, Since: a.Since.UTC()}
}
