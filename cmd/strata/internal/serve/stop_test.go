package serve

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A prompt that waits for the end of a turn starts the next one a moment later.
func TestTheEndOfATurnIsNotTheEndOfTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		looks := []int{0, 2, 0, 1, 1, 0, 0, 1}
		err := awaitIdle(t.Context(), &out, func() (turns int, err error) {
			turns, looks = looks[0], looks[1:]
			return turns, nil
		})
		if want := "strata: waiting for the end of 2 turns\nstrata: waiting for the end of 1 turn\n"; err != nil || len(looks) != 1 || out.String() != want {
			t.Errorf("%d looks are left, error %v, said %q", len(looks), err, &out)
		}
		failed := errors.New("failed")
		if err := awaitIdle(t.Context(), &out, func() (int, error) { return 0, failed }); !errors.Is(err, failed) {
			t.Errorf("error %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := awaitIdle(ctx, &out, func() (int, error) { return 1, nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}
