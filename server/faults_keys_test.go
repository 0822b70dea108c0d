package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/rpc"
	"strata/server/wire"
)

// keyed are models whose providers say where their keys come from.
type keyed struct {
	*testModels
	client *llm.Client
}

func (k keyed) Providers() []wire.Provider {
	var all []wire.Provider
	for _, p := range k.client.Providers() {
		all = append(all, wire.Provider{Name: p.Name, Kind: string(p.Kind), KeyEnv: p.KeyEnv, KeySource: string(p.Key)})
	}
	return all
}

// lockedLog is a log that a test reads while a server writes.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const rightKey = "sk-right-0123456789abcdef"

// startWithoutKeys starts a server whose provider "needy" wants rightKey and has none.
func startWithoutKeys(t *testing.T) (*testServer, *lockedLog) {
	t.Helper()
	up, log := upstream.Start(upstream.Options{Key: rightKey}), new(lockedLog)
	t.Cleanup(up.Close)
	client, err := llm.New(llm.Options{
		Providers: map[string]llm.ProviderConfig{
			"needy": {Kind: llm.OpenAI, BaseURL: up.OpenAIURL(), APIKeyEnv: "NEEDY_KEY"},
			"free":  {Kind: llm.Offline},
		},
		Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ts := &testServer{t: t, upstream: up, dir: t.TempDir(), work: t.TempDir()}
	ts.start(func(o *Options) {
		o.Models = keyed{newModels(client), client}
		o.Sessions.DefaultConfig.Model = "needy/model"
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	return ts, log
}

func TestF37OfferedKeys(t *testing.T) {
	t.Parallel()
	ts, log := startWithoutKeys(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	_, err := e.Prompt(sid, "without a key")
	if fault := wireFault(t, err, wire.CodeProvider); !strings.Contains(fault.Message, "run `strata login needy`, or set NEEDY_KEY") {
		t.Errorf("without a key: %v", fault)
	}
	wireFault(t, e.Call("authenticate", map[string]any{"methodId": "login-needy"}, nil), wire.CodeAuth)

	offer := func(key string) (offered wire.KeysOffered) {
		t.Helper()
		must(t, e.Call("_strata/providers/offer_keys", map[string]any{"keys": map[string]any{"needy": key, "unknown": "sk-x"}}, &offered))
		return offered
	}
	if got := offer("sk-wrong-0123456789abcdef"); !reflect.DeepEqual(got, wire.KeysOffered{Used: []string{"needy"}, AuthMethods: []wire.AuthMethod{}}) {
		t.Errorf("the first offer: %+v", got)
	}
	_, err = e.Prompt(sid, "with a wrong key")
	wireFault(t, err, wire.CodeProvider)
	if got := offer(rightKey); len(got.Used) != 1 {
		t.Errorf("the second offer: %+v", got)
	}
	if got := offer(rightKey); len(got.Used) != 0 {
		t.Errorf("the same offer again: %+v", got)
	}
	must(t, e.Call("authenticate", map[string]any{"methodId": "login-needy"}, nil))
	mustPrompt(t, e, sid, "with the right key")

	// A key that was set goes before an offered one, which remains when the former is removed.
	set := func(key string) error {
		return e.Call("_strata/providers/set_key", map[string]any{"provider": "needy", "key": key}, nil)
	}
	must(t, set("sk-other-0123456789abcdef"))
	if got := offer("sk-third-0123456789abcdef"); len(got.Used) != 0 {
		t.Errorf("an offer to a provider with a key: %+v", got)
	}
	must(t, set(""))
	mustPrompt(t, e, sid, "with the offered key")

	if text := log.String(); strings.Contains(text, "0123456789abcdef") || !strings.Contains(text, "connected") {
		t.Errorf("the log contains a key, or nothing:\n%s", text)
	}
	for _, f := range e.Frames() {
		if strings.Contains(string(f.Raw), "0123456789abcdef") {
			t.Errorf("the client received a key: %s", f.Raw)
		}
	}
}

// The user is told in the next session that the connection opens, once, and other connections are not.
func TestF37TheUserIsTold(t *testing.T) {
	t.Parallel()
	ts, _ := startWithoutKeys(t)
	e, other := ts.editor(), ts.editor()
	must(t, e.Call("_strata/providers/offer_keys", map[string]any{"keys": map[string]any{"needy": rightKey}}, nil))
	of := other.NewSession(ts.work)
	ts.catchUp(other, of)
	if told := other.Frames().Kind("notice"); len(told) != 0 {
		t.Errorf("another connection was told %s", told[0].Raw)
	}
	first := e.NewSession(ts.work)
	e.Expect(testclient.Sees(first, "notice"))
	const want = "The server has NEEDY_KEY from your editor's environment, in memory until it stops. To store a key, run `strata login needy`."
	if told := rawOf(e.Frames().Of(first).Kind("notice")); !strings.Contains(told, want) {
		t.Errorf("told %s", told)
	}
	second := e.NewSession(ts.work)
	ts.catchUp(e, second)
	if told := e.Frames().Of(second).Kind("notice"); len(told) != 0 {
		t.Errorf("told again: %s", told[0].Raw)
	}
}

func TestF37AuthMethodsSayHow(t *testing.T) {
	t.Parallel()
	ts, _ := startWithoutKeys(t)
	methods := func(capabilities string) string {
		t.Helper()
		e := testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal())
		var result struct{ AuthMethods json.RawMessage }
		must(t, e.Call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": json.RawMessage(capabilities)}, &result))
		return string(result.AuthMethods)
	}
	const plain = `{"id":"login-needy","name":"API key of needy",` +
		"\"description\":\"Run `strata login needy` in a terminal, or set NEEDY_KEY for the editor or the server.\""
	for capabilities, want := range map[string]string{
		`{}`:                         "[" + plain + "}]",
		`{"auth":{"terminal":true}}`: "[" + plain + `,"type":"terminal","args":["--login","needy"]}]`,
	} {
		if got := methods(capabilities); got != want {
			t.Errorf("with %s: %s", capabilities, got)
		}
	}
	must(t, ts.editor().Call("_strata/providers/offer_keys", map[string]any{"keys": map[string]any{"needy": rightKey}}, nil))
	if got := methods(`{}`); got != "[]" {
		t.Errorf("with a key: %s", got)
	}
}

func TestF37TextsThatAreNoKeys(t *testing.T) {
	t.Parallel()
	ts, _ := startWithoutKeys(t)
	e := ts.editor()
	for _, text := range []string{"two secrets", "secret\r\nX-Other: 1", strings.Repeat("secret", 1000)} {
		for method, params := range map[string]any{
			"_strata/providers/set_key":    map[string]any{"provider": "needy", "key": text},
			"_strata/providers/offer_keys": map[string]any{"keys": map[string]any{"needy": text}},
		} {
			if fault := wireFault(t, e.Call(method, params, nil), rpc.CodeInvalidParams); strings.Contains(fault.Message, "secret") {
				t.Errorf("%s: the error repeats the text: %v", method, fault)
			}
		}
	}
	wireFault(t, e.Call("_strata/providers/offer_keys", map[string]any{"keys": map[string]any{"needy": ""}}, nil), rpc.CodeInvalidParams)
	many := map[string]string{}
	for i := range 101 {
		many[strings.Repeat("x", i+1)] = rightKey
	}
	wireFault(t, e.Call("_strata/providers/offer_keys", map[string]any{"keys": many}, nil), rpc.CodeInvalidParams)
}
