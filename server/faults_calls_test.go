package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/session/assembly"
)

func calling(ids ...string) map[string]any {
	var blocks []any
	for _, id := range ids {
		blocks = append(blocks, map[string]any{"type": "tool_call", "callId": id, "name": "look", "args": `{"at":"` + id + `"}`})
	}
	return message("assistant", blocks)
}

func resulting(ids ...string) map[string]any {
	var blocks []any
	for _, id := range ids {
		blocks = append(blocks, map[string]any{"type": "tool_result", "callId": id, "content": []any{words("seen " + id)}})
	}
	return message("tool", blocks)
}

var lookTool = map[string]any{"tools": []any{map[string]any{"name": "look", "inputSchema": map[string]any{"type": "object"}}}}

// blockLetters returns an assembled conversation, a letter for each block: s, u, a and t for texts, C and R for calls and results
// with their ids, and R?id for a result that says that there is none.
func blockLetters(a assembly.Assembled) string {
	var parts []string
	for _, m := range a.Messages {
		for i := range m.Content {
			switch b := &m.Content[i]; b.Type {
			case history.BlockToolCall:
				parts = append(parts, "C"+b.CallID)
			case history.BlockToolResult:
				mark := "R"
				if b.IsError {
					mark = "R?"
				}
				parts = append(parts, mark+b.CallID)
			default:
				parts = append(parts, m.Role[:1])
			}
		}
	}
	return strings.TrimLeft(strings.Join(parts, " "), "s ")
}

// A call without a result has one in each request that says so, which is not stored. A late result takes its place, also
// after a reload; a second one, and one for a call that nobody made, are refused with their place in the parameters. A short
// reply stands between results and the next prompt.
func TestF21CallsWithoutResults(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	ts := startServer(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	e, sid := attached(t, ts)
	add := func(messages ...any) error {
		return e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil)
	}
	expect := func(step, want string) {
		t.Helper()
		for range 2 {
			if got := blockLetters(call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, lookTool)); got != want {
				t.Errorf("%s: assembled %q, want %q", step, got, want)
			}
			ts.close()
			ts.start(func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			e = ts.editor()
		}
	}
	refuse := func(path string, messages ...any) {
		t.Helper()
		before := len(transcript(t, e, sid))
		if fault := wireFault(t, add(messages...), rpc.CodeInvalidParams); !strings.Contains(fault.Message, path) {
			t.Errorf("refused with %q, want %q", fault.Message, path)
		}
		if after := len(transcript(t, e, sid)); after != before {
			t.Errorf("%d messages were added", after-before)
		}
	}
	must(t, add(message("user", "go"), calling("c1", "c2"), resulting("c1"), message("user", "never mind")))
	expect("missing", "u Cc1 Cc2 Rc1 R?c2 a u")
	if all := transcript(t, e, sid); len(all) != 4 || len(all[2].Blocks) != 1 {
		t.Errorf("the transcript is %s", chatOf(all))
	}
	if got := log.String(); !strings.Contains(got, "tool calls without a result") || !strings.Contains(got, "calls=1") {
		t.Error("the log does not mention the missing result")
	}

	refuse("messages[0].content[0].callId", resulting("c1"))                                          // has one
	refuse("messages[1].content[1].callId", message("user", "x"), resulting("c2", "c9"))              // nobody made c9
	refuse("messages[0].content[1].callId", resulting("c2", "c2"))                                    // twice
	refuse("messages[1].content[0].callId", resulting("c2"), resulting("c2"))                         // twice
	refuse("messages[1].content[1].callId", calling("c3"), resulting("c3", "c2"))                     // of two messages
	refuse("messages[0].content[0].callId", resulting("c3"))                                          // nothing of that was added
	refuse("messages[1].content[0].callId", calling("c4"), resulting("c5"), message("user", "never")) // another one
	expect("refused", "u Cc1 Cc2 Rc1 R?c2 a u")

	must(t, add(resulting("c2")))
	expect("late", "u Cc1 Cc2 Rc1 Rc2 a u")
	refuse("messages[0].content[0].callId", resulting("c2"))
	must(t, add(calling("c6"), message("user", "and"), calling("c7"), resulting("c7"), resulting("c6"), message("user", "so")))
	expect("late in one request", "u Cc1 Cc2 Rc1 Rc2 a u Cc6 Rc6 a u Cc7 Rc7 a u")
	must(t, add(calling("c1"), resulting("c1"), message("user", "again"))) // an id that was used before
	expect("an id again", "u Cc1 Cc2 Rc1 Rc2 a u Cc6 Rc6 a u Cc7 Rc7 a u Cc1 Rc1 a u")

	replaced := map[string]any{"messages": []any{message("user", "anew"), calling("r1", "r2"), message("user", "wait"), resulting("r2")}}
	call[map[string]any](ts, e, "_strata/history/replace", sid, replaced)
	expect("replaced", "u Cr1 Cr2 Rr2 R?r1 a u")
	err := e.Call("_strata/history/replace", map[string]any{"sessionId": sid, "messages": []any{message("user", "x"), resulting("c1")}}, nil)
	if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, "messages[1].content[0].callId") {
		t.Errorf("refused with %q", fault.Message)
	}
	assembled := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, lookTool)
	err = e.Call("_strata/context/commit", map[string]any{"sessionId": sid, "assemblyId": assembled.AssemblyID, "messages": []any{calling("d1"), resulting("d2")}}, nil)
	if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, "messages[1].content[0].callId") {
		t.Errorf("refused with %q", fault.Message)
	}
	call[map[string]any](ts, e, "_strata/context/commit", sid, map[string]any{"assemblyId": assembled.AssemblyID, "messages": []any{calling("d1"), resulting("r1"), resulting("d1")}})
	expect("committed", "u Cr1 Cr2 Rr2 Rr1 a u Cd1 Rd1")
}

// lockedBuffer is a buffer that goroutines can share.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// naive is a frontend that sends an assembled request as it is.
type naive struct {
	t  *testing.T
	up *upstream.Server
}

func (n *naive) post(path string, body map[string]any) string {
	n.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		n.t.Fatal(err)
	}
	res, err := http.Post(n.up.URL+path, "application/json", bytes.NewReader(raw))
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		return string(text)
	}
	return ""
}

// anthropic sends a request in the Messages format and returns the refusal.
func (n *naive) anthropic(a assembly.Assembled) string {
	var system, messages []any
	last := ""
	for _, m := range a.Messages {
		role := map[string]string{"assistant": "assistant"}[m.Role]
		if role == "" {
			role = "user"
		}
		var blocks []any
		for i := range m.Content {
			switch b := &m.Content[i]; b.Type {
			case history.BlockToolCall:
				blocks = append(blocks, map[string]any{"type": "tool_use", "id": b.CallID, "name": b.Name, "input": json.RawMessage(b.Args)})
			case history.BlockToolResult:
				blocks = append(blocks, map[string]any{"type": "tool_result", "tool_use_id": b.CallID, "is_error": b.IsError, "content": texts(b.Content)})
			default:
				blocks = append(blocks, words(b.Text))
			}
		}
		if m.Role == "system" {
			system = append(system, blocks...)
			continue
		}
		if role == last {
			end := messages[len(messages)-1].(map[string]any)
			end["content"] = append(end["content"].([]any), blocks...)
			continue
		}
		messages, last = append(messages, map[string]any{"role": role, "content": blocks}), role
	}
	return n.post("/v1/messages", map[string]any{
		"model": "x", "max_tokens": 100, "stream": true, "system": system, "messages": messages,
		"tools": []any{map[string]any{"name": "look", "input_schema": map[string]any{"type": "object"}}},
	})
}

// openAI sends a request in the format of chat completions and returns the refusal.
func (n *naive) openAI(a assembly.Assembled) string {
	var messages []any
	for i, m := range a.Messages {
		if m.Role == "tool" {
			for j := range m.Content {
				b := &m.Content[j]
				messages = append(messages, map[string]any{"role": "tool", "tool_call_id": b.CallID, "content": texts(b.Content)})
			}
			continue
		}
		out := map[string]any{"role": m.Role}
		if m.Role == "system" && i > 0 {
			out["role"] = "user"
		}
		var text, calls []any
		for j := range m.Content {
			if b := &m.Content[j]; b.Type == history.BlockToolCall {
				calls = append(calls, map[string]any{"id": b.CallID, "type": "function", "function": map[string]any{"name": b.Name, "arguments": b.Args}})
			} else {
				text = append(text, words(b.Text))
			}
		}
		if len(text) > 0 {
			out["content"] = text
		}
		if len(calls) > 0 {
			out["tool_calls"] = calls
		}
		messages = append(messages, out)
	}
	return n.post("/v1/chat/completions", map[string]any{
		"model": "x", "stream": true, "messages": messages,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "look", "parameters": map[string]any{"type": "object"}}}},
	})
}

func texts(blocks []history.Block) []any {
	var all []any
	for i := range blocks {
		all = append(all, words(blocks[i].Text))
	}
	return all
}

// Whatever appends are accepted, with results that are missing, late, doubled or of nobody, with empty replies, restores,
// undos and evictions: strict providers of both dialects accept each request, sent by Strata or by a frontend as it is.
func TestF21StrictProvidersAcceptEveryHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			model := []string{"local/test", "claude/test"}[seed%2]
			ts := startServerOn(t, storeDefaults, upstream.Options{Strict: true}, func(o *Options) { o.Sessions.DefaultConfig.Model = model })
			e, sid := attached(t, ts)
			r := rand.New(rand.NewPCG(seed, 21))
			frontend := naive{t, ts.upstream}
			accepted := 0
			must(t, e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": []any{message("user", "begin")}}, nil))
			for step := range 40 {
				accepted += randomStep(t, e, sid, r, step)
				a := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, map[string]any{"tools": lookTool["tools"]})
				if last := a.Messages[len(a.Messages)-1].Role; last == "assistant" || a.Messages[1].Role != "user" {
					continue // no provider takes it, whatever the frontend does
				}
				if refused := frontend.anthropic(a); refused != "" {
					t.Fatalf("step %d: %s\n%s", step, refused, blockLetters(a))
				}
				if refused := frontend.openAI(a); refused != "" {
					t.Fatalf("step %d: %s\n%s", step, refused, blockLetters(a))
				}
				if step%8 == 0 {
					mustPrompt(t, e, sid, fmt.Sprint("prompt ", step))
				}
			}
			if accepted < 10 {
				t.Errorf("%d changes were accepted", accepted)
			}
		})
	}
}

// randomStep changes the history at random, and returns 1 if that was accepted.
func randomStep(t *testing.T, e *testclient.Editor, sid string, r *rand.Rand, step int) int {
	t.Helper()
	id := func() string { return fmt.Sprint("c", max(0, step-r.IntN(4)), "_", r.IntN(3)) }
	some := func() (ids []string) {
		for range 1 + r.IntN(3) {
			ids = append(ids, id())
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	var err error
	switch r.IntN(12) {
	case 0:
		err = e.Call("_strata/checkpoint/undo", map[string]any{"sessionId": sid}, nil)
	case 1:
		all := transcript(t, e, sid)
		err = e.Call("_strata/checkpoint/restore", map[string]any{"sessionId": sid, "seq": all[r.IntN(len(all))].Seq}, nil)
	default:
		var messages []any
		for n := range 1 + r.IntN(4) {
			switch r.IntN(6) {
			case 0:
				messages = append(messages, message("user", fmt.Sprint("user ", step)))
			case 1:
				messages = append(messages, message("assistant", ""))
			case 2:
				messages = append(messages, calling(fmt.Sprint("c", step, "_", n)))
			case 3:
				messages = append(messages, calling(fmt.Sprint("c", step, "_", n), fmt.Sprint("c", step, "_", n+10)))
			default:
				messages = append(messages, resulting(some()...))
			}
		}
		err = e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil)
	}
	if err != nil {
		wireFault(t, err, rpc.CodeInvalidParams)
		return 0
	}
	return 1
}
