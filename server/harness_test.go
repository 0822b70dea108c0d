package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/internal/leak"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/rpc"
	"strata/server/access"
	"strata/server/wire"
	"strata/session"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/fit"
	"strata/session/profile"
)

func TestMain(m *testing.M) { leak.Main(m) }

// long marks a test that takes long because of its amount of data. `make race-check` leaves it out: the race detector makes
// it five times longer, and other tests run the same goroutines.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long for its amount of data")
	}
}

// testServer is a real server with a scripted provider.
type testServer struct {
	t        *testing.T
	upstream *upstream.Server
	store    *historystore.Store
	server   *Server
	token    access.Token
	ready    Ready
	dir      string // of the database and the state
	work     string // folder for sessions

	storeOptions historystore.Options
	models       map[string]llm.ModelConfig // in addition to the catalogue

	stop  context.CancelFunc
	ended chan error
}

// testModels are the models of a client, with fields that tests can change.
type testModels struct {
	session.Streamer
	model     func(name string) (llm.Model, bool)
	catalogue []wire.Model
	providers []wire.Provider
	setKey    func(provider, key string) error
	offerKey  func(provider, key string) bool
	limit     func(model string, tokens int)
}

func newModels(client *llm.Client) *testModels {
	return &testModels{
		Streamer: client, setKey: client.SetKey, offerKey: client.OfferKey, limit: client.LimitWindow,
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
func (m *testModels) OfferKey(provider, key string) bool   { return m.offerKey(provider, key) }

// adjustModels changes every model of a server.
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

// start starts the server on the harness's database.
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
			Rules:     choices.Rules{SystemPrompt: "You are a test.", Profiles: profiles(ts.t, false)},
			RulesFile: true, DefaultConfig: history.Config{Model: "local/test"},
		},
		Outlines: &Outlines{},
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

// profiles returns the embedded profiles. Automatic compaction is off unless a test turns it on, and so are outlines of files
// that nobody added, and the tree of the workspace.
func profiles(t *testing.T, compact bool) map[string]profile.Profile {
	t.Helper()
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range all {
		p.Compaction.Enabled = compact
		p.Budget.OutlineShare, p.Budget.StructureTokens = 0, 0
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

// transcript returns all messages of a session, oldest first.
func transcript(t testing.TB, e *testclient.Editor, sid string) []wire.Message {
	t.Helper()
	var all []wire.Message
	params := map[string]any{"sessionId": sid, "limit": wire.MaxPage}
	for {
		var page struct {
			Messages   []wire.Message `json:"messages"`
			NextCursor string         `json:"nextCursor"`
		}
		if err := e.Call("_strata/history/list", params, &page); err != nil {
			t.Fatal(err)
		}
		all = append(page.Messages, all...)
		if page.NextCursor == "" {
			return all
		}
		params["cursor"] = page.NextCursor
	}
}

// lastMessage returns the newest message of a session.
func lastMessage(t testing.TB, e *testclient.Editor, sid string) wire.Message {
	t.Helper()
	all := transcript(t, e, sid)
	if len(all) == 0 {
		t.Fatalf("session %s has no messages", sid)
	}
	return all[len(all)-1]
}

// lastReply returns the newest message of the model in a session.
func lastReply(t testing.TB, e *testclient.Editor, sid string) wire.Message {
	t.Helper()
	for _, m := range slices.Backward(transcript(t, e, sid)) {
		if m.Role == history.RoleAssistant {
			return m
		}
	}
	t.Fatalf("session %s has no reply", sid)
	return wire.Message{}
}

// wireFault returns the server's error. The test fails if there is none, or if it has another code.
func wireFault(t testing.TB, err error, code int) *rpc.Error {
	t.Helper()
	fault, ok := errors.AsType[*rpc.Error](err)
	if !ok || fault.Code != code {
		t.Fatalf("got %v, want code %d", err, code)
	}
	return fault
}

// faultData decodes the data of an error.
func faultData[T any](t testing.TB, fault *rpc.Error) (data T) {
	t.Helper()
	if err := json.Unmarshal(fault.Data.(json.RawMessage), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// chatOf returns a transcript as text, one line per message: role, status and text.
func chatOf(messages []wire.Message) string {
	var out strings.Builder
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(&out, "%s %s %q\n", m.Role, m.Status, m.PlainText())
	}
	return out.String()
}

// held returns a script that sends first, waits until the gate is closed, and sends rest.
func held(gate <-chan struct{}, first, rest string) upstream.Script {
	return upstream.Script{Steps: []upstream.Step{upstream.Text(first), upstream.Hold(gate), upstream.Text(rest)}}
}

// startServerOn is startServer with a given store and provider.
func startServerOn(t *testing.T, store historystore.Options, up upstream.Options, adjust ...func(*Options)) *testServer {
	t.Helper()
	ts := &testServer{t: t, upstream: upstream.Start(up), dir: t.TempDir(), work: t.TempDir(), storeOptions: store}
	t.Cleanup(ts.upstream.Close)
	ts.start(adjust...)
	return ts
}

var storeDefaults historystore.Options

type caller interface {
	Call(method string, params, result any) error
}

// call calls a method of a session, which must succeed.
func call[T any](ts *testServer, e caller, method, sid string, params map[string]any) T {
	ts.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	params["sessionId"] = sid
	var result T
	if err := e.Call(method, params, &result); err != nil {
		ts.t.Fatalf("%s: %v", method, err)
	}
	return result
}

// write writes a file to the session's folder.
func (ts *testServer) write(name, text string) {
	ts.t.Helper()
	if err := os.WriteFile(filepath.Join(ts.work, name), []byte(text), 0o600); err != nil {
		ts.t.Fatal(err)
	}
}

// attached returns an editor that is attached to a new session.
func attached(t *testing.T, ts *testServer) (e *testclient.Editor, sid string) {
	t.Helper()
	e = ts.editor()
	sid = e.NewSession(ts.work)
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	return e, sid
}

// mustPrompt sends a prompt, which must succeed.
func mustPrompt(t *testing.T, e *testclient.Editor, sid, text string) testclient.Reply {
	t.Helper()
	reply, err := e.Prompt(sid, text)
	if err != nil {
		t.Fatal(err)
	}
	if reply.StopReason != "end_turn" {
		t.Fatalf("prompt %.20q ended with %s", text, reply.StopReason)
	}
	return reply
}

// talk appends n exchanges about changing topics.
func (ts *testServer) talk(e caller, sid string, n int) {
	ts.t.Helper()
	topics := []string{"parser", "database", "network", "layout"}
	var messages []any
	for i := range n {
		topic := topics[i/5%len(topics)]
		messages = append(messages,
			map[string]any{"role": "user", "content": fmt.Sprintf("Question %d about the %s: %s", i, topic, strings.Repeat(topic+" detail ", 60))},
			map[string]any{"role": "assistant", "content": fmt.Sprintf("We decided to use %s_%d in pkg/%s/file%d.go. %s", topic, i, topic, i, strings.Repeat("The "+topic+" works so. ", 60))})
	}
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": messages})
}

// compacting turns on automatic compaction, with summaries by the server's model.
func withCompaction(t *testing.T, adjust ...func(p *profile.Profile)) func(*Options) {
	all := profiles(t, true)
	for name, p := range all {
		for _, f := range adjust {
			f(&p)
		}
		all[name] = p
	}
	return func(opt *Options) {
		opt.Sessions.Rules.Profiles = all
		opt.Sessions.SummaryModel, opt.Sessions.DetectionModel = "local/test", "local/test"
	}
}

// settle waits until all sessions are idle.
func (ts *testServer) settle(e caller) {
	ts.t.Helper()
	call[map[string]any](ts, e, "_strata/debug/quiesce", "", nil)
}

// catchUp waits until an editor has received all events of a session: responses can overtake events.
func (ts *testServer) catchUp(e *testclient.Editor, sid string) {
	ts.t.Helper()
	mark := fmt.Sprintf("told up to frame %d", len(e.Frames()))
	call[map[string]any](ts, e, "_strata/session/rename", sid, map[string]any{"title": mark})
	e.Expect(testclient.Condition{Name: mark, Met: func(fs testclient.Frames) bool {
		return slices.ContainsFunc(fs.Of(sid).Kind("session_info_update"), func(f testclient.Frame) bool { return strings.Contains(string(f.Params), mark) })
	}})
}

func words(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

// tokensOf returns the tokens of the next request.
func tokensOf(ts *testServer, e caller, sid string) assembly.Breakdown {
	ts.t.Helper()
	return call[assembly.Breakdown](ts, e, "_strata/context/breakdown", sid, nil)
}

// leftOutOf returns the omitted items in a prompt's response, with their reasons.
func leftOutOf(t testing.TB, reply testclient.Reply) map[string]string {
	t.Helper()
	var result struct {
		Meta struct {
			Strata struct{ LeftOut []fit.Omitted }
		} `json:"_meta"`
	}
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, l := range result.Meta.Strata.LeftOut {
		out[l.Key] = l.Reason
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stored returns all stored data of a session.
func (ts *testServer) stored(sid string) history.Loaded {
	ts.t.Helper()
	l, err := ts.store.Load(ts.t.Context(), sid)
	if err != nil {
		ts.t.Fatal(err)
	}
	return l
}

func message(role string, content any) map[string]any {
	return map[string]any{"role": role, "content": content}
}
