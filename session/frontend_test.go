package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/assembly"
	"strata/session/clients"
	"strata/session/toolbox"
	"strata/session/tools"
)

// runner is a frontend whose tools a test runs.
type runner struct{ calls chan toolCall }

type toolCall struct {
	toolbox.Call
	ctx   context.Context
	after uint64
	done  chan toolDone
}

type toolDone struct {
	toolbox.Result
	err error
}

func newRunner() *runner { return &runner{make(chan toolCall, 10)} }

// CallTool implements toolbox.Frontend.
func (r *runner) CallTool(ctx context.Context, c toolbox.Call, after uint64) (toolbox.Result, error) {
	call := toolCall{c, ctx, after, make(chan toolDone, 1)}
	r.calls <- call
	select {
	case d := <-call.done:
		return d.Result, d.err
	case <-ctx.Done():
		return toolbox.Result{}, context.Cause(ctx)
	}
}

func (c *toolCall) say(text string) {
	c.done <- toolDone{toolbox.Result{Content: []history.Block{{Type: history.BlockText, Text: text}}}, nil}
}

// offers returns an offer of tools that change nothing, whose input is {n: integer}.
func (r *runner) offers(t testing.TB, names ...string) *toolbox.Offer {
	t.Helper()
	declared := []toolbox.Declared{}
	for _, name := range names {
		declared = append(declared, declaredTool(name))
	}
	return r.offersAll(t, declared)
}

func declaredTool(name string) toolbox.Declared {
	return toolbox.Declared{
		Definition: tools.Definition{Name: name, Description: "Does " + name, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
		Kind:       tools.KindFetch, ReadOnly: true,
	}
}

func (r *runner) offersAll(t testing.TB, declared []toolbox.Declared) *toolbox.Offer {
	t.Helper()
	d, err := toolbox.NewDeclaration(declared)
	if err != nil {
		t.Fatal(err)
	}
	return &toolbox.Offer{Frontend: r, Tools: d}
}

// offering prompts with an offer.
func (a *acted) offering(words string, o *toolbox.Offer) chan outcomeOf {
	results := make(chan outcomeOf, 1)
	p := Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: words}}, Offer: o}
	a.Prompt(p, nil, func(r PromptResult, _ uint64, err error) { results <- outcomeOf{r, err} })
	return results
}

// names returns the names of a request's tools that are not built-in.
func names(req llm.Request) (all []string) {
	for _, t := range req.Tools {
		if !tools.IsBuiltIn(t.Name) {
			all = append(all, t.Name)
		}
	}
	return all
}

// A declared tool is in the requests of the turn that declares it, by name among the built-in ones, and the frontend runs it.
func TestAFrontendRunsItsTools(t *testing.T) {
	a, r := acting(t), newRunner()
	result := a.offering("go", r.offers(t, "zoom", "deploy_status"))
	first := a.asked()
	if got := names(first.req); !slices.Equal(got, []string{"deploy_status", "zoom"}) || first.req.Tools[1].Name != "deploy_status" {
		t.Errorf("the request has the tools %v", got)
	}
	before := a.told().Seq
	first.act(reply.StopToolUse, callsOf(1, `zoom{"n":3.0}`, `deploy_status{"n":"x"}`)...)
	c := <-r.calls
	if c.ID != "tc_1" || c.Name != "zoom" || string(c.Input) != `{"n":3}` {
		t.Errorf("the frontend was asked for %s %s of %s", c.Name, c.Input, c.ID)
	}
	if c.after <= before {
		t.Errorf("it is asked after event %d, but the call was announced after event %d", c.after, before)
	}
	c.say("closer")
	second := a.asked()
	second.end("done")
	if out := <-result; out.err != nil {
		t.Fatal(out.err)
	}
	a.wantTranscript("user go", "assistant call zoom call deploy_status",
		"tool result of tc_1 result of tc_2 (deploy_status was not run: n must be a whole number, not \"x\")", "assistant done")
	m := a.store.messages[3]
	if got := m.Blocks[0]; got.Content[0].Text != "closer" || got.Call.Title != "zoom" || got.Call.Kind != "fetch" {
		t.Errorf("stored is %+v, %+v", got.Content, got.Call)
	}
}

// What a frontend answers, or that it does not, is told to the model, and the turn goes on.
func TestAnswersOfAFrontend(t *testing.T) {
	image := func(data string) []history.Block {
		return []history.Block{{Type: history.BlockImage, MIME: "image/x", Data: []byte(data)}}
	}
	text := func(s string) []history.Block { return []history.Block{{Type: history.BlockText, Text: s}} }
	picture := "GIF89a\x02\x00\x03\x00\x00\x00\x00;"
	for name, tt := range map[string]struct {
		answer toolDone
		want   string // in the result
		failed bool
	}{
		"nothing":      {toolDone{}, "(no output)", false},
		"blank":        {toolDone{Result: toolbox.Result{Content: text(" \n")}}, "(no output)", false},
		"an error":     {toolDone{Result: toolbox.Result{Content: text("no such page"), IsError: true}}, "no such page", true},
		"gone":         {toolDone{err: clients.ErrGone}, "zoom failed: the editor's connection ended before its response", true},
		"late":         {toolDone{err: clients.ErrLate}, "zoom failed: the editor did not respond in time", true},
		"refused":      {toolDone{err: &clients.Refused{Code: -32601, Message: "no zoom"}}, "zoom failed: the editor responded: no zoom (code -32601)", true},
		"no picture":   {toolDone{Result: toolbox.Result{Content: image("text")}}, "zoom failed: the editor's response is invalid: content[0]: not a PNG", true},
		"large":        {toolDone{Result: toolbox.Result{Content: text(strings.Repeat("line\n", 1<<20))}}, "lines omitted]", false},
		"many images":  {toolDone{Result: toolbox.Result{Content: slices.Repeat(image(picture), 5)}}, "more than 4 images", true},
		"a huge image": {toolDone{Result: toolbox.Result{Content: image(picture + strings.Repeat("x", 5<<20))}}, "exceeds the limit of 5242880", true},
		"a link":       {toolDone{Result: toolbox.Result{Content: []history.Block{{Type: history.BlockLink}}}}, "content[0] is neither text nor an image", true},
	} {
		t.Run(name, func(t *testing.T) {
			a, r := acting(t), newRunner()
			result := a.offering("go", r.offers(t, "zoom"))
			a.asked().act(reply.StopToolUse, callsOf(1, `zoom{}`)...)
			c := <-r.calls
			c.done <- tt.answer
			a.asked().end("done")
			if out := <-result; out.err != nil {
				t.Fatal(out.err)
			}
			got := a.store.messages[3].Blocks[0]
			if !strings.Contains(got.Content[0].Text, tt.want) || got.IsError != tt.failed || len(got.Content[0].Text) > tools.MaxResult {
				t.Errorf("the result is %.200q, error %t", got.Content[0].Text, got.IsError)
			}
		})
	}
	a, r := acting(t), newRunner()
	result := a.offering("go", r.offers(t, "zoom"))
	a.asked().act(reply.StopToolUse, callsOf(1, `zoom{}`)...)
	c := <-r.calls
	c.done <- toolDone{Result: toolbox.Result{Content: append(image(picture), text("seen")...)}}
	a.asked().end("done")
	<-result
	if got := a.store.messages[3].Blocks[0].Content; len(got) != 2 || got[0].MIME != "image/gif" || got[0].Width != 2 || got[0].Height != 3 {
		t.Errorf("stored is %+v", got)
	}
}

// A cancel ends the turn at once, and ends the call of the frontend.
func TestACancelEndsACallOfAFrontend(t *testing.T) {
	a, r := acting(t), newRunner()
	result := a.offering("go", r.offers(t, "zoom"))
	a.asked().act(reply.StopToolUse, callsOf(1, `zoom{}`)...)
	c := <-r.calls
	a.Cancel("")
	if out := <-result; out.err != nil || out.Turn.StopReason != "cancelled" {
		t.Errorf("%+v, %v", out.Turn, out.err)
	}
	<-c.ctx.Done()
	a.wantTranscript("user go", "assistant call zoom", "tool result of tc_1 (cancelled by the user)")
}

// window is a client whose user answers when a test says so.
type window struct {
	*stuckEditor
	asked chan permission
}

type permission struct {
	clients.Permission
	ctx    context.Context
	answer chan clients.Answer
}

func newWindow() *window { return &window{asked: make(chan permission, 10)} }

// Can implements clients.Client.
func (*window) Can(c clients.Capability) bool { return c == clients.Permissions }

// RequestPermission implements clients.Client.
func (w *window) RequestPermission(ctx context.Context, p clients.Permission, _ uint64) (clients.Answer, error) {
	q := permission{p, ctx, make(chan clients.Answer, 1)}
	w.asked <- q
	select {
	case a := <-q.answer:
		return a, nil
	case <-ctx.Done():
		return clients.Answer{}, context.Cause(ctx)
	}
}

// changing returns an offer of a tool that can change something.
func (r *runner) changing(t testing.TB, name string) *toolbox.Offer {
	t.Helper()
	one := declaredTool(name)
	one.ReadOnly = false
	return r.offersAll(t, []toolbox.Declared{one})
}

// A tool of a frontend that can change something runs alone, when the user allows it, and its result is stored before anything
// else happens. An answer can hold for the session. A rejected call does not run, and the model gets the user's words.
func TestAFrontendsToolThatChangesSomething(t *testing.T) {
	a, r, w := acting(t, func(d *Deps) { d.Tools.ApprovalTimeout = time.Hour }), newRunner(), newWindow()
	a.Join(w)
	result := a.offering("go", r.changing(t, "deploy"))
	a.asked().act(reply.StopToolUse, callsOf(1, `list_files{}`, `deploy{"n":1}`, `list_files{}`)...)
	q := <-w.asked
	if q.Call.CallID != "tc_2" || len(r.calls) > 0 {
		t.Errorf("the user is asked about %s while %d calls run", q.Call.CallID, len(r.calls))
	}
	q.answer <- clients.Answer{OptionID: "allow_once"}
	run := <-r.calls
	run.say("deployed")
	second := a.asked()
	a.wantTranscript("user go", "assistant call list_files call deploy call list_files", "tool result of tc_1 result of tc_2", "tool result of tc_3")
	second.act(reply.StopToolUse, callsOf(4, `deploy{"n":2}`)...)
	q = <-w.asked
	q.answer <- clients.Answer{OptionID: "reject_once", Words: "Not on Fridays."}
	third := a.asked()
	if s := texts(third.req); !strings.Contains(s, "Not on Fridays.") || len(r.calls) > 0 {
		t.Errorf("the model is told\n%s", s)
	}
	third.act(reply.StopToolUse, callsOf(5, `deploy{"n":3}`)...)
	q = <-w.asked
	q.answer <- clients.Answer{OptionID: "allow_always"}
	run = <-r.calls
	run.say("deployed")
	a.asked().act(reply.StopToolUse, callsOf(6, `deploy{"n":4}`)...)
	run = <-r.calls // without a question
	run.say("deployed")
	a.asked().end("done")
	if out := <-result; out.err != nil || out.Turn.StopReason != "end_turn" || len(w.asked) > 0 {
		t.Errorf("%+v, %v, %d further questions", out.Turn, out.err, len(w.asked))
	}
}

// A session that is read-only runs no such tool, and a choice that is made while the user is asked counts at once.
func TestTheApprovalDecides(t *testing.T) {
	a, r, w := acting(t, func(d *Deps) { d.Tools.ApprovalTimeout = time.Hour }), newRunner(), newWindow()
	a.Join(w)
	result := a.offering("go", r.changing(t, "deploy"))
	a.asked().act(reply.StopToolUse, callsOf(1, `deploy{}`)...)
	q := <-w.asked
	if _, err := answerOf(func(reply func(Configured, error)) { a.Configure("approval", "read-only", nil, reply) }); err != nil {
		t.Fatal(err)
	}
	<-q.ctx.Done()
	a.asked().end("done")
	<-result
	if got := a.transcript()[2]; !strings.Contains(got, "the session is read-only") || len(r.calls) > 0 {
		t.Errorf("the result is %q", got)
	}
}

// A cancel does not wait for the user, and a server that dies after a call with effects loses no result that was stored.
func TestACancelDoesNotWaitForTheUser(t *testing.T) {
	a, r, w := acting(t, func(d *Deps) { d.Tools.ApprovalTimeout = time.Hour }), newRunner(), newWindow()
	a.Join(w)
	result := a.offering("go", r.changing(t, "deploy"))
	a.asked().act(reply.StopToolUse, callsOf(1, `deploy{}`, `deploy{"n":2}`)...)
	q := <-w.asked
	q.answer <- clients.Answer{OptionID: "allow_once"}
	run := <-r.calls
	run.say("deployed")
	<-w.asked
	a.Cancel("")
	if out := <-result; out.err != nil || out.Turn.StopReason != "cancelled" {
		t.Errorf("%+v, %v", out.Turn, out.err)
	}
	a.wantTranscript("user go", "assistant call deploy call deploy", "tool result of tc_1", "tool result of tc_2 (cancelled by the user)")
	a.talk("and now?")
}

// After a crash only the calls without a stored result are settled.
func TestStoredResultsSurviveACrash(t *testing.T) {
	a := acting(t)
	a.diesWith(nil, history.Message{Role: history.RoleAssistant, Blocks: callsOf(1, `deploy{}`, `deploy{"n":2}`)},
		history.Message{Role: history.RoleTool, Blocks: []history.Block{{Type: history.BlockToolResult, CallID: "tc_1", Content: []history.Block{{Type: history.BlockText, Text: "deployed"}}}}})
	a.Session = closedLater(t, Open(a.deps, a.ID(), nil))
	a.told()
	a.wantTranscript("user go", "assistant call deploy call deploy", "tool result of tc_1", "tool result of tc_2 ("+tools.Lost.String()+")")
	a.talk("go on")
}

// play plays a turn in which the model calls a tool once, and returns its requests and the text of the result.
func (a *acted) play(words, call string, o *toolbox.Offer, run func()) (first, second llm.Request, result string) {
	a.t.Helper()
	done := a.offering(words, o)
	one := a.asked()
	cached := history.Usage{CacheRead: 1000, CacheWrite: 1, Output: 10} // all of the request
	one.spend(cached, reply.StopToolUse, callsOf(1, call)...)
	run()
	two := a.asked()
	two.spend(cached, reply.StopEndTurn, history.Block{Type: history.BlockText, Text: "done"})
	if out := <-done; out.err != nil {
		a.t.Fatal(out.err)
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	for seq := int64(len(a.store.messages)); ; seq-- {
		if m := a.store.messages[seq]; m.Role == history.RoleTool {
			return one.req, two.req, m.Blocks[0].Content[0].Text
		}
	}
}

// The last declaration counts: the calls of the same tools go to whoever declared them last, also within a turn.
func TestTheLastDeclarationCounts(t *testing.T) {
	a, old, now := acting(t), newRunner(), newRunner()
	a.Toolbox().Submit(old.offers(t, "zoom"))
	a.play("one", `zoom{}`, nil, func() { c := <-old.calls; c.say("old") })
	result := a.offering("two", nil)
	first := a.asked()
	first.act(reply.StopToolUse, callsOf(1, `zoom{}`)...)
	c := <-old.calls
	a.Toolbox().Submit(now.offers(t, "zoom"))
	c.say("old") // that call was made before
	second := a.asked()
	second.act(reply.StopToolUse, callsOf(2, `zoom{}`)...)
	c = <-now.calls
	c.say("now")
	a.asked().end("done")
	<-result
	if _, _, result := a.play("three", `zoom{}`, nil, func() { c := <-now.calls; c.say("now") }); result != "now" {
		t.Errorf("the result is %q", result)
	}
	a.Toolbox().Leave(old) // it has been replaced
	if _, _, result := a.play("four", `zoom{}`, nil, func() { c := <-now.calls; c.say("now") }); result != "now" {
		t.Errorf("the result is %q", result)
	}
	a.Toolbox().Leave(now)
	req, _, told := a.play("five", `zoom{}`, nil, func() {})
	if !strings.Contains(told, "the editor that offers it is not connected") || !slices.Equal(names(req), []string{"zoom"}) {
		t.Errorf("the result is %q, the tools %v", told, names(req))
	}
}

// caching makes the model of a session one whose provider caches, so that requests expect something of it.
func caching(clock func() time.Time) func(*Deps) {
	return func(d *Deps) {
		d.Now = clock
		models := d.Models.(oneModel)
		models.model.Window, models.model.MinCacheTokens, models.model.Marks = 100_000, 50, true
		d.Models = models
	}
}

// definitions returns the tools of a request as they are sent.
func definitions(req llm.Request) string {
	raw, err := json.Marshal(req.Tools)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// A withdrawn tool keeps its definition, and the requests their bytes, until nothing of a request is cached.
func TestAWithdrawalWaitsForTheCut(t *testing.T) {
	start, passed := time.Now(), atomic.Int64{}
	a, r := acting(t, caching(func() time.Time { return start.Add(time.Duration(passed.Load())) })), newRunner()
	first, _, _ := a.play("one", `zoom{}`, r.offers(t, "zoom", "pan"), func() { c := <-r.calls; c.say("closer") })
	for n, offer := range []*toolbox.Offer{r.offers(t, "pan"), r.offers(t), nil} {
		again, second, result := a.play(fmt.Sprint("more", n), `zoom{}`, offer, func() {})
		if definitions(again) != definitions(first) || definitions(second) != definitions(first) {
			t.Errorf("turn %d: the definitions changed from %s to %s and %s", n, names(first), names(again), names(second))
		}
		if result != "zoom was not run: it is no longer available. Do without it." {
			t.Errorf("turn %d: the result is %q", n, result)
		}
	}
	passed.Store(int64(2 * time.Hour)) // nothing is cached any more
	again, second, result := a.play("later", `zoom{}`, nil, func() {})
	if got := slices.Concat(names(again), names(second)); len(got) > 0 {
		t.Errorf("the requests still have %v", got)
	}
	if result != "zoom was not run: it is no longer available. Do without it." {
		t.Errorf("the result is %q", result)
	}
	if _, _, result := a.play("last", `zoom{}`, nil, func() {}); !strings.HasPrefix(result, `there is no tool "zoom"`) {
		t.Errorf("the result is %q", result)
	}
}

// A tool that is declared again before the cut is as if it had not been withdrawn.
func TestAWithdrawnToolCanComeBack(t *testing.T) {
	a, r := acting(t, caching(time.Now)), newRunner()
	first, _, _ := a.play("one", `zoom{}`, r.offers(t, "zoom"), func() { c := <-r.calls; c.say("closer") })
	a.play("two", `zoom{}`, r.offers(t), func() {})
	again, _, result := a.play("three", `zoom{}`, r.offers(t, "zoom"), func() { c := <-r.calls; c.say("closer") })
	if definitions(again) != definitions(first) || result != "closer" {
		t.Errorf("the tools are %v, the result %q", names(again), result)
	}
}

// An addition changes the definitions anyway, so it takes the withdrawn ones with it.
func TestAnAdditionRemovesTheWithdrawnTools(t *testing.T) {
	a, r := acting(t, caching(time.Now)), newRunner()
	a.play("one", `zoom{}`, r.offers(t, "zoom"), func() { c := <-r.calls; c.say("closer") })
	first, second, _ := a.play("two", `pan{}`, r.offers(t, "pan"), func() { c := <-r.calls; c.say("left") })
	for _, req := range []llm.Request{first, second} {
		if got := names(req); !slices.Equal(got, []string{"pan"}) {
			t.Errorf("the tools are %v", got)
		}
	}
}

// A declaration during a turn changes nothing of its requests, but withdraws its tools at once.
func TestADeclarationDuringATurnWaits(t *testing.T) {
	a, r := acting(t, caching(time.Now)), newRunner()
	result := a.offering("go", r.offers(t, "zoom"))
	first := a.asked()
	a.Toolbox().Submit(r.offers(t, "pan"))
	first.act(reply.StopToolUse, callsOf(1, `zoom{}`, `pan{}`)...)
	second := a.asked()
	if definitions(second.req) != definitions(first.req) {
		t.Errorf("the tools are %v", names(second.req))
	}
	second.end("done")
	<-result
	got := a.transcript()[2]
	if !strings.Contains(got, "tc_1 (zoom was not run: it is no longer available") || !strings.Contains(got, `tc_2 (there is no tool "pan"`) {
		t.Errorf("the results are %q", got)
	}
	next := a.offering("and now?", nil)
	third := a.asked()
	if got := names(third.req); !slices.Equal(got, []string{"pan"}) {
		t.Errorf("the tools are %v", got)
	}
	third.end("done")
	<-next
}

// A prompt that is refused because of the running turn declares nothing; one that joins it does.
func TestWhichPromptsDeclare(t *testing.T) {
	a, r, other := acting(t), newRunner(), newRunner()
	joined := func(id string, o *toolbox.Offer) chan outcomeOf {
		results := make(chan outcomeOf, 1)
		p := Prompt{ID: id, Blocks: []history.Block{{Type: history.BlockText, Text: "go"}}, Offer: o}
		a.Prompt(p, nil, func(r PromptResult, _ uint64, err error) { results <- outcomeOf{r, err} })
		return results
	}
	result := joined("p1", r.offers(t, "zoom"))
	first := a.asked()
	if out := <-joined("", other.offers(t, "zoom")); out.err == nil {
		t.Error("a second prompt was taken")
	}
	first.act(reply.StopToolUse, callsOf(1, `zoom{}`)...)
	c := <-r.calls
	c.say("closer")
	second := a.asked()
	again := joined("p1", other.offers(t, "zoom"))
	a.told() // so that it has joined
	second.act(reply.StopToolUse, callsOf(2, `zoom{"n":2}`)...)
	c = <-other.calls
	c.say("closer")
	a.asked().end("done")
	<-result
	<-again
}

// A model without tools gets none, also none of a frontend. A frontend's own request has its own tools only.
func TestRequestsWithoutAFrontendsTools(t *testing.T) {
	noTools := false
	a, r := acting(t, caching(time.Now), func(d *Deps) {
		models := d.Models.(oneModel)
		d.Models = varying{models, &noTools}
	}), newRunner()
	a.play("one", `zoom{}`, r.offers(t, "zoom"), func() { c := <-r.calls; c.say("closer") })
	result := a.offering("two", r.offers(t))
	a.asked().end("done")
	<-result
	own, err := answerOf(func(reply func([]string, error)) {
		a.Preview([]Tool{{Name: "zoom", Schema: json.RawMessage(`{}`)}}, func(b assembly.Assembled, err error) {
			var all []string
			for _, one := range b.Tools {
				all = append(all, one.Name)
			}
			reply(all, err)
		})
	})
	if err != nil || !slices.Equal(own, []string{"zoom"}) {
		t.Errorf("the frontend's own request has the tools %v, %v", own, err)
	}
	noTools = true
	result = a.offering("three", r.offers(t, "zoom"))
	c := a.asked()
	if len(c.req.Tools) > 0 {
		t.Errorf("the request has %v", c.req.Tools)
	}
	c.end("done")
	<-result
}

// varying is a model that can lose its tools between two turns.
type varying struct {
	oneModel
	noTools *bool
}

func (v varying) Model(name string) (llm.Model, bool) {
	m, ok := v.oneModel.Model(name)
	m.NoTools = *v.noTools
	return m, ok
}

// reader is an editor that reads files.
type reader struct {
	clients.Client
	name string
	can  bool
}

func (r *reader) Can(c clients.Capability) bool { return r.can && c == clients.ReadFiles }

func (r *reader) RequestPermission(context.Context, clients.Permission, uint64) (clients.Answer, error) {
	return clients.Answer{}, clients.ErrDismissed
}

func (r *reader) ReadTextFile(context.Context, clients.Read, uint64) (string, error) {
	return "shown by " + r.name + "\n", nil
}

func (r *reader) WriteTextFile(context.Context, clients.Write, uint64) error { return clients.ErrGone }

// If the editor that sent the prompt is gone, another one that subscribes reads files, and the server if there is none.
func TestAnotherEditorServesATurn(t *testing.T) {
	first, page, second := &reader{name: "the first", can: true}, &reader{name: "the page", can: false}, &reader{name: "the second", can: true}
	for name, tt := range map[string]struct {
		gone []clients.Client
		want string
	}{
		"nobody is gone":      {nil, "shown by the first"},
		"the first is gone":   {[]clients.Client{first}, "shown by the second"},
		"all others are gone": {[]clients.Client{page, second}, "shown by the first"},
		"everybody is gone":   {[]clients.Client{second, first}, "package a"},
	} {
		t.Run(name, func(t *testing.T) {
			a := acting(t)
			for _, c := range []clients.Client{first, page, second} {
				a.Join(c)
			}
			results := make(chan outcomeOf, 1)
			a.Prompt(Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "go"}}, Client: first}, nil, func(r PromptResult, _ uint64, err error) {
				results <- outcomeOf{r, err}
			})
			asked := a.asked()
			for _, c := range tt.gone {
				a.Unsubscribe(a.NewCursor(func() {}), c)
			}
			asked.act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
			a.asked().end("done")
			<-results
			if got := a.store.messages[3].Blocks[0].Content[0].Text; !strings.Contains(got, tt.want) {
				t.Errorf("the result is %q, want %q", got, tt.want)
			}
		})
	}
}

// goneReader is an editor whose connection has ended, which the session has not been told.
type goneReader struct{ reader }

func (*goneReader) ReadTextFile(context.Context, clients.Read, uint64) (string, error) {
	return "", clients.ErrGone
}

// An editor that is found to be gone when it is asked is replaced in the same way.
func TestAnotherEditorServesWhenOneIsFoundGone(t *testing.T) {
	a := acting(t)
	first, second := &goneReader{reader{name: "the first", can: true}}, &reader{name: "the second", can: true}
	a.Join(second)
	results := make(chan outcomeOf, 1)
	a.Prompt(Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "go"}}, Client: first}, nil, func(r PromptResult, _ uint64, err error) {
		results <- outcomeOf{r, err}
	})
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
	a.asked().end("done")
	<-results
	if got := a.store.messages[3].Blocks[0].Content[0].Text; !strings.Contains(got, "shown by the second") {
		t.Errorf("the result is %q", got)
	}
}
