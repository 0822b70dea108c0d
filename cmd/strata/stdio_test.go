package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnswersAreWaitedForUntilNoneIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f inFlight
		f.asked([]byte(`{"jsonrpc":"2.0","id":1,"method":"a"}`))
		f.asked([]byte(`{"jsonrpc":"2.0","method":"session/cancel"}`)) // gets no answer
		f.asked([]byte(`not JSON`))                                    // gets one
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			f.answered([]byte(`{"jsonrpc":"2.0","method":"session/update"}`))
			f.answered([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
			time.Sleep(time.Second)
			f.answered([]byte(`{"jsonrpc":"2.0","id":null,"error":{}}`))
		}()
		f.settle(t.Context(), time.Hour)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("waited %v", took)
		}
		f.settle(t.Context(), time.Hour)
	})
}

func TestMissingAnswersAreNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f inFlight
		f.asked([]byte(`{"id":1,"method":"a"}`))
		start := time.Now()
		f.settle(t.Context(), drainTime)
		if took := time.Since(start); took != drainTime {
			t.Errorf("waited %v", took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		f.settle(ended, time.Hour)
		if took := time.Since(start); took != drainTime {
			t.Errorf("waited %v after the end of the context", took)
		}
	})
}
