package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"strata/rpc"
)

// The environment that a connection hands over is that of its clients only, and a later one replaces it.
func TestAConnectionHandsItsEnvironmentOver(t *testing.T) {
	t.Parallel()
	ts := startAskable(t)
	e, other := ts.editor(), ts.editor()
	first := e.NewSession(ts.work)
	of := func(sid string) []string { return ts.client(e, sid).Environment() }
	if got := of(first); got != nil {
		t.Errorf("before an offer: %q", got)
	}
	for _, want := range [][]string{{"EMPTY=", "PATH=/a:/b", "X=a=b\nc"}, {"PATH=/c"}, {}} {
		env := map[string]string{}
		for _, variable := range want {
			name, value, _ := strings.Cut(variable, "=")
			env[name] = value
		}
		must(t, e.Call("_strata/environment/offer", map[string]any{"env": env}, nil))
		if got := of(first); got == nil || !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	second := other.NewSession(ts.work)
	if got := ts.client(other, second).Environment(); got != nil {
		t.Errorf("another connection has %q", got)
	}
}

// Neither an error nor the log repeats a value.
func TestEnvironmentsThatAreRefused(t *testing.T) {
	t.Parallel()
	log := new(lockedLog)
	ts := startServer(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	e := ts.editor()
	many := map[string]any{}
	for i := range 4097 {
		many[fmt.Sprint("N", i)] = "secret"
	}
	for name, env := range map[string]any{
		"a list":          []string{"A=secret"},
		"a text":          "secret",
		"nothing":         nil,
		"a list as value": map[string]any{"A": []string{"secret"}},
		"no name":         map[string]any{"": "secret"},
		"= in a name":     map[string]any{"A=secret": ""},
		"NUL in a value":  map[string]any{"A": "secret\x00"},
		"too many":        many,
		"too large":       map[string]any{"A": strings.Repeat("secret", 200_000)},
	} {
		err := e.Call("_strata/environment/offer", map[string]any{"env": env}, nil)
		if fault := wireFault(t, err, rpc.CodeInvalidParams); strings.Contains(fault.Message, "secret") {
			t.Errorf("%s: the error repeats a value: %v", name, fault)
		}
	}
	must(t, e.Call("_strata/environment/offer", map[string]any{"env": map[string]any{"A": "secret"}}, nil))
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "connected") {
		t.Errorf("the log contains a value, or nothing:\n%s", text)
	}
	for _, f := range e.Frames() {
		if bytes.Contains(f.Raw, []byte("secret")) {
			t.Errorf("the client received a value: %s", f.Raw)
		}
	}
}
