package connect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/cmd/strata/internal/cli"
	"strata/historystore"
	"strata/rpc"
	"strata/server/access"
)

// answering is the stream of a client whose server answers each request at once.
type answering struct {
	answer func(method string, params json.RawMessage) any // the result
	frames chan []byte
	closed chan struct{}
}

func connected(t *testing.T, answer func(method string, params json.RawMessage) any) *rpc.Client {
	client := rpc.NewClient(&answering{answer, make(chan []byte, 10), make(chan struct{})}, nil)
	t.Cleanup(func() { client.Close() })
	return client
}

func (s *answering) WriteFrame(frame []byte) error {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(frame, &request); err != nil {
		return err
	}
	response, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": s.answer(request.Method, request.Params)})
	s.frames <- response
	return err
}

func (s *answering) ReadFrame(use func([]byte) error) error {
	select {
	case frame := <-s.frames:
		return use(frame)
	case <-s.closed:
		return io.EOF
	}
}

func (s *answering) Close(int, string) error {
	close(s.closed)
	return nil
}

// Each page is asked for with the cursor of the page before it, until a page has none.
func TestPagesFollowTheirCursors(t *testing.T) {
	var asked []string
	client := connected(t, func(_ string, params json.RawMessage) any {
		var p struct{ Session, Cursor string }
		if err := json.Unmarshal(params, &p); err != nil || p.Session != "sess_1" {
			t.Errorf("%s: %v", params, err)
		}
		asked = append(asked, p.Cursor)
		return map[string]string{"page": p.Cursor, "nextCursor": map[string]string{"": "b", "b": "c"}[p.Cursor]}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pages := 0
	err := EachPage(ctx, client, "list", map[string]any{"session": "sess_1"}, func(json.RawMessage) error {
		if pages++; pages > 3 {
			cancel()
		}
		return nil
	})
	if diff := cmp.Diff([]string{"", "b", "c"}, asked); err != nil || diff != "" || pages != 3 {
		t.Errorf("%d pages, %v, %s", pages, err, diff)
	}
}

// A server that was started without XDG_RUNTIME_DIR is found by a client that has the variable.
func TestAServerIsFoundInTheStateFolderToo(t *testing.T) {
	home, runtime := t.TempDir(), t.TempDir()
	p := &cli.Process{Getenv: func(name string) string {
		return map[string]string{"HOME": home, "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": home}[name]
	}}
	if _, err := FindServer(p); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a server: %v", err)
	}
	store, err := historystore.Open(t.Context(), filepath.Join(home, "strata.db"), historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	file := access.ServerFile{URL: "http://127.0.0.1:7717", Token: access.NewToken(), PID: os.Getpid(), Database: filepath.Join(home, "strata.db")}
	if err := access.WriteServerFile(filepath.Join(home, "strata", "server.json"), file); err != nil {
		t.Fatal(err)
	}
	if found, err := FindServer(p); err != nil || found.URL != file.URL {
		t.Errorf("%+v, %v", found.URL, err)
	}
}

// Only a database that the configuration names must be the one of the running server.
func TestTheDatabaseOfTheRunningServer(t *testing.T) {
	home := t.TempDir()
	db := filepath.Join(home, "used.db")
	if err := os.WriteFile(db, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for config, refused := range map[string]bool{"": false, "db: " + db + "\n": false, "db: " + filepath.Join(home, "other.db") + "\n": true, "db: [": false} {
		file := filepath.Join(home, "strata.yaml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &cli.Process{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }, ConfigFile: file}
		if err := checkDatabase(p, access.ServerFile{PID: 7, Database: db}); (err != nil) != refused {
			t.Errorf("%q: %v", config, err)
		}
	}
}
