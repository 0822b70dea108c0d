package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/choices"
	"strata/session/events"
)

// provider is a Streamer whose calls wait for the test.
type provider struct {
	calls chan call
}

// call is one call of a provider: the test says what it returns.
type call struct {
	ctx  context.Context
	req  llm.Request
	on   func(reply.Event)
	done chan called
}

type called struct {
	result reply.Result
	err    error
}

func newProvider() *provider { return &provider{calls: make(chan call, 10)} }

// Stream implements Streamer. It ends without an answer when its turn is cancelled.
func (p *provider) Stream(ctx context.Context, req llm.Request, on func(reply.Event)) (reply.Result, error) {
	c := call{ctx, req, on, make(chan called, 1)}
	p.calls <- c
	select {
	case out := <-c.done:
		return out.result, out.err
	case <-ctx.Done():
		return reply.Result{}, &llm.Error{Kind: llm.KindCancelled}
	}
}

func (c *call) say(text string) { c.on(reply.Event{Kind: reply.EventText, Text: text}) }

func (c *call) end(text string) {
	c.done <- called{reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: text}}, StopReason: reply.StopEndTurn}, nil}
}

// acted is a session that a test plays with.
type acted struct {
	folder string // of the session
	*Session
	t        *testing.T
	store    *lockedStore
	provider *provider
}

func act(t *testing.T) *acted {
	t.Helper()
	a := &acted{t: t, store: newLockedStore(), provider: newProvider()}
	a.Session = loneOf(t, a.store, a.provider, describingHost{})
	return a
}

// outcomeOf is how a turn ended.
type outcomeOf struct {
	PromptResult
	err error
}

// prompt sends a prompt and returns where its result comes.
func (a *acted) prompt(words string, subscriber *events.Cursor) chan outcomeOf {
	results := make(chan outcomeOf, 1)
	a.Prompt(Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: words}}}, subscriber, func(r PromptResult, _ uint64, err error) {
		results <- outcomeOf{r, err}
	})
	return results
}

// asked returns the next call of the provider.
func (a *acted) asked() *call {
	c := <-a.provider.calls
	return &c
}

// talk plays whole turns.
func (a *acted) talk(prompts ...string) {
	a.t.Helper()
	for _, words := range prompts {
		result := a.prompt(words, nil)
		a.asked().end("reply to " + words)
		if r := <-result; r.err != nil {
			a.t.Fatal(r.err)
		}
	}
}

func (a *acted) told() Info {
	a.t.Helper()
	info, err := answerOf(a.Info)
	if err != nil {
		a.t.Fatal(err)
	}
	return info
}

// A cancellation that names another turn has no effect on the one that runs.
func TestACancellationIsForItsTurn(t *testing.T) {
	a := act(t)
	result := a.prompt("hello", nil)
	c := a.asked()
	a.Cancel("turn_other")
	running := a.told().Running
	if c.ctx.Err() != nil || running == "" {
		t.Fatalf("the turn %q was cancelled", running)
	}
	a.Cancel(running)
	if r := <-result; r.err != nil || r.Turn.StopReason != "cancelled" || r.Turn.Status != history.TurnCancelled {
		t.Errorf("%+v, %v", r.Turn, r.err)
	}
	a.Cancel("") // nothing runs
	a.talk("again")
}

// A turn that a closing session ends is cancelled; one that a stopping server ends is interrupted.
func TestATurnThatEndsWithItsSession(t *testing.T) {
	for reason, want := range map[string]history.TurnStatus{ReasonClosed: history.TurnCancelled, ReasonDeleted: history.TurnCancelled, ReasonShutdown: history.TurnInterrupted} {
		a := act(t)
		result := a.prompt("hello", nil)
		c := a.asked()
		c.say("a part")
		a.Close(reason, func() {})
		if r := <-result; r.Turn.Status != want || r.Turn.StopReason != "cancelled" || r.err != nil {
			t.Errorf("%s: %+v, %v", reason, r.Turn, r.err)
		}
		<-a.Done()
	}
}

// A request is sent again after a refusal only if nothing of a reply was shown, if it is smaller, and a few times at most.
func TestWhenARequestIsSentAgain(t *testing.T) {
	refusal := func(limit int) *llm.Error {
		return &llm.Error{Kind: llm.KindContext, Limit: limit}
	}
	for name, tt := range map[string]struct {
		limits []int // told by the refusals
		shown  string
		calls  int
	}{
		"the reply takes less":        {[]int{3000}, "", 2},
		"nothing can be smaller":      {[]int{7900}, "", 1},
		"a part was shown":            {[]int{3000}, "a part", 1},
		"refused again and again":     {[]int{3600, 3300, 3000, 2700, 2400}, "", maxRequests},
		"the last one that may be is": {[]int{3600, 3300, 3000}, "", maxRequests},
	} {
		t.Run(name, func(t *testing.T) {
			a := act(t)
			result := a.prompt("hello", nil)
			n := 0
			for open := true; open; {
				select {
				case c := <-a.provider.calls:
					n++
					if n > len(tt.limits) {
						c.end("fine")
						continue
					}
					if tt.shown != "" {
						c.say(tt.shown)
					}
					c.done <- called{err: refusal(tt.limits[n-1])}
				case r := <-result:
					open = false
					if answered := n > len(tt.limits); (r.err == nil) != answered {
						t.Errorf("after %d calls: %v", n, r.err)
					}
				}
			}
			if n != tt.calls {
				t.Errorf("%d calls, want %d", n, tt.calls)
			}
		})
	}
}

// The approval takes effect while a turn runs; other options take effect after it.
func TestTheApprovalChangesInARunningTurn(t *testing.T) {
	a := act(t)
	result := a.prompt("hello", nil)
	c := a.asked()
	running := a.told().Running
	for option, after := range map[string]string{choices.OptionApproval: "", choices.OptionCompaction: running} {
		value := map[string]string{choices.OptionApproval: "auto", choices.OptionCompaction: "rolling"}[option]
		configured, err := answerOf(func(reply func(Configured, error)) { a.Configure(option, value, nil, reply) })
		if err != nil || configured.After != after {
			t.Errorf("%s takes effect after %q, %v", option, configured.After, err)
		}
	}
	if configured, err := answerOf(func(reply func(Configured, error)) { a.SetMode("edits", nil, reply) }); err != nil || configured.After != "" || configured.Info.Config.Approval != "edits" {
		t.Errorf("as a mode: %+v, %v", configured, err)
	}
	c.end("done")
	<-result
	for option, value := range map[string]string{choices.OptionApproval: "yolo", choices.OptionMode: "auto"} {
		if _, err := answerOf(func(reply func(Configured, error)) { a.Configure(option, value, nil, reply) }); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s %s: %v", option, value, err)
		}
	}
	if got := a.told().Config.Approval; got != "edits" {
		t.Errorf("the approval is %s", got)
	}
}

// Changes that wait for a turn are limited, take effect after it, and tell so at once.
func TestChangesThatWaitForATurn(t *testing.T) {
	a := act(t)
	a.talk("first")
	result := a.prompt("second", nil)
	c := a.asked()
	running := a.told().Running
	for i := range maxPending + 1 {
		cleared, err := answerOf(a.Clear)
		if full := i == maxPending; full != errors.Is(err, ErrOverload) || !full && (err != nil || cleared.After != running || cleared.Seq != 0) {
			t.Fatalf("clear %d: %+v, %v", i, cleared, err)
		}
	}
	if _, err := answerOf(func(reply func([]string, error)) { a.Append(nil, nil, reply) }); !errors.Is(err, ErrBusy) {
		t.Errorf("appended: %v", err)
	}
	if _, err := answerOf(func(reply func(Replaced, error)) { a.Replace(nil, nil, reply) }); !errors.Is(err, ErrBusy) {
		t.Errorf("replaced: %v", err)
	}
	if a.told().InView == 0 {
		t.Error("the history is cleared while the turn runs")
	}
	c.end("done")
	<-result
	if _, err := answerOf(a.Workspace().ClearFiles); err != nil { // follows the changes that waited
		t.Fatal(err)
	}
	if info := a.told(); info.InView != 0 || info.Messages != 4 {
		t.Errorf("%d of %d messages in view", info.InView, info.Messages)
	}
}

// What a client reads of a turn comes in its order, and nothing that did not happen is told.
func TestTheEventsOfATurn(t *testing.T) {
	a := act(t)
	c := a.NewCursor(func() {})
	if _, err := answerOf(func(reply func(Attached, error)) { a.Attach(c, events.Since{Epoch: a.Epoch()}, reply) }); err != nil {
		t.Fatal(err)
	}
	result := a.prompt("hello", c)
	call := a.asked()
	call.say("hi")
	call.end("hi")
	r := <-result
	var kinds []string
	for {
		e, ok, err := c.Next(t.Context())
		if err != nil || !ok {
			break
		}
		kinds = append(kinds, string(e.Kind))
		if e.Kind == events.TurnFinished {
			if info := e.Data.(events.TurnFinishedInfo); info.MessageID != r.Turn.ReplyID || info.TurnID != r.Turn.ID || info.StopReason != "end_turn" {
				t.Errorf("finished as %+v", info)
			}
		}
	}
	for _, kind := range []events.Kind{events.LeftOut, events.Notice, events.SaveFailed} {
		if slices.Contains(kinds, string(kind)) {
			t.Errorf("%s is told: %q", kind, kinds)
		}
	}
	at := func(kind events.Kind) int { return slices.Index(kinds, string(kind)) }
	if started, text, finished := at(events.TurnStarted), at(events.Text), at(events.TurnFinished); started < 0 || text < started || finished < text {
		t.Errorf("told are %q", kinds)
	}
}

// A session leaves memory if nobody uses it or follows it, and it was not used since.
func TestWhenASessionIsUnloaded(t *testing.T) {
	a := act(t)
	a.talk("hello")
	stays := func(why string, since time.Time) {
		t.Helper()
		a.Unload(since, func(bool) {})
		if _, err := answerOf(a.Info); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
	}
	later := time.Now().Add(time.Hour)
	stays("it was used since", time.Now().Add(-time.Hour))
	c := a.NewCursor(func() {})
	if _, err := answerOf(func(reply func(Info, error)) { a.Subscribe(c, reply) }); err != nil {
		t.Fatal(err)
	}
	stays("a client follows it", later)
	result := a.prompt("again", nil)
	call := a.asked()
	a.Unsubscribe(c, nil)
	stays("a turn runs", later)
	call.end("done")
	<-result
	for {
		a.Unload(later, func(bool) {})
		if _, err := answerOf(a.Info); err != nil {
			break // the usage was still being told
		}
	}
	<-a.Done()
}

// describingHost describes an error by its text.
type describingHost struct{ bareHost }

func (describingHost) Describe(err error) history.Failure {
	return history.Failure{Message: err.Error()}
}
