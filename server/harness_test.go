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

// catalogue shows an llm.Client as a Catalogue.
type catalogue struct{ client *llm.Client }

func (c catalogue) Models() []Model {
	return []Model{{Name: "local/test", Title: "Test", Window: 128_000}, {Name: "offline/digest", Title: "Digest"}}
}

func (c catalogue) Providers() []Provider {
	return []Provider{{Name: "claude", Kind: "anthropic", KeySource: "not_needed"}, {Name: "local", Kind: "openai", KeySource: "not_needed"}}
}

func (c catalogue) SetKey(provider, key string) error { return c.client.SetKey(provider, key) }

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
		Catalogue: catalogue{client}, Log: slog.New(slog.NewTextHandler(ts.t.Output(), nil)),
		OnReady: func(r Ready) { ready <- r },
		Sessions: session.Deps{
			Streamer: client, Rules: session.Rules{SystemPrompt: "You are a test.", Profiles: profiles(ts.t, false)}, RulesFile: true, DefaultConfig: history.Config{Model: "local/test"},
			Model: func(name string) (llm.Model, bool) {
				m, _ := client.Model(name)
				return m, m.Name != ""
			},
			LimitWindow: client.LimitWindow,
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
