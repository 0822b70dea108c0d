package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/internal/leak"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/server/access"
	"strata/server/wire"
	"strata/session"
	"strata/session/profile"
)

func TestMain(m *testing.M) { leak.Main(m) }

// testServer is a server with everything behind it real but the provider, which is scripted.
type testServer struct {
	t        *testing.T
	upstream *upstream.Server
	store    *historystore.Store
	server   *Server
	token    access.Token
	ready    Ready
	dir      string // holds the database and the state
	work     string // folder for sessions

	storeOptions historystore.Options
	models       map[string]llm.ModelConfig // over the catalogue

	stop  context.CancelFunc
	ended chan error
}

// testModels are those of a client, with fields for tests to change.
type testModels struct {
	session.Streamer
	model     func(name string) (llm.Model, bool)
	catalogue []wire.Model
	providers []wire.Provider
	setKey    func(provider, key string) error
	limit     func(model string, tokens int)
}

func newModels(client *llm.Client) *testModels {
	return &testModels{
		Streamer: client, setKey: client.SetKey, limit: client.LimitWindow,
		model: func(name string) (llm.Model, bool) {
			m, _ := client.Model(name)
			return m, m.Name != ""
		},
		catalogue: []wire.Model{{Name: "local/test", Title: "Test", Window: 128_000}, {Name: "offline/digest", Title: "Digest"}},
		providers: []wire.Provider{{Name: "claude", Kind: "anthropic", KeySource: "not_needed"}, {Name: "local", Kind: "openai", KeySource: "not_needed"}},
	}
}

func (m *testModels) Model(name string) (llm.Model, bool)  { return m.model(name) }
func (m *testModels) LimitWindow(model string, tokens int) { m.limit(model, tokens) }
func (m *testModels) Catalogue() []wire.Model              { return m.catalogue }
func (m *testModels) Providers() []wire.Provider           { return m.providers }
func (m *testModels) SetKey(provider, key string) error    { return m.setKey(provider, key) }

// adjustModels changes what a server knows of every model.
func adjustModels(o *Options, adjust func(m *llm.Model)) {
	all := o.Models.(*testModels)
	known := all.model
	all.model = func(name string) (llm.Model, bool) {
		m, ok := known(name)
		adjust(&m)
		return m, ok
	}
}

// host is a Host with a clock that a test can set.
type host struct {
	now   func() time.Time
	ready chan Ready
}

func (h *host) Now() time.Time { return h.now() }
func (h *host) Ready(r Ready)  { h.ready <- r }

// setClock replaces the clock of a server.
func setClock(o *Options, now func() time.Time) { o.Host.(*host).now = now }

// startServer starts a server on a database of its own.
func startServer(t *testing.T, adjust ...func(*Options)) *testServer {
	t.Helper()
	ts := &testServer{t: t, upstream: upstream.Start(upstream.Options{}), dir: t.TempDir(), work: t.TempDir()}
	t.Cleanup(ts.upstream.Close)
	ts.start(adjust...)
	return ts
}

// start starts a server on the harness's database.
func (ts *testServer) start(adjust ...func(*Options)) {
	ts.t.Helper()
	store, err := historystore.Open(ts.t.Context(), filepath.Join(ts.dir, "strata.db"), ts.storeOptions)
	if err != nil {
		ts.t.Fatal(err)
	}
	client, err := llm.New(llm.Options{
		Providers: map[string]llm.ProviderConfig{
			"local":   {Kind: llm.OpenAI, BaseURL: ts.upstream.OpenAIURL()},
			"claude":  {Kind: llm.Anthropic, BaseURL: ts.upstream.URL},
			"offline": {Kind: llm.Offline},
		},
		Models: ts.models,
		Sleep: func(ctx context.Context, d time.Duration) error {
			timer := time.NewTimer(d / 100)
			defer timer.Stop()
			select {
			case <-timer.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	})
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.token = access.NewToken()
	ready := make(chan Ready, 1)
	opt := Options{
		Version: "test", Listen: "127.0.0.1:0", Token: ts.token, StateDir: ts.dir, Debug: true,
		Models: newModels(client), Host: &host{time.Now, ready}, Log: slog.New(slog.NewTextHandler(ts.t.Output(), nil)),
		Sessions: session.Settings{
			Rules:     session.Rules{SystemPrompt: "You are a test.", Profiles: profiles(ts.t, false)},
			RulesFile: true, DefaultConfig: history.Config{Model: "local/test"},
		},
	}
	for _, f := range adjust {
		f(&opt)
	}
	ts.server, err = New(store, opt)
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.store = store
	ctx, cancel := context.WithCancel(context.Background())
	ts.stop, ts.ended = cancel, make(chan error, 1)
	go func() {
		ts.ended <- ts.server.Run(ctx)
		client.Close()
	}()
	ts.t.Cleanup(ts.close)
	select {
	case ts.ready = <-ready:
	case err := <-ts.ended:
		ts.t.Fatalf("server did not start: %v", err)
	}
}

// profiles are the embedded ones; compaction in the background is off unless a test is about it.
func profiles(t *testing.T, compact bool) map[string]profile.Profile {
	t.Helper()
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range all {
		p.Compaction.Enabled = compact
		all[name] = p
	}
	return all
}

// close shuts the server down, once.
func (ts *testServer) close() {
	if ts.stop == nil {
		return
	}
	ts.stop()
	ts.stop = nil
	if err := <-ts.ended; err != nil {
		ts.t.Errorf("server ended with %v", err)
	}
	if err := ts.store.Close(); err != nil {
		ts.t.Errorf("store: %v", err)
	}
}

// editor connects a client and initializes it.
func (ts *testServer) editor() *testclient.Editor {
	ts.t.Helper()
	e := testclient.Connect(ts.t, ts.ready.WebSocket, ts.token.Reveal())
	e.Initialize()
	return e
}
