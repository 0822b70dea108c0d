package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/llm/reply"
	"strata/session"
	"strata/session/assembly"
	"strata/stability"
	"strata/tokens"
)

// cacheMinimum is the length of the shortest prefix that the tests' models cache, in tokens.
const cacheMinimum = 200

// stage is a server with one session. Its provider caches prompts like real providers, and the test sets its clock.
type stage struct {
	*testServer
	layout  string
	cache   *upstream.Cache
	clock   *clock
	planned *planned

	editor  *testclient.Editor
	sid     string
	options []func(*Options)

	answer string            // the model's next reply
	steps  []upstream.Script // replies before it to requests with tools, without usage
	during func()            // called before the next of these
	scale  int               // the provider's count in percent of the session's count

	// After a restart, the session knows nothing of a cache that it used before its last request, so more can be read
	// than expected.
	known   map[string]bool
	current string
	more    bool // the same for earlier layouts, to which a random session can return
}

// clock is a clock that only tests move. It is safe for concurrent use.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) { c.set(c.Now().Add(d)) }

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// noon is the start time of the tests, far from midnight.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// newStage starts a server and opens a session. The models claude/a and claude/b (Anthropic's API) and local/x
// (OpenAI's) count tokens like the session.
func newStage(t *testing.T, layout string, adjust ...func(*Options)) *stage {
	t.Helper()
	s := &stage{layout: layout, clock: &clock{now: noon}, planned: new(planned), answer: "Fine.", scale: 100, known: map[string]bool{}}
	count := tokens.For("o200k_base").Count
	s.cache = upstream.NewCache(upstream.CacheOptions{
		Now: s.clock.Now, Minimum: func(string) int { return cacheMinimum },
		Count: func(text string) int { return count(text) * s.scale / 100 },
	})
	minimum := cacheMinimum
	s.testServer = &testServer{
		t: t, upstream: upstream.Start(upstream.Options{Strict: true}), dir: t.TempDir(), work: t.TempDir(),
		storeOptions: historystore.Options{Now: s.clock.Now},
		models: map[string]llm.ModelConfig{
			"claude/a": {Window: 400_000, MaxOutput: 4000, MinCacheTokens: &minimum},
			"claude/b": {Window: 400_000, MaxOutput: 4000, MinCacheTokens: &minimum},
			"local/x":  {Window: 400_000, MaxOutput: 4000},
		},
	}
	t.Cleanup(s.upstream.Close)
	s.upstream.Choose(func(req *upstream.Request) upstream.Script {
		if len(s.steps) == 0 || len(req.Tools) == 0 {
			script := s.cache.Answer(req)
			script.Steps = upstream.Texts(s.answer)
			return script
		}
		if s.during != nil {
			s.during()
			s.during = nil
		}
		script := s.steps[0]
		if s.steps = s.steps[1:]; script.Status == 0 {
			script.Usage = s.cache.Answer(req).Usage
		}
		return script
	})
	s.options = append([]func(*Options){func(opt *Options) {
		setClock(opt, s.clock.Now)
		opt.Log = slog.New(&plannedHandler{planned: s.planned, next: opt.Log.Handler()})
		opt.Sessions.DefaultConfig.Model = "claude/a"
		opt.Sessions.Rules.Stability = stability.Options{Layout: layout, Target: cacheMinimum * 3 / 2}
	}}, adjust...)
	s.open()
	s.sid = s.editor.NewSession(s.work)
	return s
}

// open starts the server on its database and connects an editor.
func (s *stage) open() {
	s.t.Helper()
	s.start(s.options...)
	s.editor = s.testServer.editor()
}

// restart stops the server and starts another one on its database.
func (s *stage) restart() {
	s.t.Helper()
	s.editor.Close()
	s.close()
	s.open()
	s.known = map[string]bool{s.current: true}
	if err := s.editor.Call("session/resume", map[string]any{"sessionId": s.sid, "cwd": s.work, "mcpServers": []any{}}, nil); err != nil {
		s.t.Fatal(err)
	}
}

// prompt sends a prompt and waits for the reply.
func (s *stage) prompt(text string) {
	s.t.Helper()
	if _, err := s.editor.Prompt(s.sid, text); err != nil {
		s.t.Fatal(err)
	}
}

// call calls a method of the session, which must succeed.
func (s *stage) call(method string, params map[string]any) {
	s.t.Helper()
	call[map[string]any](s.testServer, s.editor, method, s.sid, params)
}

func (s *stage) choose(model string) {
	s.t.Helper()
	s.call("session/set_config_option", map[string]any{"configId": "model", "value": model})
}

// say appends messages to the history.
func (s *stage) say(messages ...map[string]any) {
	s.t.Helper()
	s.call("_strata/history/append", map[string]any{"messages": messages})
}

// toolBatch returns an assistant's message with n tool calls, and a message with their results; text returns the text
// of a result.
func toolBatch(name string, n int, text func(i int) string) []map[string]any {
	var calls, results []any
	for i := range n {
		id := fmt.Sprintf("call_%s_%d", name, i)
		calls = append(calls, map[string]any{"type": "tool_call", "callId": id, "name": "look", "args": fmt.Sprintf(`{"of":%d}`, i)})
		results = append(results, map[string]any{"type": "tool_result", "callId": id, "content": []any{map[string]any{"type": "text", "text": text(i)}}})
	}
	return []map[string]any{message("assistant", calls), message("tool", results)}
}

// own assembles a request, makes the call as a frontend does, and commits the reply. The request is sent through the
// server's own client, so it has the bytes that the server would send.
func (s *stage) own(tools []any, answer ...map[string]any) {
	s.t.Helper()
	a := call[assembly.Assembled](s.testServer, s.editor, "_strata/context/assemble", s.sid, map[string]any{"tools": tools})
	usage := s.send(a)
	call[session.Committed](s.testServer, s.editor, "_strata/context/commit", s.sid, map[string]any{
		"assemblyId": a.AssemblyID, "usage": usage, "messages": answer,
	})
}

// send sends an assembled request.
func (s *stage) send(a assembly.Assembled) history.Usage {
	s.t.Helper()
	client, err := llm.New(llm.Options{
		Providers: map[string]llm.ProviderConfig{
			"local":  {Kind: llm.OpenAI, BaseURL: s.upstream.OpenAIURL()},
			"claude": {Kind: llm.Anthropic, BaseURL: s.upstream.URL},
		},
		Models: s.models,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	request := llm.Request{Model: a.Model, MaxOutput: a.MaxOutput, Entries: entriesOf(a)}
	for _, t := range a.Tools {
		request.Tools = append(request.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	result, err := client.Stream(s.t.Context(), request, func(reply.Event) {})
	if err != nil {
		s.t.Fatal(err)
	}
	return result.Usage
}

// entriesOf returns an assembled request in the form that a client sends.
func entriesOf(a assembly.Assembled) []llm.Entry {
	entries := make([]llm.Entry, len(a.Messages))
	for i, m := range a.Messages {
		entries[i] = llm.Entry{Kind: llm.EntryMessage, Role: history.Role(m.Role), Blocks: m.Content}
		if m.Role == "system" {
			entries[i].Kind = llm.EntrySystem
		}
	}
	for _, b := range a.Breakpoints {
		entries[b.Message].Mark = map[string]llm.Mark{"5m": llm.Mark5m, "1h": llm.Mark1h}[b.TTL]
	}
	return entries
}

// breakdown returns the breakdown of the next request.
func (s *stage) breakdown() assembly.Breakdown {
	s.t.Helper()
	return call[assembly.Breakdown](s.testServer, s.editor, "_strata/context/breakdown", s.sid, nil)
}

// lastCall returns the newest row of the usage log.
func (s *stage) lastCall() history.Call {
	s.t.Helper()
	calls, _, err := s.store.Calls(s.t.Context(), s.sid, "", 1000)
	if err != nil || len(calls) == 0 {
		s.t.Fatalf("no row in the usage log: %v", err)
	}
	return calls[len(calls)-1]
}

// planned contains the figures of the sent requests, from the server's log.
type planned struct {
	mu  sync.Mutex
	all []plannedRequest
}

type plannedRequest struct {
	tokens, kept, expected, blocks int64
	cut                            string
}

func (p *planned) last() plannedRequest {
	if all := p.since(0); len(all) > 0 {
		return all[len(all)-1]
	}
	return plannedRequest{}
}

// since returns the figures of the requests after the first n.
func (p *planned) since(n int) []plannedRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all[n:])
}

// plannedHandler reads the figures of requests from the log.
type plannedHandler struct {
	planned *planned
	next    slog.Handler
}

func (h *plannedHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *plannedHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *plannedHandler) WithGroup(string) slog.Handler            { return h }

func (h *plannedHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && h.next != nil {
		h.next.Handle(ctx, r)
	}
	if r.Message != "request planned" {
		return nil
	}
	var p plannedRequest
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "tokens":
			p.tokens = a.Value.Int64()
		case "kept":
			p.kept = a.Value.Int64()
		case "expected":
			p.expected = a.Value.Int64()
		case "expectedBlocks":
			p.blocks = a.Value.Int64()
		case "cut":
			p.cut = a.Value.String()
		}
		return true
	})
	h.planned.mu.Lock()
	defer h.planned.mu.Unlock()
	h.planned.all = append(h.planned.all, p)
	return nil
}

// readAsExpected compares the tokens that the provider read from its cache with the session's expectation.
func (s *stage) readAsExpected(when string) upstream.Read {
	s.t.Helper()
	return s.asExpected(when, s.cache.Last(), s.planned.last(), s.upstream.Last())
}

// asExpected compares the tokens that the provider read for a request with the session's expectation.
func (s *stage) asExpected(when string, read upstream.Read, plan plannedRequest, req *upstream.Request) upstream.Read {
	s.t.Helper()
	s.current = fmt.Sprint(req.Model, req.Tools)
	known := s.known[s.current] && !s.more
	s.known[s.current] = true
	if got := int64(read.Blocks); got < plan.blocks || got > plan.blocks && known {
		s.t.Errorf("%s: %d of %d blocks were read, %d were expected (cut %q)", when, read.Blocks, read.All, plan.blocks, plan.cut)
	}
	if len(read.Marks) > 4 {
		s.t.Errorf("%s: %d marks", when, len(read.Marks))
	}
	return read
}

// share is the share of an input that was read from the cache.
type share struct{ read, input int }

func (f *share) add(u upstream.Usage) {
	f.read += u.CacheRead
	f.input += u.Input + u.CacheRead + u.CacheWrite
}

func (f share) String() string {
	return fmt.Sprintf("%d of %d tokens read from the cache: %.1f %%", f.read, f.input, 100*float64(f.read)/float64(max(f.input, 1)))
}

var bothLayouts = []string{stability.LayoutLog, stability.LayoutRipple}

// lines returns n unique lines of text.
func lines(of string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of %s, with some words to make it count\n", i, of)
	}
	return b.String()
}

func TestWhatTheProviderReadsWasExpected(t *testing.T) {
	long(t)
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			s := newStage(t, layout)
			var total share
			turn := func(when string) {
				t.Helper()
				s.clock.advance(time.Minute)
				s.prompt(lines("the question "+when, 3))
				total.add(s.readAsExpected(when).Usage)
			}
			for i := range 6 {
				s.write(fmt.Sprintf("f%d.go", i), lines(fmt.Sprint("file ", i), 60))
			}
			s.write("AGENTS.md", lines("rules", 10))
			turn("first")
			turn("second")
			for i := range 3 {
				s.call("_strata/files/add", map[string]any{"path": fmt.Sprintf("f%d.go", i)})
			}
			turn("files added")
			s.write("f1.go", lines("file 1", 60)+"one more\n")
			turn("file edited")
			s.write("f1.go", lines("file 1", 59)+"another end\n")
			s.write("f2.go", lines("file 2, new", 60))
			turn("two files edited")
			s.restart()
			turn("restarted")
			s.call("_strata/files/remove", map[string]any{"path": "f1.go"})
			turn("file removed")
			s.call("_strata/files/add", map[string]any{"path": "f1.go"})
			turn("file added again")
			s.call("_strata/documents/set", map[string]any{"name": "design", "text": lines("design", 20)})
			turn("document set")
			s.call("_strata/documents/set", map[string]any{"name": "design", "text": lines("design, changed", 20)})
			turn("document changed")
			s.restart()
			turn("restarted with documents")
			s.clock.advance(6 * time.Minute)
			turn("after six minutes")
			turn("after six minutes, again")
			s.clock.advance(6 * time.Minute)
			turn("after six minutes, once more")
			s.clock.advance(70 * time.Minute)
			turn("after seventy minutes")
			s.say(message("user", lines("appended", 5)), message("assistant", lines("appended answer", 5)))
			turn("history appended")
			s.say(toolBatch("a", 3, func(i int) string { return lines(fmt.Sprint("result ", i), 5) })...)
			turn("tool batch appended")
			turn("behind a tool batch")
			s.restart()
			turn("restarted behind a tool batch")
			tools := []any{map[string]any{"name": "look", "inputSchema": map[string]any{"type": "object"}}}
			for i := range 4 {
				when := fmt.Sprint("own call ", i)
				s.clock.advance(time.Minute)
				s.say(message("user", lines(when, 2)))
				s.own(tools, toolBatch(fmt.Sprint("own", i), 4, func(int) string { return lines(when, 3) })...)
				total.add(s.readAsExpected(when).Usage)
				s.own(tools, message("assistant", lines(when+" answer", 2)))
				total.add(s.readAsExpected(when + ", with results").Usage)
				if i == 1 {
					s.restart()
				}
			}
			turn("back to the server's calls")
			turn("back to the server's calls, again")
			s.choose("claude/b")
			turn("other model")
			turn("other model, again")
			s.choose("claude/a")
			turn("first model")
			s.call("_strata/history/clear", nil)
			turn("cleared")
			turn("cleared, again")
			t.Log(total)
		})
	}
}
