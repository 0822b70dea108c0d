package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/clients"
	"strata/session/events"
	"strata/session/tools"
)

// acting returns a session whose model has tools, in a folder with two files.
func acting(t *testing.T, change ...func(*Deps)) *acted {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"a.go": "package a\n\nfunc Alpha() {}\n", "b.go": "package a\n\nfunc Beta() {}\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &acted{t: t, folder: folder, store: newLockedStore(), provider: newProvider()}
	deps := depsOf(a.store, a.provider, describingHost{})
	deps.Tools = ToolSettings{Enabled: true, MaxSteps: 100}
	for _, f := range change {
		f(deps)
	}
	a.Session = closedLater(t, Create(deps, history.Session{ID: deps.NewID("sess_"), CWD: folder}))
	return a
}

// callsOf returns blocks of calls, written as name{json}.
func callsOf(from int, calls ...string) (blocks []history.Block) {
	for i, call := range calls {
		name, args, _ := strings.Cut(call, "{")
		blocks = append(blocks, history.Block{
			Type: history.BlockToolCall, CallID: fmt.Sprint("tc_", from+i), Name: name, Args: "{" + args, Origin: &history.Origin{ID: fmt.Sprint("call", from+i)},
		})
	}
	return blocks
}

// act ends a step with calls, as a provider tells them.
func (c *call) act(reason reply.StopReason, blocks ...history.Block) {
	c.spend(history.Usage{Input: 100, Output: 10}, reason, blocks...)
}

// spend is act with the usage that the provider reports.
func (c *call) spend(usage history.Usage, reason reply.StopReason, blocks ...history.Block) {
	c.on(reply.Event{Kind: reply.EventUsage, Usage: &usage})
	for i := range blocks {
		if b := &blocks[i]; b.Type == history.BlockToolCall {
			c.on(reply.Event{Kind: reply.EventToolCall, Call: &reply.ToolCallDelta{ID: b.CallID, Name: b.Name}})
			c.on(reply.Event{Kind: reply.EventToolCall, Call: &reply.ToolCallDelta{ID: b.CallID, Name: b.Name, Args: b.Args}})
		}
	}
	c.done <- called{reply.Result{Blocks: blocks, StopReason: reason, UsageReported: true, Usage: usage}, nil}
}

// transcript returns the stored messages, one line each: the role, and its blocks.
func (a *acted) transcript() (lines []string) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	for _, seq := range slices.Sorted(maps.Keys(a.store.messages)) {
		m := a.store.messages[seq]
		line := string(m.Role)
		for _, b := range m.Blocks {
			switch b.Type {
			case history.BlockToolCall:
				line += " call " + b.Name
			case history.BlockToolResult:
				line += " result of " + b.CallID
				if b.IsError {
					line += " (" + b.Content[0].Text + ")"
				}
			default:
				line += " " + b.Text
			}
		}
		if m.Status != history.StatusComplete {
			line += " " + string(m.Status)
		}
		lines = append(lines, line)
	}
	return lines
}

func (a *acted) wantTranscript(want ...string) {
	a.t.Helper()
	if got := a.transcript(); !slices.Equal(got, want) {
		a.t.Errorf("the transcript is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// texts returns all texts of a request.
func texts(req llm.Request) string {
	var all strings.Builder
	for _, e := range req.Entries {
		m := history.Message{Blocks: e.Blocks}
		all.WriteString(m.PlainText() + "\n")
	}
	return all.String()
}

// A turn goes on until a reply has no calls: the calls of a step run side by side, their results are in the next request, and
// each step is stored with its usage before the next one.
func TestATurnHasSteps(t *testing.T) {
	a := acting(t)
	result := a.prompt("what do the files define?", nil)
	first := a.asked()
	if n := len(first.req.Tools); n != 8 || first.req.Tools[0].Name != "delete_file" {
		t.Fatalf("%d tools: %v", n, first.req.Tools)
	}
	if s := texts(first.req); !strings.Contains(s, "You can work in the user's workspace with tools") {
		t.Errorf("the system prompt does not tell of the tools:\n%s", s)
	}
	first.say("I read them.")
	first.act(reply.StopToolUse, append([]history.Block{{Type: history.BlockText, Text: "I read them."}},
		callsOf(1, `read_file{"path":"a.go"}`, `read_file{"path":"b.go"}`)...)...)
	second := a.asked()
	for _, want := range []string{"func Alpha() {}", "func Beta() {}"} {
		if !strings.Contains(texts(second.req), want) {
			t.Errorf("the second request lacks %q", want)
		}
	}
	a.wantTranscript("user what do the files define?", "assistant I read them. call read_file call read_file", "tool result of tc_1 result of tc_2")
	second.act(reply.StopEndTurn, callsOf(3, `search{"pattern":"Alpha"}`)...) // calls decide, not the reason
	third := a.asked()
	third.end("Alpha and Beta.")
	r := <-result
	if r.err != nil || r.Turn.StopReason != "end_turn" || r.Turn.Usage != (history.Usage{Input: 200, Output: 20}) && r.Turn.Usage.Output < 20 {
		t.Errorf("the turn ended with %+v, %v", r.Turn, r.err)
	}
	a.wantTranscript("user what do the files define?", "assistant I read them. call read_file call read_file", "tool result of tc_1 result of tc_2",
		"assistant call search", "tool result of tc_3", "assistant Alpha and Beta.")
	if r.MessageID != a.store.messages[6].ID || r.Turn.ReplyID != r.MessageID {
		t.Errorf("the result names message %s, the turn %s", r.MessageID, r.Turn.ReplyID)
	}
	var steps []int
	for _, ch := range a.store.changes {
		for _, c := range ch.Calls {
			steps = append(steps, c.Step)
		}
	}
	if !slices.Equal(steps, []int{1, 2, 3}) {
		t.Errorf("usage of steps %v", steps)
	}
}

// What clients are told of calls, in order: announced, running, done.
func TestCallsAreTold(t *testing.T) {
	a := acting(t)
	c := a.NewCursor(func() {})
	result := a.prompt("look", c)
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`, `read_file{"path":"missing.go"}`, `update_plan{"entries":[{"content":"read","priority":"high","status":"completed"}]}`)...)
	a.asked().end("done")
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}
	told := map[string][]string{}
	plans := 0
	for _, e := range received(t, c) {
		switch e.Kind {
		case events.Block:
			if e.Block.Type == history.BlockToolCall {
				told[e.Block.CallID] = append(told[e.Block.CallID], "announced")
			}
		case events.CallUpdate:
			p := e.Data.(tools.Progress)
			told[p.CallID] = append(told[p.CallID], string(p.Status))
		case events.Plan:
			plans++
		}
	}
	for id, want := range map[string]string{"tc_1": "announced in_progress completed", "tc_2": "announced in_progress failed", "tc_3": "announced in_progress completed"} {
		if got := strings.Join(told[id], " "); got != want {
			t.Errorf("of %s clients were told: %s, want %s", id, got, want)
		}
	}
	if plans != 1 {
		t.Errorf("%d plans were told", plans)
	}
}

// Each step has its own message and usage, however far the mailbox is behind the stream.
func TestAStepKeepsItsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := acting(t)
		c := a.NewCursor(func() {})
		result := a.prompt("look", c)
		first := a.asked()
		hold, held := make(chan struct{}), make(chan struct{})
		go a.tell(func() { close(held); <-hold })
		<-held
		const words = 40
		for range words {
			first.say("word ")
		}
		first.act(reply.StopToolUse, append([]history.Block{{Type: history.BlockText, Text: strings.Repeat("word ", words)}}, callsOf(1, `list_files{}`)...)...)
		synctest.Wait() // the step waits to be stored
		close(hold)
		second := a.asked()
		second.say("done")
		second.end("done")
		if r := <-result; r.err != nil {
			t.Fatal(r.err)
		}
		said := map[string]string{} // by message
		var order []string
		for _, e := range received(t, c) {
			switch {
			case e.Kind == events.Text:
				said[e.Message] += e.Text
				order = append(order, "text")
			case e.Kind == events.Usage && e.Turn != "":
				order = append(order, "usage")
			}
		}
		for seq, want := range map[int64]string{2: strings.Repeat("word ", words), 4: "done"} {
			if got := said[a.store.messages[seq].ID]; got != want {
				t.Errorf("message %d was told with the text %q, want %q", seq, got, want)
			}
		}
		if got := strings.Join(slices.Compact(order), " "); got != "text usage text usage" {
			t.Errorf("the order is %s", got)
		}
	})
}

// A client that comes while a call runs is told of the calls as they are, and of the plan.
func TestAClientComesWhileACallRuns(t *testing.T) {
	a := acting(t)
	stuck := &stuckEditor{reading: make(chan struct{}), release: make(chan struct{})}
	results := make(chan outcomeOf, 1)
	a.Prompt(Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "go"}}, Client: stuck}, nil, func(r PromptResult, _ uint64, err error) { results <- outcomeOf{r, err} })
	woken := make(chan struct{}, 1)
	watching := a.NewCursor(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	a.attach(watching)
	a.asked().act(reply.StopToolUse, callsOf(1, `update_plan{"entries":[{"content":"read","priority":"high","status":"pending"}]}`, `read_file{"path":"a.go"}`)...)
	<-stuck.reading
	until(t, watching, woken, func(e *events.Event) bool { return e.Kind == events.Plan })

	c := a.NewCursor(func() {})
	if _, err := answerOf(func(reply func(Info, error)) { a.Replay(c, reply) }); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range received(t, c) {
		switch e.Kind {
		case events.CallUpdate:
			p := e.Data.(tools.Progress)
			got = append(got, p.CallID+" "+string(p.Status))
		case events.Plan:
			got = append(got, "plan")
		}
	}
	slices.Sort(got)
	if want := []string{"plan", "tc_1 completed", "tc_2 in_progress"}; !slices.Equal(got, want) {
		t.Errorf("told of %q, want %q", got, want)
	}
	close(stuck.release)
	a.asked().end("done")
	if r := <-results; r.err != nil {
		t.Error(r.err)
	}
}

// received returns the events that a cursor has at hand.
func received(t *testing.T, c *events.Cursor) (all []events.Event) {
	t.Helper()
	for {
		e, ok, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		all = append(all, e)
	}
}

// until reads events until one is found.
func until(t *testing.T, c *events.Cursor, woken <-chan struct{}, found func(*events.Event) bool) {
	t.Helper()
	for {
		e, ok, err := c.Next(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case !ok:
			<-woken
		case found(&e):
			return
		}
	}
}

// A reply that is asked for again after calls were announced is another message with other calls: the first ones fail.
func TestCallsOfARepeatedReplyFail(t *testing.T) {
	announce := func(c *call, id string) {
		c.on(reply.Event{Kind: reply.EventToolCall, Call: &reply.ToolCallDelta{ID: id, Name: "read_file"}})
	}
	for name, again := range map[string]func(a *acted, first *call) *call{
		"by the client of the provider": func(_ *acted, first *call) *call {
			first.on(reply.Event{Kind: reply.EventRetrying, Retry: &reply.Retry{Attempt: 1, Of: 5, Status: 529}})
			return first
		},
		"in a smaller window": func(a *acted, first *call) *call {
			first.done <- called{reply.Result{Blocks: callsOf(0, `read_file{"pa`)}, &llm.Error{Kind: llm.KindContext, Limit: 3000}}
			return a.asked()
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := acting(t, func(d *Deps) { d.Models = &shrinkingModel{oneModel: d.Models.(oneModel)} })
			c := a.NewCursor(func() {})
			result := a.prompt("go", c)
			first := a.asked()
			announce(first, "tc_0")
			again(a, first).act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
			a.asked().end("done")
			if r := <-result; r.err != nil {
				t.Fatal(r.err)
			}
			told, messages := map[string]string{}, map[string]string{}
			for _, e := range received(t, c) {
				switch {
				case e.Kind == events.Block && e.Block.Type == history.BlockToolCall:
					messages[e.Block.CallID] = e.Message
				case e.Kind == events.CallUpdate:
					p := e.Data.(tools.Progress)
					told[p.CallID] += string(p.Status) + " "
					if p.Status == tools.Fails {
						told[p.CallID] += p.Result.Content[0].Text
					}
				}
			}
			if told["tc_0"] != "failed not run: the provider broke off" || told["tc_1"] != "in_progress completed " {
				t.Errorf("clients were told: %q", told)
			}
			if messages["tc_0"] == messages["tc_1"] || messages["tc_1"] != a.store.messages[2].ID {
				t.Errorf("the messages are %q", messages)
			}
			a.wantTranscript("user go", "assistant call read_file", "tool result of tc_1", "assistant done")
		})
	}
}

// A model without tools that calls one all the same ends its turn, and the call fails.
func TestACallOfAModelWithoutTools(t *testing.T) {
	a := acting(t, func(d *Deps) {
		models := d.Models.(oneModel)
		models.model.NoTools = true
		d.Models = models
	})
	c := a.NewCursor(func() {})
	result := a.prompt("go", c)
	first := a.asked()
	if len(first.req.Tools) > 0 {
		t.Errorf("the request has the tools %v", first.req.Tools)
	}
	first.act(reply.StopEndTurn, callsOf(1, `read_file{"path":"a.go"}`)...)
	if r := <-result; r.err != nil || r.Turn.StopReason != "end_turn" {
		t.Errorf("%+v, %v", r.Turn, r.err)
	}
	a.wantTranscript("user go", "assistant call read_file", "tool result of tc_1 (not run: there are no tools)")
	failed := slices.ContainsFunc(received(t, c), func(e events.Event) bool {
		p, ok := e.Data.(tools.Progress)
		return ok && p.CallID == "tc_1" && p.Status == tools.Fails
	})
	if !failed {
		t.Error("clients were not told that the call failed")
	}
	a.talk("and now?")
}

// Whatever ends a turn, no call is left without a result, and the next prompt works.
func TestEveryCallHasAResult(t *testing.T) {
	look := `read_file{"path":"a.go"}`
	for name, tt := range map[string]struct {
		play func(a *acted, first *call) // from the first call of the model on
		want []string                    // the transcript after the prompt
		stop string
	}{
		"cut off": {func(_ *acted, first *call) { first.act(reply.StopMaxTokens, callsOf(1, look)...) },
			[]string{"assistant call read_file", "tool result of tc_1 (not run: the reply was cut off)"}, "max_tokens"},
		"refusal": {func(_ *acted, first *call) { first.act(reply.StopRefusal, callsOf(1, look)...) },
			[]string{"assistant call read_file", "tool result of tc_1 (not run: the reply was cut off)"}, "refusal"},
		"cancelled in the second step": {func(a *acted, first *call) {
			first.act(reply.StopToolUse, callsOf(1, look)...)
			a.asked().say("half")
			a.Cancel("")
		}, []string{"assistant call read_file", "tool result of tc_1"}, "cancelled"},
		"failed with calls": {func(_ *acted, first *call) {
			first.done <- called{reply.Result{Blocks: callsOf(1, look)}, errors.New("broke off")}
		}, []string{"assistant call read_file failed", "tool result of tc_1 (not run: the reply was cut off)"}, ""},
		"failed in the second step": {func(a *acted, first *call) {
			first.act(reply.StopToolUse, callsOf(1, look)...)
			a.asked().done <- called{reply.Result{}, errors.New("no answer")}
		}, []string{"assistant call read_file", "tool result of tc_1"}, ""},
		"unknown tool and wrong input": {func(a *acted, first *call) {
			first.act(reply.StopToolUse, callsOf(1, `fly{}`, `read_file{"path":7}`)...)
			a.asked().end("sorry")
		}, []string{"assistant call fly call read_file",
			`tool result of tc_1 (there is no tool "fly"; the tools are delete_file, edit_file, list_files, move_file, read_file, search, update_plan, write_file) result of tc_2 (read_file was not run: path must be a string, not 7)`,
			"assistant sorry"}, "end_turn"},
	} {
		t.Run(name, func(t *testing.T) {
			a := acting(t)
			result := a.prompt("go", nil)
			tt.play(a, a.asked())
			if r := <-result; r.Turn.StopReason != tt.stop {
				t.Errorf("stop reason %q, want %q", r.Turn.StopReason, tt.stop)
			}
			a.wantTranscript(append([]string{"user go"}, tt.want...)...)
			a.talk("and now?")
		})
	}
}

// A cancel does not wait for a tool, and what that returns later is dropped.
func TestACancelDoesNotWaitForTools(t *testing.T) {
	a := acting(t)
	stuck := &stuckEditor{reading: make(chan struct{}), release: make(chan struct{})}
	defer close(stuck.release)
	results := make(chan outcomeOf, 1)
	a.Prompt(Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "go"}}, Client: stuck}, nil, func(r PromptResult, _ uint64, err error) { results <- outcomeOf{r, err} })
	a.asked().act(reply.StopToolUse, callsOf(1, `list_files{}`, `read_file{"path":"a.go"}`)...)
	<-stuck.reading
	a.Cancel("")
	if r := <-results; r.err != nil || r.Turn.StopReason != "cancelled" {
		t.Errorf("%+v, %v", r.Turn, r.err)
	}
	got := a.transcript()
	if len(got) != 3 || !strings.Contains(got[2], "tc_2 (cancelled by the user)") {
		t.Errorf("the transcript is %q", got)
	}
}

// stuckEditor does not answer, whatever becomes of the request.
type stuckEditor struct {
	clients.Client
	reading, release chan struct{}
}

func (*stuckEditor) Can(c clients.Capability) bool { return c == clients.ReadFiles }

func (*stuckEditor) WriteTextFile(context.Context, clients.Write, uint64) error {
	return clients.ErrGone
}

func (*stuckEditor) RequestPermission(context.Context, clients.Permission, uint64) (clients.Answer, error) {
	return clients.Answer{}, clients.ErrDismissed
}

func (e *stuckEditor) ReadTextFile(context.Context, clients.Read, uint64) (string, error) {
	close(e.reading)
	<-e.release
	return "", errors.New("late")
}

func TestATurnHasALimitOfSteps(t *testing.T) {
	a := acting(t, func(d *Deps) { d.Tools.MaxSteps = 3 })
	result := a.prompt("go", nil)
	for i := range 3 {
		a.asked().act(reply.StopToolUse, callsOf(i+1, fmt.Sprintf(`search{"pattern":"p%d"}`, i))...)
	}
	if r := <-result; r.err != nil || r.Turn.StopReason != "max_turn_requests" {
		t.Errorf("%+v, %v", r.Turn, r.err)
	}
	if n := len(a.transcript()); n != 7 {
		t.Errorf("%d messages", n)
	}
	a.talk("go on")
}

func TestATurnThatRepeatsItselfEnds(t *testing.T) {
	a := acting(t)
	result := a.prompt("go", nil)
	for i := range 5 {
		c := a.asked()
		if told := strings.Contains(texts(c.req), "were identical"); told != (i >= 3) {
			t.Errorf("step %d: the model was told that it repeats itself: %t", i+1, told)
		}
		c.act(reply.StopToolUse, callsOf(i+1, `search{"pattern":"nowhere"}`)...)
	}
	r := <-result
	if r.err != nil || r.Turn.StopReason != "end_turn" {
		t.Errorf("%+v, %v", r.Turn, r.err)
	}
	got := a.transcript()
	if last := got[len(got)-1]; !strings.HasPrefix(last, "assistant The model repeated the same tool call") {
		t.Errorf("the last message is %q", last)
	}
	a.talk("go on")
}

// A server that ended between two steps left calls without results, or a part of a message: loading settles them. A call of the
// model that it was waiting for is in the usage log, with an estimate.
func TestAnInterruptedStepIsSettled(t *testing.T) {
	for name, tt := range map[string]struct {
		stored   []history.Message
		partials []history.Partial
		want     []string
		lost     int // step of the call of the model; 0: none was made
	}{
		"no part of the first step": {nil, nil, []string{"user go"}, 1},
		"a call without a result": {
			[]history.Message{{Role: history.RoleAssistant, Blocks: callsOf(1, `search{}`, `search{}`)}}, nil,
			[]string{"user go", "assistant call search call search",
				"tool result of tc_1 (" + tools.Lost.String() + ") result of tc_2 (" + tools.Lost.String() + ")"}, 0,
		},
		"a part of the next step": {
			[]history.Message{{Role: history.RoleAssistant, Blocks: callsOf(1, `search{}`)},
				{Role: history.RoleTool, Blocks: []history.Block{{Type: history.BlockToolResult, CallID: "tc_1"}}}},
			[]history.Partial{{Turn: "turn_1", Message: "msg_next", Kind: history.BlockText, Text: "So "}},
			[]string{"user go", "assistant call search", "tool result of tc_1", "assistant So  interrupted"}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := acting(t)
			a.diesWith(tt.partials, tt.stored...)
			again := *a
			again.Session = closedLater(t, Open(a.deps, a.ID(), nil))
			again.told()
			again.wantTranscript(tt.want...)
			again.wantLost(tt.lost, len(tt.partials) > 0)
			again.talk("go on")
		})
	}
}

// wantLost fails unless the end of the interrupted turn has a call of a step, none for 0, with a reply as far as it arrived.
func (a *acted) wantLost(step int, arrived bool) {
	a.t.Helper()
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	i := slices.IndexFunc(a.store.changes, func(c history.Change) bool { return c.End != nil && c.End.ID == "turn_1" })
	if i < 0 {
		a.t.Fatal("the turn has no end")
	}
	end := a.store.changes[i]
	if step == 0 {
		if len(end.Calls) > 0 || end.End.Usage != (history.Usage{}) {
			a.t.Errorf("%+v of %+v", end.Calls, end.End)
		}
		return
	}
	if len(end.Calls) != 1 {
		a.t.Fatalf("%d calls", len(end.Calls))
	}
	c := end.Calls[0]
	if c.Step != step || c.Status != history.CallStopped || !c.Estimated || c.Failure == nil || c.Usage.Input == 0 || (c.Usage.Output > 0) != arrived || c.Usage != end.End.Usage {
		a.t.Errorf("%+v of %+v", c, end.End)
	}
	if totals := a.context.Totals(); totals.Calls == 0 || totals.Usage.Input < c.Usage.Input {
		a.t.Errorf("totals %+v", totals)
	}
}

// The same prompt after a failure is not stored a second time: its turn goes on from the newest finished step, without what
// broke off after it.
func TestTheSamePromptGoesOnFromTheLastStep(t *testing.T) {
	look := `read_file{"path":"a.go"}`
	for name, tt := range map[string]struct {
		fail func(c *call)
		want []string // the transcript after the first step
	}{
		"no answer": {func(c *call) { c.done <- called{reply.Result{}, errors.New("no answer")} }, nil},
		"half of an answer": {func(c *call) {
			c.say("It defi")
			c.done <- called{reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: "It defi"}}}, errors.New("broke off")}
		}, []string{"assistant It defi failed"}},
		"calls that did not run": {func(c *call) { c.done <- called{reply.Result{Blocks: callsOf(2, look)}, errors.New("broke off")} },
			[]string{"assistant call read_file failed", "tool result of tc_2 (not run: the reply was cut off)"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := acting(t)
			result := a.prompt("what does it define?", nil)
			a.asked().act(reply.StopToolUse, callsOf(1, look)...)
			tt.fail(a.asked())
			if r := <-result; r.err == nil {
				t.Fatalf("%+v", r.Turn)
			}
			again := a.prompt("what does it define?", nil)
			c := a.asked()
			if s := texts(c.req); strings.Count(s, "what does it define?") != 1 || !strings.Contains(s, "func Alpha() {}") || strings.Contains(s, "It defi\n") {
				t.Errorf("the request is\n%s", s)
			}
			wantPaired(t, 2, c.req)
			c.end("It defines Alpha.")
			if r := <-again; r.err != nil || r.Turn.StopReason != "end_turn" {
				t.Errorf("%+v, %v", r.Turn, r.err)
			}
			visible := len(a.context.View())
			a.talk("And b.go?")
			if n := len(a.context.View()); n != visible+2 {
				t.Errorf("after another turn %d messages are in view, before it %d", n, visible)
			}
			a.wantTranscript(append(append([]string{"user what does it define?", "assistant call read_file", "tool result of tc_1"}, tt.want...),
				"assistant It defines Alpha.", "user And b.go?", "assistant reply to And b.go?")...)
		})
	}
}

// Restores, forks and checkpoints name places between turns, or between the steps of a finished turn.
func TestAPlaceInsideAStepIsTheOneBefore(t *testing.T) {
	a := acting(t)
	result := a.prompt("go", nil)
	first := a.asked()
	running, err := answerOf(func(reply func(history.Checkpoint, error)) { a.CreateCheckpoint("while it runs", reply) })
	if err != nil || running.Seq != 0 {
		t.Errorf("a checkpoint in a turn is at %d, %v", running.Seq, err)
	}
	first.act(reply.StopToolUse, callsOf(1, `list_files{}`)...)
	a.asked().end("done")
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}
	for seq, want := range map[int64]int64{1: 1, 2: 1, 3: 3, 4: 4} {
		fork, err := answerOf(func(reply func(Fork, error)) { a.Fork(ForkRequest{Seq: &seq}, reply) })
		if err != nil || fork.Seq != want || int64(len(fork.Heads)) != want {
			t.Errorf("a fork at %d is at %d with %d messages, %v", seq, fork.Seq, len(fork.Heads), err)
		}
	}
	if _, err := answerOf(func(reply func(Restored, error)) { a.Restore(RestoreRequest{Seq: 2}, reply) }); err != nil {
		t.Fatal(err)
	}
	if view := a.context.View(); len(view) != 1 || view[0].Role != history.RoleUser {
		t.Errorf("after a restore into the step the view has %d messages", len(view))
	}
}

// diesWith makes the stored session one whose server died in a turn with these messages and chunks.
func (a *acted) diesWith(partials []history.Partial, stored ...history.Message) {
	a.t.Helper()
	a.talk("hello") // so that there is a session
	a.Close(ReasonClosed, func() {})
	<-a.Done()
	clear(a.store.messages)
	messages := append([]history.Message{{ID: "msg_user", Role: history.RoleUser, Blocks: []history.Block{{Type: history.BlockText, Text: "go"}}}}, stored...)
	loaded := history.Loaded{Session: a.choices.Record, Partials: partials,
		Unfinished: &history.Turn{ID: "turn_1", UserID: "msg_user", ReplyID: "msg_reply", Status: history.TurnRunning, StartedAt: time.Now()}}
	for i, m := range messages {
		m.ID, m.Seq, m.Turn, m.Status, m.Tokens = fmt.Sprint("msg_", i), int64(i+1), "turn_1", history.StatusComplete, 5
		a.store.messages[m.Seq] = m
		loaded.Heads = append(loaded.Heads, m.Head(10))
	}
	a.store.loaded = loaded
}

// unreadable is a store that cannot read the messages of a session at first.
type unreadable struct {
	*lockedStore
	failed bool
}

func (s *unreadable) Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error) {
	if !s.failed {
		s.failed = true
		return nil, errors.New("cannot be read")
	}
	return s.lockedStore.Messages(ctx, session, seqs)
}

// A session whose calls cannot be read is not loaded without their results. The next load settles them.
func TestCallsThatCannotBeReadAreSettledLater(t *testing.T) {
	a := acting(t)
	a.diesWith(nil, history.Message{Role: history.RoleAssistant, Blocks: callsOf(1, `search{}`)})
	a.deps.Store = &unreadable{lockedStore: a.store}
	first := Open(a.deps, a.ID(), nil)
	if _, err := answerOf(first.Info); !errors.Is(err, ErrStorage) {
		t.Errorf("loaded with %v", err)
	}
	<-first.Done()
	a.wantTranscript("user go", "assistant call search")
	a.Session = closedLater(t, Open(a.deps, a.ID(), first))
	a.told()
	a.wantTranscript("user go", "assistant call search", "tool result of tc_1 ("+tools.Lost.String()+")")
	a.talk("go on")
}
