package bridge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestDrainWaitsUntilNoResponseIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f inFlight
		f.request([]byte(`{"jsonrpc":"2.0","id":1,"method":"a"}`))
		f.request([]byte(`{"jsonrpc":"2.0","method":"session/cancel"}`)) // no response
		f.request([]byte(`not JSON`))                                    // has a response
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			f.response([]byte(`{"jsonrpc":"2.0","method":"session/update"}`))
			f.response([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
			time.Sleep(time.Second)
			f.response([]byte(`{"jsonrpc":"2.0","id":null,"error":{}}`))
		}()
		f.drain(t.Context(), time.Hour)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("waited %v", took)
		}
		f.drain(t.Context(), time.Hour)
	})
}

func TestDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f inFlight
		f.request([]byte(`{"id":1,"method":"a"}`))
		start := time.Now()
		f.drain(t.Context(), drainTime)
		if took := time.Since(start); took != drainTime {
			t.Errorf("waited %v", took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		f.drain(ended, time.Hour)
		if took := time.Since(start); took != drainTime {
			t.Errorf("waited %v after the end of the context", took)
		}
	})
}
