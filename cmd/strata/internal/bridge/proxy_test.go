package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"strata/cmd/strata/internal/cli"
	"strata/historystore"
	"strata/internal/environment"
	"strata/internal/leak"
	"strata/rpc"
	"strata/server/access"
)

// patience is the time after which a test counts as hung. It measures nothing.
const patience = 20 * time.Second

// stage is an editor, the bridge, and a server whose every frame the test writes.
type stage struct {
	t        *testing.T
	env      map[string]string
	accepted chan *side // connections to the server
	editor   *side
	log      *lockedBuffer
	ended    chan error
	stdin    io.Writer // of the bridge, for bytes that no stream sends
	close    func()    // closes it
}

// side is an end of a connection that the test plays: it receives frames and sends any.
type side struct {
	t      *testing.T
	stream rpc.Stream
	frames chan string // closed when the connection has ended
}

func play(t *testing.T, stream rpc.Stream) *side {
	s := &side{t, stream, make(chan string, 100)}
	go func() {
		defer close(s.frames)
		for stream.ReadFrame(func(frame []byte) error {
			s.frames <- string(frame)
			return nil
		}) == nil {
		}
	}()
	return s
}

// gets returns the next frame, decoded.
func (s *side) gets() frame {
	s.t.Helper()
	select {
	case raw, ok := <-s.frames:
		if !ok {
			s.t.Fatal("the connection has ended")
		}
		f := frame{raw: raw}
		if err := json.Unmarshal([]byte(raw), &f); err != nil {
			s.t.Fatalf("%s: %v", raw, err)
		}
		return f
	case <-time.After(patience):
		s.t.Fatal("no frame arrives")
	}
	return frame{}
}

// wants returns the next frame, which must have this method, or be a response if it is empty.
func (s *side) wants(method string) frame {
	s.t.Helper()
	f := s.gets()
	if f.Method != method {
		s.t.Fatalf("got %.300s, want %q", f.raw, method)
	}
	return f
}

func (s *side) sends(format string, args ...any) {
	s.t.Helper()
	if err := s.stream.WriteFrame(fmt.Appendf(nil, format, args...)); err != nil {
		s.t.Fatal(err)
	}
}

// responds sends a result.
func (s *side) responds(to frame, result string) {
	s.t.Helper()
	s.sends(`{"jsonrpc":"2.0","id":%s,"result":%s}`, to.ID, result)
}

type frame struct {
	raw    string
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *rpc.Error
}

// promptID returns the id of a prompt.
func (f frame) promptID(t *testing.T) string {
	t.Helper()
	var params struct {
		Meta struct{ Strata struct{ PromptID string } } `json:"_meta"`
	}
	if err := json.Unmarshal(f.Params, &params); err != nil || params.Meta.Strata.PromptID == "" {
		t.Fatalf("%s has no promptId", f.raw)
	}
	return params.Meta.Strata.PromptID
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// newStage starts the bridge. The server is found like a real one: by its file and the lock of its database.
func newStage(t *testing.T, env map[string]string) *stage {
	t.Helper()
	others := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := leak.Find(others); err != nil {
			t.Error(err)
		}
	})
	home := t.TempDir()
	s := &stage{t: t, env: map[string]string{"HOME": home, "XDG_STATE_HOME": home}, accepted: make(chan *side, 10), log: new(lockedBuffer)}
	for name, value := range env {
		s.env[name] = value
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stream, err := rpc.AcceptWebSocket(w, r, rpc.WebSocketOptions{Subprotocols: []string{access.Subprotocol}})
		if err != nil {
			t.Error(err)
			return
		}
		side := play(t, stream)
		t.Cleanup(func() { stream.Close(closeNow, "") })
		s.accepted <- side
	}))
	t.Cleanup(web.Close)
	store, err := historystore.Open(t.Context(), filepath.Join(home, "strata.db"), historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	err = access.WriteServerFile(filepath.Join(home, "strata", "server.json"), access.ServerFile{
		URL: web.URL, Token: access.NewToken(), PID: os.Getpid(), Database: filepath.Join(home, "strata.db"),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.start()
	return s
}

func (s *stage) start() {
	stdin, fromEditor := io.Pipe()
	toEditor, stdout := io.Pipe()
	p := &cli.Process{
		Stdin: stdin, Stdout: stdout, Stderr: s.log, Getenv: func(name string) string { return s.env[name] },
		Environ: func() []string { return environment.List(s.env) },
	}
	s.editor = play(s.t, rpc.NewLineStream(toEditor, fromEditor, toEditor, rpc.Limits{FrameBytes: 64 << 20}))
	s.stdin, s.close = fromEditor, func() { fromEditor.Close() }
	ctx, cancel := context.WithCancel(context.Background())
	s.ended = make(chan error, 1)
	go func() {
		s.ended <- proxy(ctx, p)
		stdout.Close()
	}()
	s.t.Cleanup(func() {
		cancel()
		s.close()
		<-s.editor.frames
	})
}

// server returns the next connection to the server.
func (s *stage) server() *side {
	s.t.Helper()
	select {
	case side := <-s.accepted:
		return side
	case <-time.After(patience):
		s.t.Fatal("nobody connects")
	}
	return nil
}

const agent = `{"protocolVersion":1,"agentCapabilities":{"_meta":{"strata":{"limits":{"frameBytes":1000}}}},"authMethods":[{"id":"login-openai"}]}`

// greet initializes a connection for the editor. The server lacks no key.
func (s *stage) greet(server *side) {
	s.t.Helper()
	s.editor.sends(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"e"}}}`)
	server.responds(server.wants("initialize"), agent)
	server.responds(server.wants("_strata/providers/list"), `{"providers":[]}`)
	if f := s.editor.wants(""); string(f.ID) != "1" || string(f.Result) != agent {
		s.t.Fatalf("the editor got %s", f.raw)
	}
}

// again expects that the bridge initializes a further connection as the editor did.
func (s *stage) again(server *side) {
	s.t.Helper()
	f := server.wants("initialize")
	if string(f.Params) != `{"protocolVersion":1,"clientInfo":{"name":"e"}}` {
		s.t.Fatalf("initialized with %s", f.raw)
	}
	server.responds(f, agent)
	server.responds(server.wants("_strata/providers/list"), `{"providers":[]}`)
}

// opens opens a session for the editor.
func (s *stage) opens(server *side, id string) {
	s.t.Helper()
	s.editor.sends(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`)
	server.responds(server.wants("session/new"), `{"sessionId":"`+id+`"}`)
	s.editor.wants("")
}

// After the connection was lost, the editor still has the files of its sessions. Nothing of the folder is looked at or changed.
func TestFilesOfTheEditorAreNamedAgain(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	const opened = `{"cwd":"/no/such/../folder","_meta":{"strata":{"workspace":"client","workspaceId":"mine"}}}`
	s.editor.sends(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":%s}`, opened)
	f := server.wants("session/new")
	if string(f.Params) != opened {
		t.Errorf("passed on as %s", f.Params)
	}
	server.responds(f, `{"sessionId":"s"}`)
	s.editor.wants("")
	s.editor.sends(`{"jsonrpc":"2.0","id":"a","method":"_strata/session/attach","params":{"sessionId":"t","workspace":"client"}}`)
	server.responds(server.wants("_strata/session/attach"), `{}`)
	s.editor.wants("")
	server.stream.Close(closeNow, "")

	server = s.server()
	s.again(server)
	want := `{"sessionId":"s","cwd":"/no/such/../folder","_meta":{"strata":{"workspace":"client","workspaceId":"mine"}}}`
	if f := server.wants("session/resume"); string(f.Params) != want {
		t.Errorf("resumed with %s", f.Params)
	} else {
		server.responds(f, `{}`)
	}
	if f := server.wants("_strata/session/attach"); string(f.Params) != `{"sessionId":"t","workspace":"client"}` {
		t.Errorf("attached with %s", f.Params)
	}
}

func TestF30MessagesThatNoServerCouldRead(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	long := strings.Repeat("x", 2000)
	for _, bad := range []struct{ line, id, message string }{
		{`{"jsonrpc":"2.0","id":"big","method":"session/prompt","params":{"sessionId":"` + long + `"}}`, `"big"`, "exceeds the server's limit of 1000"},
		{`{"jsonrpc":"2.0","method":"session/prompt","params":{"x":"` + long + `"},"id":9007199254740993}`, `9007199254740993`, "exceeds the server's limit of 1000"},
		{long, "null", "exceeds the server's limit of 1000"},
		{"not JSON", "null", "the frame is not JSON"},
		{"\x00\x01\x02", "null", "the frame is not JSON"},
		{"[]", "null", "batches are not supported"},
		{`{"jsonrpc":"1.0","id":5,"method":"m"}`, "5", `jsonrpc must be "2.0"`},
	} {
		s.editor.sends("%s", bad.line)
		f := s.editor.wants("")
		if string(f.ID) != bad.id || f.Error == nil || !strings.Contains(f.Error.Message, bad.message) {
			t.Errorf("%.50s: got %s", bad.line, f.raw)
		}
	}
	io.WriteString(s.stdin, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"\xff\"}\n")
	if f := s.editor.wants(""); string(f.ID) != "null" || f.Error == nil || f.Error.Message != "the frame is not UTF-8" {
		t.Errorf("got %s", f.raw)
	}
	// These get no response.
	s.editor.sends(`{"jsonrpc":"2.0","method":"note","params":{"x":"%s"}}`, long)
	s.editor.sends(`{"jsonrpc":"2.0","method":"note","params":[]}`)
	s.editor.sends(`{"jsonrpc":"2.0","id":1,"result":"%s"}`, long)
	s.editor.sends(`{"jsonrpc":"2.0","id":"fine","method":"session/list","params":{}}`)
	server.responds(server.wants("session/list"), `{}`)
	if f := s.editor.wants(""); string(f.ID) != `"fine"` {
		t.Errorf("the editor got %s", f.raw)
	}
}

// The server gets an error in the place of a response that is too long.
func TestF30AResponseOfTheEditorIsTooLong(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	server.sends(`{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{}}`)
	asked := s.editor.wants("session/request_permission")
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":"%s"}`, asked.ID, strings.Repeat("x", 2000))
	if f := server.wants(""); string(f.ID) != "77" || f.Error == nil || f.Error.Code != rpc.CodeInvalidRequest {
		t.Errorf("the server got %s", f.raw)
	}
}

// A prompt in flight is sent again with its id, after the session is opened as the editor opened it.
func TestF36ThePromptIsJoined(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	s.opens(server, "s")
	s.editor.sends(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	id := server.wants("session/prompt").promptID(t)
	s.editor.sends(`{"jsonrpc":"2.0","id":"a","method":"_strata/history/append","params":{"sessionId":"s"}}`)
	server.wants("_strata/history/append")
	server.stream.Close(closeNow, "")

	if f := s.editor.wants(""); string(f.ID) != `"a"` || f.Error == nil || !strings.Contains(f.Error.Message, "_strata/history/append may have taken effect") {
		t.Errorf("the editor got %s", f.raw)
	}
	server = s.server()
	s.again(server)
	f := server.wants("session/resume")
	if string(f.Params) != `{"sessionId":"s","cwd":"/work","mcpServers":[]}` {
		t.Errorf("opened by %s", f.raw)
	}
	server.responds(f, `{}`)
	f = server.wants("session/prompt")
	if f.promptID(t) != id || string(f.ID) != `"p"` {
		t.Errorf("repeated as %s, the id was %s", f.raw, id)
	}
	server.responds(f, `{"stopReason":"end_turn"}`)
	if f := s.editor.wants(""); string(f.ID) != `"p"` || string(f.Result) != `{"stopReason":"end_turn"}` {
		t.Errorf("the editor got %s", f.raw)
	}
	if log := s.log.String(); !strings.Contains(log, "the connection to the server was lost: ") {
		t.Errorf("logged %s", log)
	}
}

// On the same server, the editor gets what it missed, and no events that it did not ask for.
func TestF36WhatWasMissedFollows(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	s.opens(server, "s")
	chunk := func(server *side, seq int) {
		server.sends(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","_meta":{"strata":{"epoch":"e","seq":%d}}}}`, seq)
	}
	chunk(server, 7)
	s.editor.wants("session/update")
	server.stream.Close(closeNow, "")

	server = s.server()
	s.again(server)
	f := server.wants("_strata/session/attach")
	if string(f.Params) != `{"sessionId":"s","epoch":"e","after":7}` {
		t.Errorf("attached by %s", f.raw)
	}
	server.responds(f, `{"epoch":"e","seq":9,"complete":true}`)
	chunk(server, 8)
	server.sends(`{"jsonrpc":"2.0","method":"_strata/event","params":{"sessionId":"s","epoch":"e","seq":9,"type":"saved"}}`)
	server.responds(server.wants("_strata/session/detach"), `{}`)
	chunk(server, 10)
	for _, seq := range []string{"8", "10"} {
		if f := s.editor.wants("session/update"); !strings.Contains(f.raw, `"seq":`+seq) {
			t.Errorf("the editor got %s, want %s", f.raw, seq)
		}
	}

	// Events that the server no longer has: the session is opened anew.
	server.stream.Close(closeNow, "")
	server = s.server()
	s.again(server)
	server.responds(server.wants("_strata/session/attach"), `{"epoch":"e2","seq":1,"complete":false}`)
	server.responds(server.wants("_strata/session/detach"), `{}`)
	server.responds(server.wants("session/resume"), `{}`)
	chunk(server, 11)
	s.editor.wants("session/update")
}

// An editor that receives its own messages goes on to receive them.
func TestOwnMessagesFollowAgain(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	s.editor.sends(`{"jsonrpc":"2.0","id":"a","method":"_strata/session/attach","params":{"sessionId":"s","own":true}}`)
	server.responds(server.wants("_strata/session/attach"), `{}`)
	s.editor.wants("")
	server.sends(`{"jsonrpc":"2.0","method":"_strata/event","params":{"sessionId":"s","epoch":"e","seq":7,"type":"saved"}}`)
	s.editor.wants("_strata/event")
	server.stream.Close(closeNow, "")

	server = s.server()
	s.again(server)
	if f := server.wants("_strata/session/attach"); string(f.Params) != `{"sessionId":"s","epoch":"e","after":7,"own":true}` {
		t.Errorf("attached by %s", f.raw)
	}
}

// Editors that use the extensions attach again, and get their lists again.
func TestF36AttachedEditors(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	for id, method := range []string{"_strata/session/attach", "_strata/server/subscribe"} {
		s.editor.sends(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"sessionId":"s"}}`, 10+id, method)
		server.responds(server.wants(method), `{}`)
		s.editor.wants("")
	}
	server.sends(`{"jsonrpc":"2.0","method":"_strata/event","params":{"sessionId":"s","epoch":"e","seq":4,"type":"saved"}}`)
	s.editor.wants("_strata/event")
	server.stream.Close(closeNow, "")

	server = s.server()
	s.again(server)
	server.responds(server.wants("_strata/session/attach"), `{"epoch":"e","complete":false}`)
	server.responds(server.wants("_strata/session/detach"), `{}`)
	server.responds(server.wants("_strata/session/attach"), `{}`)
	server.responds(server.wants("_strata/session/detach"), `{}`)
	server.responds(server.wants("_strata/server/subscribe"), `{"counts":{}}`)
	if f := s.editor.wants("_strata/event"); string(f.Params) != `{"epoch":"e","reason":"shutdown","seq":5,"sessionId":"s","type":"closed"}` {
		t.Errorf("the editor got %s", f.raw)
	}
	if f := s.editor.wants("_strata/server/event"); string(f.Params) != `{"type":"reset"}` {
		t.Errorf("the editor got %s", f.raw)
	}
}

// A call that was open when the server died ends for the editor with the next server: no update tells its end.
func TestCallsOfAServerThatDied(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	s.opens(server, "s")
	for i, update := range []string{
		`{"sessionUpdate":"tool_call","toolCallId":"a","title":"read_file","status":"pending"}`,
		`{"sessionUpdate":"tool_call","toolCallId":"b","title":"read_file","status":"pending"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"b","status":"in_progress"}`,
	} {
		server.sends(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s,"_meta":{"strata":{"epoch":"e","seq":%d}}}}`, update, i+1)
		s.editor.wants("session/update")
	}
	server.stream.Close(closeNow, "")

	server = s.server()
	s.again(server)
	server.responds(server.wants("_strata/session/attach"), `{"epoch":"f","complete":false}`)
	server.responds(server.wants("_strata/session/detach"), `{}`)
	server.responds(server.wants("session/resume"), `{}`)
	if f := s.editor.wants("session/update"); string(f.Params) != `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"b","status":"failed"}}` {
		t.Errorf("the editor got %s", f.raw)
	}
	server.stream.Close(closeNow, "")

	server = s.server() // and only once
	s.again(server)
	server.responds(server.wants("_strata/session/attach"), `{"epoch":"g","complete":false}`)
	server.responds(server.wants("_strata/session/detach"), `{}`)
	server.responds(server.wants("session/resume"), `{}`)
	s.editor.sends(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
	server.responds(server.wants("session/list"), `{}`)
	s.editor.wants("")
}

// A server that stopped is not replaced before the editor needs one; another that appears is used.
func TestF36AStoppedServer(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	server.stream.Close(closeGoingAway, "the server stops")
	server = s.server()
	s.again(server)
	s.editor.sends(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
	server.responds(server.wants("session/list"), `{}`)
	s.editor.wants("")
}

// A connection that is lost before the response to initialize, or during the hand-over of keys.
func TestF36InitializeIsRepeated(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.editor.sends(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	server.wants("initialize")
	server.stream.Close(closeNow, "")
	server = s.server()
	server.responds(server.wants("initialize"), agent)
	server.wants("_strata/providers/list")
	server.stream.Close(closeNow, "")
	server = s.server()
	server.responds(server.wants("initialize"), agent)
	server.responds(server.wants("_strata/providers/list"), `{"providers":[]}`)
	if f := s.editor.wants(""); string(f.ID) != "1" || string(f.Result) != agent {
		t.Errorf("the editor got %s", f.raw)
	}
	s.editor.sends(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
	server.wants("session/list")
}

// A request whose every connection ends is refused in the end: it may be the cause.
func TestF36ARequestThatEndsConnections(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	s.editor.sends(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
	for range maxLosses {
		server.wants("session/list")
		server.stream.Close(closeNow, "")
		server = s.server()
		s.again(server)
	}
	if f := s.editor.wants(""); string(f.ID) != "2" || f.Error == nil || f.Error.Code != codeLost {
		t.Errorf("the editor got %s", f.raw)
	}
}

// A question of a server that is gone is withdrawn, and its answer does not reach the next server.
func TestF36QuestionsOfAServerThatIsGone(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	server.sends(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{}}`)
	old := s.editor.wants("session/request_permission")
	server.stream.Close(closeNow, "")
	if f := s.editor.wants("$/cancel_request"); !strings.Contains(f.raw, string(old.ID)) {
		t.Errorf("the editor got %s", f.raw)
	}
	server = s.server()
	s.again(server)
	server.sends(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{}}`)
	present := s.editor.wants("session/request_permission")
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":"old"}`, old.ID)
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"m"}}`, present.ID)
	if f := server.wants(""); string(f.ID) != "1" || f.Error == nil || f.Error.Code != 1 {
		t.Errorf("the server got %s", f.raw)
	}
}

// Requests of the server and their responses pass with ids of the bridge, and so does the cancellation of a request.
func TestRequestsOfTheServerPass(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	const params = `{"sessionId":"s","path":"/w/a.go"}`
	server.sends(`{"jsonrpc":"2.0","id":"strata-1","method":"fs/read_text_file","params":%s}`, params)
	server.sends(`{"jsonrpc":"2.0","id":"strata-2","method":"fs/read_text_file","params":%s}`, params)
	first, second := s.editor.wants("fs/read_text_file"), s.editor.wants("fs/read_text_file")
	if string(first.Params) != params || string(first.ID) == string(second.ID) {
		t.Errorf("the editor got %s and %s", first.raw, second.raw)
	}
	server.sends(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"strata-1"}}`)
	if f := s.editor.wants("$/cancel_request"); string(f.Params) != `{"requestId":`+string(first.ID)+`}` {
		t.Errorf("the editor got %s", f.raw)
	}
	// These cancel nothing.
	for _, params := range []string{`{"requestId":"strata-1"}`, `{"requestId":"strata-7"}`, `{"requestId":2}`, `{}`} {
		server.sends(`{"jsonrpc":"2.0","method":"$/cancel_request","params":%s}`, params)
	}
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":{"content":"late"}}`, first.ID)
	s.editor.sends(`{"jsonrpc":"2.0","id":"strata-7","result":{"content":"nobody's"}}`)
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":%s}`, second.ID, strings.Repeat("[", 300)+"x"+strings.Repeat("]", 300)) // too deep, and not JSON
	if f := server.wants(""); string(f.ID) != `"strata-2"` || f.Error == nil || f.Error.Code != rpc.CodeInvalidRequest {
		t.Errorf("the server got %s", f.raw)
	}
	server.sends(`{"jsonrpc":"2.0","id":"strata-3","method":"fs/read_text_file","params":%s}`, params)
	third := s.editor.wants("fs/read_text_file")
	for range 2 {
		s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":{"content":"a"}}`, third.ID)
	}
	s.editor.sends(`{"jsonrpc":"2.0","id":9,"method":"session/list","params":{}}`)
	if f := server.wants(""); string(f.ID) != `"strata-3"` || string(f.Result) != `{"content":"a"}` {
		t.Errorf("the server got %s", f.raw)
	}
	server.wants("session/list") // the second response was dropped
}

// The tools that an editor declares, and the calls of them, pass as they are.
func TestToolsOfAnEditorPass(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	const tools = `[{"name":"zoom","inputSchema":{"type":"object"},"kind":"other","readOnly":true}]`
	s.editor.sends(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","_meta":{"strata":{"tools":%s}}}}`, tools)
	s.editor.sends(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[],"_meta":{"strata":{"tools":%s}}}}`, tools)
	for _, method := range []string{"session/new", "session/prompt"} {
		if f := server.wants(method); !strings.Contains(string(f.Params), `"tools":`+tools) {
			t.Errorf("the server got %s", f.raw)
		}
	}
	const call = `{"sessionId":"s","toolCallId":"tc_1","name":"zoom","input":{"n":1}}`
	server.sends(`{"jsonrpc":"2.0","id":"strata-1","method":"_strata/tool/call","params":%s}`, call)
	asked := s.editor.wants("_strata/tool/call")
	if string(asked.Params) != call {
		t.Errorf("the editor got %s", asked.raw)
	}
	const result = `{"content":[{"type":"text","text":"closer"}],"isError":false}`
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, result)
	if f := server.wants(""); string(f.ID) != `"strata-1"` || string(f.Result) != result {
		t.Errorf("the server got %s", f.raw)
	}
}

// A server may ask before the bridge has opened the editor's sessions. Its requests end with the connection, even if that
// is lost meanwhile.
func TestRequestsOfAServerThatIsGoneBeforeItWasReady(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	server.stream.Close(closeNow, "")
	server = s.server()
	server.wants("initialize")
	const question = `{"jsonrpc":"2.0","id":"strata-1","method":"fs/read_text_file","params":{}}`
	server.sends(question)
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":"early"}`, s.editor.wants("fs/read_text_file").ID)
	if f := server.wants(""); string(f.ID) != `"strata-1"` || string(f.Result) != `"early"` {
		t.Errorf("the server got %s", f.raw)
	}
	server.sends(question)
	asked := s.editor.wants("fs/read_text_file")
	server.stream.Close(closeNow, "")
	if f := s.editor.wants("$/cancel_request"); string(f.Params) != `{"requestId":`+string(asked.ID)+`}` {
		t.Errorf("the editor got %s", f.raw)
	}
	server = s.server()
	s.again(server)
	server.sends(question)
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":"old"}`, asked.ID)
	s.editor.sends(`{"jsonrpc":"2.0","id":%s,"result":"new"}`, s.editor.wants("fs/read_text_file").ID)
	if f := server.wants(""); string(f.Result) != `"new"` {
		t.Errorf("the server got %s", f.raw)
	}
}

// The end of the input is the end of the bridge, also without a connection.
func TestF36TheEditorLeavesWithoutAServer(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.greet(server)
	server.stream.Close(closeNow, "")
	server = s.server()
	server.wants("initialize") // no response
	s.close()
	select {
	case err := <-s.ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the bridge does not end")
	}
}

func TestF37KeysAreHandedOver(t *testing.T) {
	const key, other = "sk-handed-0123456789", "sk-other-0123456789"
	s := newStage(t, map[string]string{"OPENAI_API_KEY": key, "MINE_KEY": "two words", "HAS_KEY": other, "UNRELATED_KEY": other})
	list := `{"providers":[{"name":"openai","keyEnv":"OPENAI_API_KEY","key":"missing"},{"name":"mine","keyEnv":"MINE_KEY","key":"offered"},` +
		`{"name":"has","keyEnv":"HAS_KEY","key":"env"},{"name":"unset","keyEnv":"UNSET_KEY","key":"missing"},{"name":"offline","key":"not_needed"}]}`
	server := s.server()
	s.editor.sends(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	server.responds(server.wants("initialize"), agent)
	server.responds(server.wants("_strata/providers/list"), list)
	f := server.wants("_strata/providers/offer_keys")
	if string(f.Params) != `{"keys":{"openai":"`+key+`"}}` {
		t.Errorf("offered %s", f.raw)
	}
	server.responds(f, `{"used":["openai"],"authMethods":[{"id":"login-unset"}]}`)
	var result struct {
		AuthMethods json.RawMessage
		Version     int `json:"protocolVersion"`
	}
	if f := s.editor.wants(""); json.Unmarshal(f.Result, &result) != nil || string(result.AuthMethods) != `[{"id":"login-unset"}]` || result.Version != 1 {
		t.Errorf("the editor got %s", f.raw)
	}

	// The next server gets them, too. One that refuses them is used all the same.
	server.stream.Close(closeNow, "")
	server = s.server()
	server.responds(server.wants("initialize"), agent)
	server.responds(server.wants("_strata/providers/list"), list)
	f = server.wants("_strata/providers/offer_keys")
	server.sends(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, f.ID)
	s.editor.sends(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
	server.responds(server.wants("session/list"), `{}`)
	s.editor.wants("")

	log := s.log.String()
	if !strings.Contains(log, "has OPENAI_API_KEY from this environment") || !strings.Contains(log, "MINE_KEY: not an API key") {
		t.Errorf("logged %s", log)
	}
	for _, secret := range []string{key, other, "two words"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log contains a key: %s", log)
		}
	}
}
