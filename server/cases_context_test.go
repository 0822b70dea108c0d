package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"strata/history"
	"strata/internal/upstream"
	"strata/llm"
	"strata/rpc"
)

// randomLine returns n bytes of base64 without a space, the same for each call.
func randomLine(n int) string {
	var raw []byte
	for i := 0; len(raw) < n; i++ {
		sum := sha256.Sum256([]byte(fmt.Sprint(i)))
		raw = append(raw, sum[:]...)
	}
	return base64.StdEncoding.EncodeToString(raw)[:n]
}

func TestK2_01LongRunsAreCounted(t *testing.T) {
	long(t)
	t.Parallel()
	ts := startServer(t, wideWindow)
	e, bystander := ts.editor(), ts.editor()
	sid, other := e.NewSession(ts.work), bystander.NewSession(ts.work)
	for name, text := range map[string]string{
		"letters": strings.Repeat("a", 200_000), "carets": strings.Repeat("^", 1_000_000),
		"base64": randomLine(1_000_000), "spaces": "x" + strings.Repeat(" ", 300_000) + "x",
	} {
		turn := e.Start(sid, text)
		if err := bystander.Call("_strata/session/info", map[string]any{"sessionId": other}, nil); err != nil {
			t.Fatal(err)
		}
		mustPrompt(t, bystander, other, "hello")
		if _, err := turn.Wait(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		messages := transcript(t, bystander, sid)
		if m := messages[len(messages)-2]; m.PlainText() != text || m.Tokens <= 0 || m.Tokens > len(text)+10 {
			t.Errorf("%s: %d bytes were stored as %d with %d tokens", name, len(text), len(m.PlainText()), m.Tokens)
		}
	}
}

// errorLog collects the messages of errors.
type errorLog struct {
	slog.Handler
	mu     sync.Mutex
	errors []string
}

func (l *errorLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *errorLog) WithAttrs([]slog.Attr) slog.Handler               { return l }

func (l *errorLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, r.Message)
	return nil
}

func TestK2_02SpecialTokensAreText(t *testing.T) {
	t.Parallel()
	const special = "<|endoftext|> <|im_start|> <|fim_prefix|> <|endofprompt|>"
	log := &errorLog{Handler: slog.DiscardHandler}
	ts := startServerOn(t, storeDefaults, upstream.Options{Strict: true}, func(o *Options) { o.Log = slog.New(log) })
	if err := os.WriteFile(filepath.Join(ts.work, "special.txt"), []byte("file "+special), 0o600); err != nil {
		t.Fatal(err)
	}
	e := ts.editor()
	sid := e.NewSession(ts.work)
	var added struct{ Tokens int }
	if err := e.Call("_strata/files/add", map[string]any{"sessionId": sid, "path": "special.txt"}, &added); err != nil {
		t.Fatal(err)
	}
	mustPrompt(t, e, sid, "prompt "+special)
	if m := transcript(t, e, sid)[0]; added.Tokens < 10 || added.Tokens > 200 || m.Tokens < 10 || m.Tokens > 100 {
		t.Errorf("the file has %d tokens, the prompt %d", added.Tokens, m.Tokens)
	}
	var sent strings.Builder
	for _, m := range ts.upstream.Last().Messages {
		sent.WriteString(m.Text())
	}
	for _, text := range []string{"file " + special, "prompt " + special} {
		if !strings.Contains(sent.String(), text) {
			t.Errorf("%q was not sent as it is", text)
		}
	}
	if len(log.errors) > 0 {
		t.Errorf("logged %q", log.errors)
	}
}

// png returns n bytes with the header of an image of the given size.
func png(width, height, n int) []byte {
	const signature = "\x89PNG\r\n\x1a\n\x00\x00\x00\r"
	b := bytes.NewBufferString(signature + "IHDR")
	binary.Write(b, binary.BigEndian, []uint32{uint32(width), uint32(height)})
	b.WriteString("\x08\x06\x00\x00\x00")
	binary.Write(b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()[len(signature):]))
	for b.Len() < n {
		sum := sha256.Sum256(b.Bytes()[b.Len()-13:])
		b.Write(sum[:])
	}
	return b.Bytes()[:n]
}

// pictures returns the number of images in a request.
func pictures(r *upstream.Request, picture []byte) int {
	data, n := base64.StdEncoding.EncodeToString(picture), 0
	var count func([]upstream.Block)
	count = func(blocks []upstream.Block) {
		for _, b := range blocks {
			if b.Source.Data == data {
				n++
			}
			count(b.Content)
		}
	}
	for _, m := range r.Messages {
		count(m.Blocks)
	}
	return n
}

func TestK2_04PicturesHaveABoundedCost(t *testing.T) {
	long(t)
	t.Parallel()
	sees := true
	for format, model := range models {
		t.Run(string(format), func(t *testing.T) {
			ts := startClient(t, model, llm.Options{Models: map[string]llm.ModelConfig{model: {Window: 200_000, Vision: &sees}}})
			e := ts.editor()
			sid := e.NewSession(ts.work)
			picture := png(1600, 1200, 1_900_000)
			words := map[string]any{"type": "text", "text": "What is it that you can see in this picture?"}
			block := map[string]any{"type": "image", "mimeType": "image/png", "data": picture}
			if _, err := e.StartWith(sid, []any{block, words}, "").Wait(); err != nil {
				t.Fatal(err)
			}
			if m := transcript(t, e, sid)[0]; m.Tokens < 500 || m.Tokens > 5_000 {
				t.Errorf("the prompt counts %d tokens", m.Tokens)
			}
			if n := pictures(ts.upstream.Last(), picture); n != 1 {
				t.Errorf("%d pictures were sent as they are", n)
			}

			stored := map[string]any{"type": "image", "mimeType": "image/png", "data": picture}
			messages := []any{
				map[string]any{"role": "user", "content": "look"},
				map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_call", "callId": "call_1", "name": "look", "args": "{}"}}},
				map[string]any{"role": "tool", "content": []any{map[string]any{"type": "tool_result", "callId": "call_1", "content": []any{stored}}}},
			}
			if err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil); err != nil {
				t.Fatal(err)
			}
			if m := lastMessage(t, e, sid); m.Tokens < 500 || m.Tokens > 5_000 {
				t.Errorf("the tool's result counts %d tokens", m.Tokens)
			}
			mustPrompt(t, e, sid, "hello")
			if n := pictures(ts.upstream.Last(), picture); n != 2 {
				t.Errorf("%d pictures were sent as they are", n)
			}

			small := map[string]any{"type": "image", "mimeType": "image/png", "data": png(1600, 1200, 20_000)}
			for range 60 {
				message := []any{map[string]any{"role": "user", "content": []any{small}}}
				if err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": message}, nil); err != nil {
					t.Fatal(err)
				}
			}
			counted := 0
			all := transcript(t, e, sid)
			for _, m := range all[len(all)-60:] {
				counted += m.Tokens
			}
			if counted < 60*500 || counted > 60*5_000 {
				t.Errorf("60 pictures count %d tokens", counted)
			}
			mustPrompt(t, e, sid, "hello")
		})
	}
}

func TestK2_08UnknownModelsAreCountedOffline(t *testing.T) {
	long(t)
	for _, name := range []string{"TIKTOKEN_CACHE_DIR", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} { // no network access
		t.Setenv(name, "http://127.0.0.1:1")
	}
	ts := startServer(t, func(o *Options) { o.Sessions.DefaultConfig.Model = "local/my-model-x" })
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for i := range 200 {
		mustPrompt(t, e, sid, fmt.Sprint("short ", i))
	}
	for _, m := range transcript(t, e, sid) {
		if m.Tokens <= 0 || m.Tokens > 100 {
			t.Fatalf("%q counts %d tokens", m.PlainText(), m.Tokens)
		}
	}
}

func TestK3_01PictureWithoutWords(t *testing.T) {
	t.Parallel()
	overWires(t, func(t *testing.T, ts *testServer, _ upstream.Wire) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		blocks := []any{
			map[string]any{"type": "image", "mimeType": "image/png", "data": png(64, 64, 2_000)},
			map[string]any{"type": "text", "text": ""},
		}
		if _, err := e.StartWith(sid, blocks, "").Wait(); err != nil {
			t.Fatal(err)
		}
		mustPrompt(t, e, sid, "hello")
	})
}

func TestK3_02BlankAnswersAndPrompts(t *testing.T) {
	t.Parallel()
	overWires(t, func(t *testing.T, ts *testServer, format upstream.Wire) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		ts.upstream.Push(upstream.Script{Steps: upstream.Texts("\n")}, upstream.Script{})
		mustPrompt(t, e, sid, "first")
		mustPrompt(t, e, sid, "second")
		_, err := e.Prompt(sid, "   ")
		wireFault(t, err, rpc.CodeInvalidParams)
		mustPrompt(t, e, sid, "hello")

		ts.close()
		ts.start(func(o *Options) { o.Sessions.DefaultConfig.Model = models[format] })
		e = ts.editor()
		mustPrompt(t, e, sid, "hello")
		for _, r := range ts.upstream.Requests() {
			if reason := upstream.Refusal(r, 0); reason != "" {
				t.Errorf("request %d: %s", r.N, reason)
			}
		}
		users := 0
		for _, m := range transcript(t, e, sid) {
			if m.Role == history.RoleUser {
				users++
			}
		}
		if users != 4 {
			t.Errorf("%d prompts are stored", users)
		}
	})
}
