package mcp

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAServerThatSendsTooMuchHasToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, began := newInbox(slog.New(slog.DiscardHandler)), time.Now()
		for range messageBurst + 3*maxMessageRate {
			if _, _, err := in.accept(t.Context(), []byte("noise")); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began).Round(time.Millisecond); waited != 3*time.Second {
			t.Errorf("it waited %v", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := in.accept(ctx, []byte("noise")); err == nil {
			t.Error("it waits after the end")
		}
	})
}

func TestRequestsOfAServerAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, passed := newInbox(slog.New(slog.DiscardHandler)), 0
		for i := range 1000 {
			_, ok, err := in.accept(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
			must(t, err)
			if ok {
				passed++
			}
		}
		equal(t, "requests that the SDK processes", passed, requestBurst)
	})
}

func TestTheLogOfAServerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		in := newInbox(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		for range 1000 {
			_, _, err := in.accept(t.Context(), []byte(strings.Repeat("noise ", 10000)))
			must(t, err)
			_, _, err = in.accept(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"`+strings.Repeat("x", 10000)+`"}}`))
			must(t, err)
		}
		equal(t, "lines", strings.Count(log.String(), "\n"), remarkBurst)
		if log.Len() > remarkBurst*(maxRemark+200) {
			t.Errorf("the log has %d bytes", log.Len())
		}
	})
}
