package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/internal/binary"
)

// Sizes of the measurement of steps.
const (
	stepTurns  = 12 // measured turns, each in a session of its own
	earlyStep  = 5
	lateStep   = 60
	aroundStep = 2 // steps before and after it that are measured, too
	turnSteps  = lateStep + aroundStep + 1

	stepLines = 120 // of each file that a step reads
)

// acting is a provider whose model reads a file in each step of a turn. It notes how long the server takes from the end of a
// step's stream to its next request. Its own work hardly depends on the size of a request.
type acting struct {
	url   string        // the base URL of OpenAI-compatible clients
	ended time.Time     // end of the newest stream
	waits []float64     // before each request of the newest turn but the first, in nanoseconds
	done  chan struct{} // gets a value when the reply of a turn has been sent
}

// startActing starts a provider for one turn at a time.
func startActing(b *testing.B) *acting {
	a := &acting{done: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", a.complete)
	server := httptest.NewServer(mux)
	b.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	a.url = server.URL + "/v1"
	return a
}

func (a *acting) complete(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server sees that there is no reply
	}
	step := strings.Count(string(body), `"role":"tool"`)
	if step == 0 {
		a.waits = a.waits[:0]
	} else {
		a.waits = append(a.waits, float64(arrived.Sub(a.ended)))
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	const head = `{"id":"c1","object":"chat.completion.chunk","model":"test","choices":`
	delta, reason := `{"role":"assistant","content":"Done."}`, "stop"
	if step < turnSteps {
		delta = fmt.Sprintf(`{"role":"assistant","content":"Let me look.","tool_calls":[{"index":0,"id":"call_%d","type":"function",`+
			`"function":{"name":"read_file","arguments":%q}}]}`, step, fmt.Sprintf(`{"path":%q}`, stepFile(step)))
		reason = "tool_calls"
	}
	fmt.Fprintf(w, "data: %s[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", head, delta)
	fmt.Fprintf(w, "data: %s[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", head, reason)
	fmt.Fprintf(w, "data: %s[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n", head, len(body)/4)
	a.ended = time.Now()
	w.(http.Flusher).Flush()
	if step >= turnSteps {
		a.done <- struct{}{}
	}
}

func stepFile(step int) string { return fmt.Sprintf("step%02d.go", step) }

// measureSteps compares the work between a late step and the next one of a long turn with that of an early one. Each step
// reads another file.
func measureSteps(b *testing.B) []row {
	provider := startActing(b)
	server := binary.Start(b, binary.NewHome(b, binary.Config(provider.url)+wide), binary.Options{})
	for step := range turnSteps {
		var text strings.Builder
		for line := range stepLines {
			fmt.Fprintf(&text, "\tvalue%d := compute(%d, \"part %d of step %d\") // as before\n", line, line*step, line, step)
		}
		if err := os.WriteFile(filepath.Join(server.Home.Project, stepFile(step)), []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	provider.turn(b, server)
	used := computed(b, server.PID)
	var early, late, growth []float64
	for range stepTurns {
		waits := provider.turn(b, server)
		around := func(step int) []float64 { return waits[step-aroundStep-1 : step+aroundStep] }
		early, late = append(early, around(earlyStep)...), append(late, around(lateStep)...)
		growth = append(growth, median(around(lateStep))/median(around(earlyStep)))
	}
	processor := used() / stepTurns / turnSteps
	return []row{
		alone(fmt.Sprintf("step %d over step %d, from the end of a stream to the next request", lateStep, earlyStep), times, median(growth), 1.2),
		alone(fmt.Sprintf("  step %d", earlyStep), nanoseconds, median(early), 0),
		alone(fmt.Sprintf("  step %d", lateStep), nanoseconds, median(late), 0),
		alone("  processor time of a step", nanoseconds, processor, 0),
	}
}

// turn makes a turn in a new session and returns the times before its requests, in nanoseconds.
func (a *acting) turn(b *testing.B, server *binary.Server) []float64 {
	b.Helper()
	e := connect(b, server.Info)
	defer e.Close()
	if err := e.prompt(e.newSession(b, server.Home.Project), "Read all the files."); err != nil {
		b.Fatal(err)
	}
	<-a.done
	if len(a.waits) != turnSteps {
		b.Fatalf("the turn has %d steps, want %d", len(a.waits), turnSteps)
	}
	return a.waits
}
