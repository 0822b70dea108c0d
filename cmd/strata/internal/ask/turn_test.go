package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"strata/cmd/strata/internal/cli"
	"strata/historystore"
	"strata/internal/environment"
	"strata/rpc"
	"strata/server/access"
)

// request is a request or a notification that a client sends.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Env map[string]string `json:"env"`
	} `json:"params"`
}

func (r *request) response(result any) ([]byte, error) {
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
}

// losing serves clients until they send a prompt: then it drops the connection. It sends the
// requests before that to calls, and closes it.
func losing(t *testing.T, calls chan<- request) http.HandlerFunc {
	result := map[string]any{
		"sessionId": "sess_1", "session": map[string]string{"cwd": "/"}, "epoch": "e", "seq": 0,
		"providers":         []map[string]string{{"name": "mine", "keyEnv": "MINE_KEY", "key": "not_needed"}},
		"agentCapabilities": map[string]any{"_meta": map[string]any{"strata": map[string]any{"methods": []string{"_strata/environment/offer"}}}},
	}
	return func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{access.Subprotocol}})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		defer close(calls)
		for {
			_, frame, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			var req request
			if err := json.Unmarshal(frame, &req); err != nil || req.Method == "session/prompt" {
				return
			}
			calls <- req
			response, err := req.response(result)
			if err == nil {
				err = conn.Write(r.Context(), websocket.MessageText, response)
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// A server that disconnects during the reply leaves the user with the command that prints the saved part.
func TestALostServerIsExplained(t *testing.T) {
	home := t.TempDir()
	db := filepath.Join(home, "strata.db")
	store, err := historystore.Open(t.Context(), db, historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	calls := make(chan request, 100)
	web := httptest.NewServer(losing(t, calls))
	defer web.Close()
	file := access.ServerFile{URL: web.URL, Token: access.NewToken(), PID: os.Getpid(), Database: db}
	if err := access.WriteServerFile(filepath.Join(home, "strata", "server.json"), file); err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	variables := map[string]string{"HOME": home, "XDG_STATE_HOME": home, "STRATA_LISTEN": "127.0.0.1:0", "MINE_KEY": "sk-1"}
	p := &cli.Process{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &notes, Getenv: func(name string) string { return variables[name] },
		Environ: func() []string { return environment.List(variables) },
	}
	err = ask(t.Context(), p, "hello", options{})
	if err == nil || !strings.Contains(err.Error(), "`strata sessions show sess_1` prints the saved part") {
		t.Errorf("%v", err)
	}
	var env map[string]string // before the session is opened
	for call := range calls {
		if call.Method == "session/new" {
			break
		}
		if call.Method == "_strata/environment/offer" {
			env = call.Params.Env
		}
	}
	if want := map[string]string{"HOME": home, "XDG_STATE_HOME": home}; !maps.Equal(env, want) {
		t.Errorf("the server was handed %v, want %v", env, want)
	}
}

// slowStream takes time to write a cancellation.
type slowStream struct {
	prompted  func()
	result    chan []byte   // the response to the prompt, for the test to pass on
	frames    chan []byte   // that the client reads
	cancelled chan struct{} // the cancellation may be written
	closed    chan struct{}
}

func (s *slowStream) WriteFrame(frame []byte) error {
	var r request
	if err := json.Unmarshal(frame, &r); err != nil {
		return err
	}
	switch r.Method {
	case "session/prompt":
		s.prompted()
		response, err := r.response(map[string]string{"stopReason": "cancelled"})
		s.result <- response
		return err
	default:
		<-s.cancelled
		return nil
	}
}

func (s *slowStream) ReadFrame(use func([]byte) error) error {
	select {
	case frame := <-s.frames:
		return use(frame)
	case <-s.closed:
		return io.EOF
	}
}

func (s *slowStream) Close(int, string) error {
	close(s.closed)
	return nil
}

// A turn is over for its caller when nothing writes to the connection any more.
func TestATurnEndsAfterItsCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &slowStream{cancel, make(chan []byte, 1), make(chan []byte), make(chan struct{}), make(chan struct{})}
		client := rpc.NewClient(s, nil)
		ended := make(chan error, 1)
		go func() {
			_, err := runTurn(ctx, client, map[string]any{"sessionId": "sess_1"})
			ended <- err
		}()
		synctest.Wait() // the cancellation is being written
		s.frames <- <-s.result
		synctest.Wait()
		if len(ended) > 0 {
			t.Error("the turn ends while its cancellation is being written")
		}
		close(s.cancelled)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		client.Close()
	})
}
