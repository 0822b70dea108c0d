package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/assembly"
	"strata/session/content"
	embedded "strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

// A turn of a hundred steps in a small window goes on: its prompt and its newest two steps are in every request, whole and
// paired, within the room, and older steps are summarized between steps. That holds in every profile and in both layouts.
func TestALongTurnGoesOn(t *testing.T) {
	for _, profile := range []string{"chat", "steps", "loop", "task", "phased"} {
		for _, layout := range []string{stability.LayoutLog, stability.LayoutRipple} {
			t.Run(profile+" "+layout, func(t *testing.T) { playLongTurn(t, profile, layout) })
		}
	}
}

const longTurn = 100 // steps

func playLongTurn(t *testing.T, profile, layout string) {
	compacted := make(chan struct{}, longTurn)
	pool := compaction.NewPool(compaction.PoolOptions{Observe: func(compaction.Done) { compacted <- struct{}{} }})
	model := llm.Model{Name: "local/test", Window: 12_000, MaxOutput: 1000}
	a := acting(t, func(d *Deps) {
		d.Pool, d.Models = pool, oneModel{d.Models.(oneModel).Streamer, model}
		d.Rules.Stability = stability.Options{Layout: layout}
		d.Rules.Profile, d.Tools.MaxSteps = profile, longTurn+1
		all, err := embedded.All()
		if err != nil {
			t.Fatal(err)
		}
		d.Rules.Profiles = all
	})
	t.Cleanup(pool.Close)
	a.talk("This was the first task.")
	if a.choices.Profile.Name != profile {
		t.Fatalf("the profile is %s", a.choices.Profile.Name)
	}
	a.wide(longTurn)
	const task = "Find out which of the files defines the least number, and tell its name."
	result := a.prompt(task, nil)
	measure := assembly.Measure{Model: model, Calibrations: assembly.NewCalibrations(nil), Drift: 1}
	waited := false // for the compaction under way
	for step := range longTurn {
		call := a.asked()
		text := texts(call.req)
		if !strings.Contains(text, task) {
			t.Fatalf("step %d: the prompt is not in the request:\n%s", step+1, text)
		}
		for n := max(step-2, 0); n < step; n++ {
			if !strings.Contains(text, fmt.Sprintf("file %d line 39 ", n)) {
				t.Fatalf("step %d: the result of step %d is not in the request", step+1, n+1)
			}
		}
		wantPaired(t, step+1, call.req)
		if size := sizeOf(call.req); size > measure.Room() {
			t.Fatalf("step %d: %d tokens, %d fit", step+1, size, measure.Room())
		}
		if running := a.compacts(); !running {
			waited = false
		} else if !waited {
			<-compacted
			waited = true
		}
		call.act(reply.StopToolUse, callsOf(step+1, fmt.Sprintf(`read_file{"path":"file%d.txt"}`, step))...)
	}
	a.asked().end("file 7")
	if r := <-result; r.err != nil || r.Turn.StopReason != "end_turn" {
		t.Fatalf("%+v, %v", r.Turn, r.err)
	}
	if n := a.compactionsWithin(); n < 2 {
		t.Errorf("%d compactions were stored between steps", n)
	}
	a.talk("And the greatest?")
}

// sizeOf counts the tokens of a request.
func sizeOf(req llm.Request) int {
	n, counter := 0, tokens.For("")
	for _, e := range req.Entries {
		n += content.Tokens(context.Background(), counter, e.Blocks)
	}
	return n
}

// wide makes files of which a few fit the window.
func (a *acted) wide(files int) {
	a.t.Helper()
	folder := a.workspace.Roots().Folder()
	for i := range files {
		var text strings.Builder
		for line := range 40 {
			fmt.Fprintf(&text, "file %d line %d defines the number %d\n", i, line, i*line%97)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("file%d.txt", i)), []byte(text.String()), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// compacts reports whether a compaction is under way or waits for the end of the step.
func (a *acted) compacts() bool {
	status, err := answerOf(a.Compaction)
	if err != nil {
		a.t.Fatal(err)
	}
	return status.Running
}

// compactionsWithin returns how many compactions in the background were stored while the newest turn ran.
func (a *acted) compactionsWithin() (n int) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	begun := false
	for _, ch := range a.store.changes {
		switch {
		case ch.Begin != nil:
			begun, n = true, 0
		case ch.End != nil:
			begun = false
		case begun && ch.Compaction != nil && ch.Compaction.Outcome == string(compaction.Compacted):
			n++
		}
	}
	return n
}

// wantPaired checks that every call of a request has its result directly after it.
func wantPaired(t *testing.T, step int, req llm.Request) {
	t.Helper()
	var waiting []string
	for _, e := range req.Entries {
		for _, b := range e.Blocks {
			switch b.Type {
			case history.BlockToolCall:
				waiting = append(waiting, b.CallID)
			case history.BlockToolResult:
				if len(waiting) == 0 || waiting[0] != b.CallID {
					t.Fatalf("step %d: the result of %s follows the calls %v", step, b.CallID, waiting)
				}
				waiting = waiting[1:]
			}
		}
	}
	if len(waiting) > 0 {
		t.Fatalf("step %d: %v have no results", step, waiting)
	}
}
