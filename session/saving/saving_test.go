package saving

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"strata/history"
)

// failing is a store that returns errors, one for each attempt; then it succeeds.
type failing struct {
	errs  []error
	tried int
	after func() // after each attempt; may be nil
}

func (f *failing) Commit(context.Context, history.Change) error {
	f.tried++
	if f.after != nil {
		f.after()
	}
	if f.tried > len(f.errs) {
		return nil
	}
	return f.errs[f.tried-1]
}

// An outcome that is not known is asked for again, up to three times; an error after which nothing is stored is final.
func TestR11AttemptsToLearnAnOutcome(t *testing.T) {
	unknown, busy := errors.New("the answer was lost"), fmt.Errorf("busy: %w", history.ErrUnchanged)
	missing := fmt.Errorf("session: %w", history.ErrNotFound)
	for _, tt := range []struct {
		errs  []error
		tried int
		want  error
	}{
		{nil, 1, nil},
		{[]error{unknown}, 2, nil},
		{[]error{unknown, unknown}, 3, nil},
		{[]error{unknown, unknown, unknown, unknown}, 3, unknown},
		{[]error{busy}, 1, busy},
		{[]error{unknown, busy}, 2, busy},
		{[]error{missing}, 1, missing},
	} {
		store := &failing{errs: tt.errs}
		if err := Commit(t.Context(), store, history.Change{}); err != tt.want || store.tried != tt.tried {
			t.Errorf("%v: %v after %d attempts, want %v after %d", tt.errs, err, store.tried, tt.want, tt.tried)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	store := &failing{errs: []error{unknown, unknown}, after: cancel}
	if err := Commit(ctx, store, history.Change{}); err != unknown || store.tried != 1 {
		t.Errorf("after a cancellation: %v after %d attempts", err, store.tried)
	}
}
