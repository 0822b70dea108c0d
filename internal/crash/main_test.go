package crash

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"net/http"
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/rpc"
)

var (
	seedFlag = flag.Uint64("seed", 1, "seed of the random kills")
	kills    = flag.Int("kills", 6, "how many random kills there are at least in each test of them")
	messages = flag.Int("large", 2000, "messages of the large session; 9000 are those of the case")
)

// atOnce is the number of concurrent tests without -parallel: most of them wait for the disk or a timer.
const atOnce = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	binary.Main(m)
}

// patience is the time after which a waiting test is considered hung. It is not a measurement.
const patience = 10 * time.Minute

// world is a user's home, a scripted provider and the server, which the test kills and starts again.
type world struct {
	*binary.Server
	t      *testing.T
	teller *teller
}

// newWorld starts a server. More keys can be added to its configuration.
func newWorld(t *testing.T, moreConfig string, opt binary.Options) *world {
	t.Helper()
	teller := newTeller(t)
	home := binary.NewHome(t, binary.Config(teller.OpenAIURL())+moreConfig)
	return &world{Server: binary.Start(t, home, opt), t: t, teller: teller}
}

// editor connects a client to the server.
func (w *world) editor() *testclient.Editor {
	w.t.Helper()
	e, err := w.connect()
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// connect is editor for a server that may die.
func (w *world) connect() (*testclient.Editor, error) { return w.connectWith(nil) }

// connectWith is connect with further capabilities of the client.
func (w *world) connectWith(further map[string]any) (*testclient.Editor, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	header := http.Header{"Authorization": {"Bearer " + w.Token}}
	stream, err := rpc.DialWebSocket(ctx, w.WebSocket(), rpc.DialOptions{Header: header})
	if err != nil {
		return nil, err
	}
	e := testclient.New(w.t, stream)
	capabilities := map[string]any{
		"session": map[string]any{"compaction": map[string]any{}, "notices": map[string]any{}},
	}
	maps.Copy(capabilities, further)
	return e, e.Call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities}, nil)
}

// crash kills the server and starts it again.
func (w *world) crash() {
	w.t.Helper()
	w.Kill()
	w.Restart(binary.Options{})
}

// tell sends a prompt and expects the whole story.
func (w *world) tell(e *testclient.Editor, a *ask) testclient.Reply {
	w.t.Helper()
	reply, err := a.send(e).Wait()
	if err != nil {
		w.t.Fatalf("%s: %v", a.name, err)
	}
	if reply.StopReason != "end_turn" || reply.Said() != a.story() {
		w.t.Fatalf("%s ended with %q after %d bytes, want %d", a.name, reply.StopReason, len(reply.Said()), len(a.story()))
	}
	return reply
}

// fault returns the error sent by the server, nil if there was no response.
func fault(err error) *rpc.Error {
	answered, _ := errors.AsType[*rpc.Error](err)
	return answered
}

// The error codes after a crash or a failure to store.
const (
	codeBusy           = -32010
	codeProvider       = -32012 // of an interrupted turn
	codeStorage        = -32015
	codeInvalidParams  = -32602
	codeInvalidRequest = -32600
)

// wantFault fails unless err is an error of the server with this code.
func wantFault(t *testing.T, err error, code int) *rpc.Error {
	t.Helper()
	f := fault(err)
	if f == nil || f.Code != code {
		t.Fatalf("got %v, want code %d", err, code)
	}
	return f
}

// within waits for a channel.
func within[T any](t *testing.T, what string, c <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-c:
	case <-time.After(patience):
		t.Fatalf("timed out waiting for %s", what)
	}
	return value
}

// eventually waits until met returns true, for conditions without an event.
func eventually(t *testing.T, what string, met func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(patience); !met(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// serve runs strata serve in the world's home until it exits.
func (w *world) serve(opt binary.Options) (output string, err error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	cmd := w.Home.Command(ctx, append([]string{"serve"}, opt.Args...)...)
	cmd.Env = append(cmd.Env, opt.Env...)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		w.t.Fatalf("strata serve does not end\n%s", out)
	}
	return string(out), err
}

func decode(t testing.TB, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
