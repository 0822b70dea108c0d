package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func TestRequestsAreHandledInOrder(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		var got []string
		s := serve(t, tr, methods{
			"note": func(_ *Conn, r *Request) { got = append(got, string(r.Params())) },
			"all":  func(_ *Conn, r *Request) { r.Reply(got) },
		}, Options{}, Limits{})
		var want []string
		for i := range 1000 {
			params := fmt.Sprintf(`{"n":%d}`, i)
			s.send(`{"jsonrpc":"2.0","method":"note","params":` + params + `}`)
			want = append(want, params)
		}
		s.send(call("1", "all", ""))
		all, err := encode(want)
		if err != nil {
			t.Fatal(err)
		}
		s.want(result("1", string(all)))
	})
}

func TestTooManyInFlight(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		for i := range 64 {
			s.send(call(fmt.Sprint(i), "hang", ""))
		}
		s.send(call("64", "echo", ""))
		s.want(failure("64", CodeInvalidRequest, `{"limit":64}`))
		s.send(cancelFrame("7"))
		s.want(failure("7", CodeCancelled, ""))
		s.send(call("64", "echo", ""))
		s.want(result("64", "{}"))
	})
}

func TestFunctionsOfCancelledRequestsAreBounded(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		release := make(chan struct{})
		s := serve(t, tr, methods{
			"stubborn": func(_ *Conn, r *Request) {
				r.Go(func(context.Context) (any, error) { <-release; return 1, nil })
			},
			"$/cancel_request": basic["$/cancel_request"],
		}, Options{Inflight: 2}, Limits{})
		for i := range 2 {
			id := fmt.Sprint(i)
			s.send(call(id, "stubborn", ""), cancelFrame(id))
			s.want(failure(id, CodeCancelled, ""))
		}
		s.send(call("3", "stubborn", ""))
		s.want(failure("3", CodeInvalidRequest, `{"limit":2}`))
		close(release)
		for { // until the two have returned
			s.send(call("4", "stubborn", ""))
			if s.recv() == result("4", "1") {
				break
			}
		}
	})
}

func TestCancel(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		kept := make(map[string]*Request)
		s := serve(t, tr, methods{
			"$/cancel_request": basic["$/cancel_request"],
			"plain": func(_ *Conn, r *Request) {
				r.Go(func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
			},
			"prompt": func(_ *Conn, r *Request) {
				r.OnCancel(func() { r.Reply(map[string]any{"stopReason": "cancelled", "ctx": r.Context().Err().Error()}) })
			},
			"patient": func(_ *Conn, r *Request) {
				kept["patient"] = r
				r.OnCancel(func() {})
			},
			"late": func(_ *Conn, r *Request) { kept["late"] = r },
			"finish": func(c *Conn, r *Request) {
				late := 0
				kept["late"].OnCancel(func() { late++ })
				again := c.Cancel([]byte("3"))
				kept["patient"].Reply("done")
				open := c.Cancel([]byte(" 9 ")) // this very request, still in flight
				r.Reply(map[string]any{"late": late, "again": again, "open": open})
			},
		}, Options{}, Limits{})
		s.send(call("1", "plain", ""), cancelFrame("1"))
		s.want(failure("1", CodeCancelled, ""))
		s.send(call("2", "prompt", ""), cancelFrame("2"))
		s.want(result("2", `{"ctx":"context canceled","stopReason":"cancelled"}`))
		s.send(call("3", "patient", ""), cancelFrame("3"), cancelFrame("3"))
		s.send(call("4", "late", ""), cancelFrame("4"))
		s.want(failure("4", CodeCancelled, ""))
		s.send(call("9", "finish", ""))
		s.want(result("3", `"done"`), failure("9", CodeCancelled, ""))
	})
}

func TestLaterSendsNoResponse(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, methods{
			"later": func(_ *Conn, r *Request) {
				returned := make(chan struct{})
				r.Go(func(context.Context) (any, error) { defer close(returned); return Later, nil })
				go func() { <-returned; r.Reply("now") }()
			},
		}, Options{}, Limits{})
		s.send(call("1", "later", ""))
		s.want(result("1", `"now"`))
	})
}

func TestFirstResponseWins(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, methods{
			"twice": func(_ *Conn, r *Request) {
				r.Reply(1)
				r.Reply(2)
				r.Fail(errors.New("late"))
				panic("later")
			},
			"echo": basic["echo"],
		}, Options{}, Limits{})
		s.send(call("1", "twice", ""), call("2", "echo", ""))
		s.want(result("1", "1"), result("2", "{}"))
	})
}

func TestErrorsDiscloseNothing(t *testing.T) {
	known := errors.New("session busy")
	failures := map[string]error{
		"plain":   errors.New("secret"),
		"wrapped": fmt.Errorf("secret: %w", &Error{Code: -32010, Message: "busy", Data: map[string]int{"turn": 1}}),
		"mapped":  fmt.Errorf("secret: %w", known),
		"no data": &Error{Code: -32013, Message: "refused", Data: func() {}},
	}
	handlers := make(methods)
	for name, err := range failures {
		handlers[name] = func(_ *Conn, r *Request) { r.Go(func(context.Context) (any, error) { return nil, err }) }
	}
	handlers["panics"] = func(_ *Conn, r *Request) { r.Go(func(context.Context) (any, error) { panic("secret") }) }
	handlers["bad result"] = func(_ *Conn, r *Request) { r.Reply(func() {}) }
	handlers["panicking result"] = func(_ *Conn, r *Request) { r.Reply(panicking{}) }
	mapError := func(err error) *Error {
		if errors.Is(err, known) {
			return &Error{Code: -32010, Message: "busy"}
		}
		return nil
	}
	internal := `{"code":-32603,"message":"internal error"}`
	wants := map[string]string{
		"plain":            internal,
		"wrapped":          `{"code":-32010,"message":"busy","data":{"turn":1}}`,
		"mapped":           `{"code":-32010,"message":"busy"}`,
		"no data":          `{"code":-32013,"message":"refused"}`,
		"panics":           internal,
		"bad result":       internal,
		"panicking result": internal,
	}
	overAll(t, func(t *testing.T, tr transport) {
		var logged syncBuilder
		opt := Options{MapError: mapError, Log: slog.New(slog.NewTextHandler(&logged, nil))}
		s := serve(t, tr, handlers, opt, Limits{})
		for name, want := range wants {
			before := strings.Count(logged.String(), "level=ERROR")
			s.send(call("1", name, ""))
			s.want(`{"jsonrpc":"2.0","id":1,"error":` + want + `}`)
			logs := strings.Count(logged.String(), "level=ERROR") - before
			if expected := name != "wrapped" && name != "mapped"; expected != (logs == 1) {
				t.Errorf("%s: logged %d times", name, logs)
			}
		}
		if !strings.Contains(logged.String(), "goroutine") {
			t.Error("no stack was logged")
		}
	})
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("secret") }

// syncBuilder is a strings.Builder that is safe for concurrent use.
type syncBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuilder) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuilder) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestOnReplySurroundsEachReply(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		stages := make(chan string, 10)
		s := serve(t, tr, basic, Options{OnReply: func(stage string) { stages <- stage }}, Limits{})
		for range 2 {
			s.send(call("1", "echo", ""))
			s.want(result("1", "{}"))
			if before, after := <-stages, <-stages; before != ReplyBefore || after != ReplyAfter {
				t.Errorf("stages %s, %s", before, after)
			}
		}
	})
}

func TestResultsAreNotEscapedForHTML(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		s.send(call("1", "echo", `{"a":"<&>"}`))
		s.want(result("1", `{"a":"<&>"}`))
	})
}
