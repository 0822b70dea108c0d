package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/internal/leak"
)

// user is a home folder with a server that runs in this process.
type user struct {
	t    *testing.T
	home string
	stop func() // ends the server and waits; idempotent
}

// newUser starts a server with a configuration and waits until clients can find it. The server ends with the test.
func newUser(t *testing.T, config string) *user {
	t.Helper()
	others := goleak.IgnoreCurrent()
	u := &user{t: t, home: t.TempDir()}
	if err := os.WriteFile(u.path("strata.yaml"), []byte("listen: 127.0.0.1:0\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var out, log bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--config", u.path("strata.yaml")}, strings.NewReader(""), &out, &log, u.getenv)
	}()
	u.stop = sync.OnceFunc(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("strata serve ended with %d\n%s", code, &log)
		}
	})
	t.Cleanup(func() {
		u.stop()
		if err := leak.Find(others); err != nil {
			t.Error(err)
		}
	})
	p := &cli.Process{Getenv: u.getenv}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for giveUp := time.Now().Add(patience); time.Now().Before(giveUp); <-tick.C {
		if _, err := connect.FindServer(p); err == nil {
			return u
		}
	}
	t.Fatal("the server does not start")
	return nil
}

func (u *user) path(name string) string { return filepath.Join(u.home, name) }

func (u *user) getenv(name string) string {
	switch name {
	case "HOME", "APPDATA", "LOCALAPPDATA":
		return u.home
	}
	return ""
}

// runs returns the output of a command that must succeed.
func (u *user) runs(args ...string) string {
	u.t.Helper()
	var out, log bytes.Buffer
	if code := run(u.t.Context(), args, strings.NewReader(""), &out, &log, u.getenv); code != 0 {
		u.t.Fatalf("strata %v ended with %d\n%s", args, code, &log)
	}
	return out.String()
}

// trigger is a writer that calls a function at the first write. It is safe for concurrent use.
type trigger struct {
	once sync.Once
	call func()

	mu   sync.Mutex
	text bytes.Buffer
}

func (w *trigger) Write(p []byte) (int, error) {
	w.once.Do(w.call)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *trigger) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// initialize is an editor's first frame.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"

// slow makes a reply that takes longer than any test.
const slow = "providers: {offline: {delta_gap: 1h}}\n"

// asks starts strata ask and waits until its turn is running.
func (u *user) asks(ctx context.Context) (ended <-chan int) {
	u.t.Helper()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"ask", "hello"}, strings.NewReader(""), io.Discard, io.Discard, u.getenv)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for giveUp := time.Now().Add(patience); time.Now().Before(giveUp); <-tick.C {
		if id := u.session(); id != "" && strings.Contains(u.runs("sessions", "show", id), ", running\n") {
			return done
		}
	}
	u.t.Fatal("no turn runs")
	return nil
}

// session returns the ID of the only session, or "".
func (u *user) session() string {
	u.t.Helper()
	var s struct {
		ID string `json:"sessionId"`
	}
	if line := u.runs("sessions", "ls", "--json"); line != "" {
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			u.t.Fatal(err)
		}
	}
	return s.ID
}

// opens starts strata stdio and waits for its first response.
func (u *user) opens(ctx context.Context) (editor *io.PipeWriter, log *bytes.Buffer, ended <-chan int) {
	u.t.Helper()
	in, editor := io.Pipe()
	log = &bytes.Buffer{}
	answered, done := make(chan struct{}), make(chan int, 1)
	out := &trigger{call: func() { close(answered) }}
	go func() { done <- run(ctx, []string{"stdio"}, in, out, log, u.getenv) }()
	io.WriteString(editor, initialize)
	<-answered
	return editor, log, done
}

func TestCtrlCCancelsTheTurn(t *testing.T) {
	u := newUser(t, slow)
	ctx, interrupt := context.WithCancel(t.Context())
	asked := u.asks(ctx)
	interrupt()
	if code := <-asked; code != int(cli.Interrupted) {
		t.Errorf("ended with %d", code)
	}
	if shown := u.runs("sessions", "show", u.session()); !strings.Contains(shown, "\nhello\n") || !strings.Contains(shown, ", idle\n") {
		t.Errorf("the session shows\n%s", shown)
	}
}

func TestCtrlCBeforeTheTurnEndsToo(t *testing.T) {
	u := newUser(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	if code := run(ctx, []string{"ask", "hello"}, strings.NewReader(""), io.Discard, &log, u.getenv); code != int(cli.Interrupted) || log.Len() > 0 {
		t.Errorf("ended with %d: %s", code, &log)
	}
}

func TestTurnsOfOthersContinueAfterAnEditorExits(t *testing.T) {
	u := newUser(t, slow)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	asked := u.asks(ctx)
	editor, log, stdio := u.opens(t.Context())
	editor.Close()
	if code := <-stdio; code != 0 || log.Len() > 0 {
		t.Errorf("strata stdio ended with %d: %s", code, log)
	}
	if shown := u.runs("sessions", "show", u.session()); !strings.Contains(shown, ", running\n") {
		t.Errorf("the session shows\n%s", shown)
	}
	interrupt()
	if code := <-asked; code != int(cli.Interrupted) {
		t.Errorf("strata ask ended with %d", code)
	}
}

func TestStdioEndsWhenItIsInterrupted(t *testing.T) {
	u := newUser(t, "")
	ctx, interrupt := context.WithCancel(t.Context())
	_, log, stdio := u.opens(ctx)
	interrupt()
	if code := <-stdio; code != 0 || log.Len() > 0 {
		t.Errorf("ended with %d: %s", code, log)
	}
}

func TestReplyThatTheServersExitTruncatesIsAFailure(t *testing.T) {
	u := newUser(t, "providers: {offline: {delta_gap: 1s}}\n") // the reply has a dozen deltas
	var log bytes.Buffer
	answering, ended := make(chan struct{}), make(chan int, 1)
	out := &trigger{call: func() { close(answering) }}
	go func() {
		ended <- run(t.Context(), []string{"ask", "hello"}, strings.NewReader(""), out, &log, u.getenv)
	}()
	<-answering
	u.stop()
	left := "the server disconnected before the reply was complete; `strata sessions show sess_"
	reported := "[interrupted: " // by a server that has time to
	if code := <-ended; code != int(cli.Failed) || !strings.Contains(log.String(), left) && !strings.Contains(log.String(), reported) {
		t.Errorf("ended with %d: %s", code, &log)
	}
}

func TestTurnThatAnotherClientCancelsIsAFailure(t *testing.T) {
	u := newUser(t, slow)
	asked := u.asks(t.Context())
	client, err := connect.Open(t.Context(), &cli.Process{Getenv: u.getenv}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Notify(t.Context(), "session/cancel", map[string]any{"sessionId": u.session()}); err != nil {
		t.Fatal(err)
	}
	if code := <-asked; code != int(cli.Failed) {
		t.Errorf("ended with %d", code)
	}
}

func TestServerThatStartedWithoutARuntimeFolderIsFound(t *testing.T) {
	u := newUser(t, "")
	runtimeDir := t.TempDir()
	p := &cli.Process{Getenv: func(name string) string {
		if name == "XDG_RUNTIME_DIR" {
			return runtimeDir
		}
		return u.getenv(name)
	}}
	if _, err := connect.FindServer(p); err != nil {
		t.Error(err)
	}
}

func TestF36StdioOutlivesTheServer(t *testing.T) {
	u := newUser(t, "")
	editor, log, stdio := u.opens(t.Context())
	u.stop()
	select {
	case code := <-stdio:
		t.Fatalf("ended with %d: %s", code, log)
	default:
	}
	editor.Close()
	if code := <-stdio; code != 0 {
		t.Errorf("ended with %d: %s", code, log)
	}
}
