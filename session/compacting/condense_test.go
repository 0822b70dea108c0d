package compacting

import (
	"testing"

	"strata/history"
	"strata/session/assembly"
)

// TestAHugeHistoryIsNotReadWhileAPromptWaits gives Condense a state without a store: reading it would panic.
func TestAHugeHistoryIsNotReadWhileAPromptWaits(t *testing.T) {
	half := history.Viewed{Head: history.Head{ID: "msg_1", Role: history.RoleUser, Bytes: maxCondensed/2 + 1}}
	state := &assembly.State{View: []history.Viewed{half, half}}
	if _, ok, err := Condense(t.Context(), state, &Rules{}, byNeed, state.View); ok || err != nil {
		t.Errorf("shortened %t, error %v", ok, err)
	}
}
