package profile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	_, e, cwd := serve(b)
	id := e.NewSession(cwd)
	for b.Loop() {
		ask(b, e, id, "hello")
	}
}

// BenchmarkDeltas runs turns with 1,000 separate deltas, each in a new session.
func BenchmarkDeltas(b *testing.B) {
	_, e, cwd := serve(b)
	for b.Loop() {
		ask(b, e, e.NewSession(cwd), "count from 1 to 1000")
	}
}

// BenchmarkSessions creates sessions without a history.
func BenchmarkSessions(b *testing.B) {
	_, e, cwd := serve(b)
	for b.Loop() {
		if err := e.Call("session/close", map[string]any{"sessionId": e.NewSession(cwd)}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSteps runs turns in which the model reads a file in each of 10 or 100 steps. The time is that of a step.
func BenchmarkSteps(b *testing.B) {
	for _, steps := range []int{10, 100} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			provider, e, cwd := serve(b)
			for i := range steps {
				text := strings.Repeat(fmt.Sprintf("\tvalue%d := compute(%d) // as in the other files\n", i, i*i), 150)
				if err := os.WriteFile(filepath.Join(cwd, fmt.Sprintf("step%d.go", i)), []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			provider.Choose(func(req *upstream.Request) upstream.Script {
				step := len(req.Messages)/2 - 1 // after the system prompt and the user's prompt
				script := upstream.Script{Usage: upstream.Usage{Input: req.Tokens(), Output: 10}, Steps: upstream.Texts("Done.")}
				if step < steps {
					script.Steps = upstream.Call(fmt.Sprint("call", step), "read_file", fmt.Sprintf(`{"path":"step%d.go"}`, step))
				}
				return script
			})
			n := 0
			for b.Loop() {
				ask(b, e, e.NewSession(cwd), "Read all the files.")
				n += steps
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/step")
		})
	}
}

func ask(b *testing.B, e *testclient.Editor, id, text string) {
	b.Helper()
	if _, err := e.Prompt(id, text); err != nil {
		b.Fatal(err)
	}
}

// serve starts a provider and a server, wired like in cmd/strata, and connects an editor to it. It also returns a working
// folder.
func serve(b *testing.B) (provider *upstream.Server, e *testclient.Editor, cwd string) {
	b.Helper()
	provider = upstream.Start(upstream.Options{})
	b.Cleanup(provider.Close)
	client, err := llm.New(llm.Options{Providers: map[string]llm.ProviderConfig{
		"local": {Kind: llm.OpenAI, BaseURL: provider.OpenAIURL()},
	}, Models: map[string]llm.ModelConfig{"local/test": {Window: 4_000_000, MaxOutput: 4096}}})
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
		Sessions: session.Settings{
			DefaultConfig: history.Config{Model: "local/test"}, Tools: session.ToolSettings{Enabled: true, MaxSteps: 1000},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	run(b, s, store)
	e = testclient.Connect(b, (<-ready).WebSocket, token.Reveal())
	e.Initialize()
	return provider, e, b.TempDir()
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
