package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/history"
	"strata/llm/reply"
	"strata/session/events"
	"strata/session/tools"
)

// stepStore is a store in which the commit of one change waits.
type stepStore struct {
	*lockedStore
	holds            func(*history.Change) bool
	reached, release chan struct{}
}

func (s *stepStore) Commit(ctx context.Context, ch history.Change) error {
	if s.holds(&ch) {
		s.reached <- struct{}{}
		<-s.release
	}
	return s.lockedStore.Commit(ctx, ch)
}

// The commits of a step.
var commitsOfSteps = map[string]func(*history.Change) bool{
	"message": func(ch *history.Change) bool { return ch.DropPartials != "" && ch.End == nil },
	"results": func(ch *history.Change) bool {
		return ch.End == nil && len(ch.Messages) == 1 && ch.Messages[0].Role == history.RoleTool
	},
}

// A turn that is stopped while a step is being stored keeps the step once, with one result for each call, and asks the model
// no more.
func TestATurnThatIsStoppedWhileAStepIsStored(t *testing.T) {
	for commit, holds := range commitsOfSteps {
		for _, stop := range []string{"cancelled", ReasonClosed, ReasonShutdown} {
			t.Run(commit+" "+stop, func(t *testing.T) {
				held := &stepStore{holds: holds, reached: make(chan struct{}), release: make(chan struct{})}
				a := acting(t, func(d *Deps) {
					held.lockedStore = d.Store.(*lockedStore)
					d.Store = held
				})
				result := a.prompt("go", nil)
				a.asked().act(reply.StopToolUse, callsOf(1, `list_files{}`, `fly{}`)...)
				<-held.reached
				if stop == "cancelled" {
					a.Cancel("")
				} else {
					a.Close(stop, func() {})
				}
				close(held.release)
				if r := <-result; r.err != nil || r.Turn.StopReason != "cancelled" || r.Turn.Usage.Input != 100 {
					t.Errorf("%+v, %v", r.Turn, r.err)
				}
				want := "tool result of tc_1 result of tc_2 (there is no tool"
				if commit == "message" {
					reason := tools.Interrupted
					if stop == "cancelled" {
						reason = tools.Cancelled
					}
					want = fmt.Sprintf("tool result of tc_1 (%s) result of tc_2 (%[1]s)", reason)
				}
				got := a.transcript()
				if len(got) != 3 || got[1] != "assistant call list_files call fly" || !strings.HasPrefix(got[2], want) {
					t.Errorf("the transcript is %q, want results %q", got, want)
				}
				if len(a.provider.calls) > 0 {
					t.Error("the model was asked again")
				}
			})
		}
	}
}

// What subscribers are told of a turn that is cancelled while a tool runs: each call ends before the turn, once, and nothing
// follows when the tool returns.
func TestTheEventsOfACancelledCall(t *testing.T) {
	a := acting(t)
	stuck := &stuckEditor{reading: make(chan struct{}), release: make(chan struct{})}
	c := a.NewCursor(func() {})
	if _, err := answerOf(func(reply func(Attached, error)) { a.Attach(c, events.Since{Epoch: a.Epoch()}, reply) }); err != nil {
		t.Fatal(err)
	}
	results := make(chan outcomeOf, 1)
	a.Prompt(Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "go"}}, Client: stuck}, c, func(r PromptResult, _ uint64, err error) { results <- outcomeOf{r, err} })
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`, `fly{}`)...)
	<-stuck.reading
	a.Cancel("")
	<-results
	close(stuck.release)
	a.talk("and now?")
	var told []string
	for {
		e, ok, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		switch e.Kind {
		case events.CallUpdate:
			p := e.Data.(tools.Progress)
			told = append(told, p.CallID+" "+string(p.Status))
		case events.TurnFinished:
			told = append(told, "finished")
		}
	}
	want := []string{"tc_1 in_progress", "tc_1 failed", "tc_2 failed", "finished", "finished"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
