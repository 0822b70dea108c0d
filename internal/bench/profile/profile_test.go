package profile

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/server"
	"strata/server/access"
	"strata/server/wire"
	"strata/session"
)

// BenchmarkTurns runs sequential short turns in one session.
func BenchmarkTurns(b *testing.B) {
	e, cwd := serve(b)
	id := e.NewSession(cwd)
	for b.Loop() {
		ask(b, e, id, "hello")
	}
}

// BenchmarkDeltas runs turns with 1,000 separate deltas, each in a new session.
func BenchmarkDeltas(b *testing.B) {
	e, cwd := serve(b)
	for b.Loop() {
		ask(b, e, e.NewSession(cwd), "count from 1 to 1000")
	}
}

// BenchmarkSessions creates sessions without a history.
func BenchmarkSessions(b *testing.B) {
	e, cwd := serve(b)
	for b.Loop() {
		if err := e.Call("session/close", map[string]any{"sessionId": e.NewSession(cwd)}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func ask(b *testing.B, e *testclient.Editor, id, text string) {
	b.Helper()
	if _, err := e.Prompt(id, text); err != nil {
		b.Fatal(err)
	}
}

// serve starts a server, wired like in cmd/strata, and connects an editor to it. It also returns a working folder.
func serve(b *testing.B) (e *testclient.Editor, cwd string) {
	b.Helper()
	provider := upstream.Start(upstream.Options{})
	b.Cleanup(provider.Close)
	client, err := llm.New(llm.Options{Providers: map[string]llm.ProviderConfig{
		"local": {Kind: llm.OpenAI, BaseURL: provider.OpenAIURL()},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	dir := b.TempDir()
	store, err := historystore.Open(b.Context(), filepath.Join(dir, "strata.db"), historystore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	token, ready := access.NewToken(), make(chan server.Ready, 1)
	s, err := server.New(store, server.Options{
		Version: "bench", Listen: "127.0.0.1:0", Token: token, StateDir: dir, Models: models{client}, Host: host{ready},
		Sessions: session.Settings{DefaultConfig: history.Config{Model: "local/test"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	run(b, s, store)
	e = testclient.Connect(b, (<-ready).WebSocket, token.Reveal())
	e.Initialize()
	return e, b.TempDir()
}

// run runs a server until the benchmark ends.
func run(b *testing.B, s *server.Server, store *historystore.Store) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Errorf("the server ended with %v", err)
		}
		if err := store.Close(); err != nil {
			b.Errorf("the store ended with %v", err)
		}
	})
}

// models are the models of a client, with an empty catalogue.
type models struct{ *llm.Client }

func (m models) Model(name string) (llm.Model, bool) {
	found, _ := m.Client.Model(name)
	return found, found.Name != ""
}

func (models) Catalogue() []wire.Model      { return nil }
func (models) Providers() []wire.Provider   { return nil }
func (models) SetKey(string, string) error  { return nil }
func (models) OfferKey(string, string) bool { return false }

// host passes on where the server listens.
type host struct{ ready chan server.Ready }

func (host) Now() time.Time         { return time.Now() }
func (h host) Ready(r server.Ready) { h.ready <- r }
