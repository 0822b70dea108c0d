package slash

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestOutputsAreBounded(t *testing.T) {
	var outputs Outputs
	known := func(id string) bool {
		_, known, end, _ := outputs.Begin(t.Context(), Key{"s", id})
		if !known {
			end("", errors.New("not run"))
		}
		return known
	}
	for i := range MaxOutputs + 1 {
		_, _, end, _ := outputs.Begin(t.Context(), Key{"s", fmt.Sprint(i)})
		end("text", nil)
	}
	_, _, end, _ := outputs.Begin(t.Context(), Key{"s", ""})
	end("text", nil)
	if known("0") || !known("1") || known("") || len(outputs.all) != MaxOutputs || len(outputs.order) != MaxOutputs {
		t.Errorf("%d outputs, %d in order", len(outputs.all), len(outputs.order))
	}
}

// A command that is sent again while it runs waits for the first one, and runs only if that fails.
func TestACommandRunsOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outputs Outputs
		key := Key{"s", "p"}
		_, _, fail, _ := outputs.Begin(t.Context(), key)
		texts := make(chan string, 2)
		var succeed func(string, error)
		for range 2 {
			go func() {
				text, known, end, _ := outputs.Begin(t.Context(), key)
				if !known {
					succeed = end
					return
				}
				texts <- text
			}()
		}
		synctest.Wait()
		if succeed != nil || len(texts) > 0 {
			t.Fatal("a command did not wait")
		}
		fail("", errors.New("busy"))
		synctest.Wait()
		succeed("done", nil)
		if got := <-texts; got != "done" {
			t.Errorf("got %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, _, end, _ := outputs.Begin(ctx, Key{"s", "other"})
		cancel()
		if _, known, _, err := outputs.Begin(ctx, Key{"s", "other"}); known || !errors.Is(err, context.Canceled) {
			t.Errorf("known %t, error %v", known, err)
		}
		end("", nil)
	})
}

func TestCancelReachesTheCommandsOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs Runs
		request, respond := context.WithCancel(t.Context())
		mine, _ := runs.Add(request, "mine")
		other, _ := runs.Add(t.Context(), "other")
		runs.Cancel("none")
		if mine.Err() != nil || other.Err() != nil {
			t.Error("another session was cancelled")
		}
		runs.Cancel("mine")
		if mine.Err() == nil || other.Err() != nil {
			t.Errorf("mine: %v, other: %v", mine.Err(), other.Err())
		}
		late, _ := runs.Add(request, "mine")
		respond()
		synctest.Wait()
		runs.Cancel("mine")
		if late.Err() != nil || len(runs.all) != 1 {
			t.Errorf("a command with a response was cancelled (%v), %d are left", late.Err(), len(runs.all))
		}
	})
}
