package slash

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestOutputsAreBounded(t *testing.T) {
	var outputs Outputs
	for i := range MaxOutputs + 1 {
		outputs.Put(Key{"s", fmt.Sprint(i)}, "text")
	}
	outputs.Put(Key{"s", ""}, "text")
	_, first := outputs.Get(Key{"s", "0"})
	_, second := outputs.Get(Key{"s", "1"})
	_, none := outputs.Get(Key{"s", ""})
	if first || !second || none || len(outputs.texts) != MaxOutputs || len(outputs.order) != MaxOutputs {
		t.Errorf("known: %t, %t, %t; %d outputs", first, second, none, len(outputs.texts))
	}
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
