package llm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/llm/reply"
)

// actorRequest asks the actor for the first step of a prompt.
func actorRequest(prompt string) Request {
	return Request{Model: "offline/actor", Tools: []Tool{{Name: "read_file"}}, Entries: []Entry{user(prompt)}}
}

// answered is a request with the message of a finished step and a result for each of its calls.
func answered(req Request, res reply.Result) Request {
	next := message(history.RoleAssistant, res.Blocks...)
	next.Model = res.Model
	req.Entries = append(req.Entries[:len(req.Entries):len(req.Entries)], next)
	for _, b := range res.Blocks {
		if b.Type == history.BlockToolCall {
			req.Entries = append(req.Entries, message(history.RoleTool, result(b.CallID, "it was read")))
		}
	}
	return req
}

// act calls the actor, which succeeds.
func act(t *testing.T, c *Client, req Request) (reply.Result, *recorder) {
	t.Helper()
	var rec recorder
	res, err := c.Stream(t.Context(), req, rec.on)
	if err != nil {
		t.Fatal(err)
	}
	if fault := disagreement(res, nil, rec.events); fault != "" {
		t.Error(fault)
	}
	return res, &rec
}

// lines describes events, one line each.
func (r *recorder) lines() (out []string) {
	names := map[string]string{}
	for _, e := range r.events {
		switch e.Kind {
		case reply.EventText:
			out = append(out, fmt.Sprintf("text %q", e.Text))
		case reply.EventThinking:
			out = append(out, fmt.Sprintf("thinking %q", e.Text))
		case reply.EventToolCall:
			if names[e.Call.ID] == "" {
				names[e.Call.ID] = fmt.Sprint("call ", len(names)+1)
			}
			out = append(out, fmt.Sprintf("%s %s %q", names[e.Call.ID], e.Call.Name, e.Call.Args))
		case reply.EventUsage:
			out = append(out, fmt.Sprintf("usage %d %d", e.Usage.Input, e.Usage.Output))
		case reply.EventRetrying:
			out = append(out, fmt.Sprintf("attempt %d of %d failed with %d", e.Retry.Attempt, e.Retry.Of, e.Retry.Status))
		}
	}
	return out
}

func TestActorDoesItsStepsOneAfterTheOther(t *testing.T) {
	c := offlineClient(t, 0)
	req := actorRequest(strings.Join([]string{
		"think Two files, then the answer.",
		"say I read them.",
		`call read_file {"path": "a/rather/long/name.go"}`,
		`call read_file {"path": "b.go"}`,
		"usage 1200 40",
		"  --- ",
		"",
		"call update_plan",
		"---",
		"say Both are",
		"say   fine.\r",
		"",
	}, "\n"))

	first, rec := act(t, c, req)
	want := []string{
		`thinking "Two "`, `thinking "files, "`, `thinking "then "`, `thinking "the "`, `thinking "answer."`,
		`text "I "`, `text "read "`, `text "them."`,
		`call 1 read_file ""`, `call 1 read_file "{\"path\": \"a/rath"`, `call 1 read_file "er/long/name.go\""`, `call 1 read_file "}"`,
		`call 2 read_file ""`, `call 2 read_file "{\"path\": \"b.go\"}"`,
		`usage 1200 40`,
	}
	if diff := cmp.Diff(want, rec.lines()); diff != "" {
		t.Errorf("events of the first step: %s", diff)
	}
	blocks := []history.Block{
		wantThought("Two files, then the answer.", ""), text("I read them."),
		wantCall("step_1_call_1", "read_file", `{"path": "a/rather/long/name.go"}`), wantCall("step_1_call_2", "read_file", `{"path": "b.go"}`),
	}
	if diff := cmp.Diff(withoutIDs(blocks), withoutIDs(first.Blocks)); diff != "" {
		t.Errorf("blocks of the first step: %s", diff)
	}
	if first.StopReason != reply.StopToolUse || !first.UsageReported || first.Usage != (history.Usage{Input: 1200, Output: 40}) {
		t.Errorf("result %+v", first)
	}

	req = answered(req, first)
	second, _ := act(t, c, req)
	if diff := cmp.Diff(withoutIDs([]history.Block{wantCall("step_2_call_1", "update_plan", "{}")}), withoutIDs(second.Blocks)); diff != "" {
		t.Errorf("blocks of the second step: %s", diff)
	}
	if second.UsageReported || second.Usage.Input == 0 || second.Usage.Output == 0 {
		t.Errorf("usage %+v", second.Usage)
	}
	if unanswered, _ := act(t, c, Request{Model: req.Model, Tools: req.Tools, Entries: req.Entries[:2]}); len(unanswered.Blocks) != 4 {
		t.Errorf("a request without the results of the first step gets %+v", unanswered.Blocks)
	}

	third, _ := act(t, c, answered(req, second))
	if answerText(third) != "Both are\n  fine." || third.StopReason != reply.StopEndTurn {
		t.Errorf("third step %+v", third)
	}
	if again, _ := act(t, c, answered(req, second)); answerText(again) != answerText(third) {
		t.Errorf("the same request gets %q", answerText(again))
	}
	req = answered(req, second)
	req.Entries = append(req.Entries, assistant("Both are\n  fine."), user("say A new turn."))
	if next, _ := act(t, c, req); answerText(next) != "A new turn." {
		t.Errorf("the next prompt gets %q", answerText(next))
	}
}

func TestActorIsDoneAfterItsLastStep(t *testing.T) {
	c := offlineClient(t, 0)
	req := actorRequest("call read_file {}")
	res, _ := act(t, c, req)
	if done, _ := act(t, c, answered(req, res)); answerText(done) != "Done." || done.StopReason != reply.StopEndTurn {
		t.Errorf("after the last step: %+v", done)
	}
}

// Older steps of a long turn leave the request. The newest call says which step is next.
func TestActorGoesOnWhenOlderStepsAreEvicted(t *testing.T) {
	var prompt strings.Builder
	for i := range 100 {
		fmt.Fprintf(&prompt, "call read_file {\"n\": %d}\n---\n", i+1)
	}
	prompt.WriteString("say the end")
	c := offlineClient(t, 0)
	req := actorRequest(prompt.String())
	for i := range 100 {
		res, _ := act(t, c, req)
		if want := fmt.Sprintf(`{"n": %d}`, i+1); len(res.Blocks) != 1 || res.Blocks[0].Args != want {
			t.Fatalf("step %d: %+v", i+1, res.Blocks)
		}
		req = answered(req, res)
		if n := len(req.Entries); n > 5 { // the prompt and the newest two steps stay
			req.Entries = append(req.Entries[:1:1], req.Entries[n-4:]...)
		}
	}
	if res, _ := act(t, c, req); answerText(res) != "the end" {
		t.Errorf("after 100 steps: %+v", res)
	}
}

// Calls of another model count by message.
func TestActorContinuesATurnOfAnotherModel(t *testing.T) {
	foreign := func(id, origin string) history.Block {
		b := call(id)
		b.Origin = &history.Origin{ID: origin}
		return b
	}
	req := actorRequest("say one\n---\nsay two\n---\nsay three")
	req.Entries = append([]Entry{message(history.RoleAssistant, call("old")), message(history.RoleTool, result("old", "before the prompt"))}, req.Entries...)
	req.Entries = append(req.Entries,
		message(history.RoleAssistant, foreign("a", "call_0"), foreign("b", "step_9999999_call_1")),
		message(history.RoleTool, result("a", "1"), result("b", "2")),
		message(history.RoleAssistant, foreign("c", "")), message(history.RoleTool, result("c", "3")),
	)
	if res, _ := act(t, offlineClient(t, 0), req); answerText(res) != "three" {
		t.Errorf("%q after two steps of another model", answerText(res))
	}
}

func TestActorSaysWhichLineItDidNotUnderstand(t *testing.T) {
	res, _ := act(t, offlineClient(t, 0), actorRequest("say a\n---\njump\nwait 5h"))
	if !strings.HasPrefix(answerText(res), `Line 3 was not understood, "jump": no such command; the commands are say TEXT, `) || res.StopReason != reply.StopEndTurn || len(res.Blocks) != 1 {
		t.Errorf("reply %+v", res)
	}
}

// Links, files and notes are no part of the script; several texts are.
func TestActorReadsTheTextsOfThePromptOnly(t *testing.T) {
	req := actorRequest("")
	req.Entries = []Entry{note("jump"), message(history.RoleUser, text("say a"),
		history.Block{Type: history.BlockLink, URI: "file:///jump", Name: "jump"},
		history.Block{Type: history.BlockResource, URI: "file:///jump", Text: "jump"}, text("say b")), note("jump")}
	if res, _ := act(t, offlineClient(t, 0), req); answerText(res) != "a\nb" {
		t.Errorf("reply %q", answerText(res))
	}
}

// Arguments that are no JSON object make a call that must not run, as from any model.
func TestActorMakesIncompleteCalls(t *testing.T) {
	res, _ := act(t, offlineClient(t, 0), actorRequest("call read_file {\"path\": \ncall read_file\t{\"path\": \"世界世界世界世界\"} "))
	want := []history.Block{wantCut("step_1_call_1", "read_file", `{"path":`), wantCall("step_1_call_2", "read_file", `{"path": "世界世界世界世界"}`)}
	if diff := cmp.Diff(withoutIDs(want), withoutIDs(res.Blocks)); diff != "" {
		t.Error(diff)
	}
}

func TestActorFails(t *testing.T) {
	for _, tt := range []struct {
		prompt  string
		kind    ErrorKind // empty for success
		status  int
		partial bool
		events  []string
	}{
		{"fail 401", KindAuth, 401, false, nil},
		{"fail 402", KindQuota, 402, false, nil},
		{"fail 400\nsay a", KindInvalid, 400, false, nil},
		{"say a\nfail 503", KindOverloaded, 503, true, []string{`text "a"`}},
		{"call read_file {}\nfail 529", KindOverloaded, 529, true, []string{`call 1 read_file ""`, `call 1 read_file "{}"`}},
		{"usage 7 8\nfail 429", KindRate, 429, false, []string{
			"usage 7 8", "attempt 1 of 5 failed with 429", "usage 7 8", "attempt 2 of 5 failed with 429", "usage 7 8", "attempt 3 of 5 failed with 429",
			"usage 7 8", "attempt 4 of 5 failed with 429", "usage 7 8"}},
		{"fail 429 2\nsay a", "", 0, false, []string{"attempt 1 of 5 failed with 429", "attempt 2 of 5 failed with 429", `text "a"`}},
	} {
		c := offlineClient(t, 0)
		c.sleep = noSleep
		var rec recorder
		res, err := c.Stream(t.Context(), actorRequest(tt.prompt), rec.on)
		if diff := cmp.Diff(tt.events, rec.lines()); diff != "" {
			t.Errorf("%q: %s", tt.prompt, diff)
		}
		if fault := disagreement(res, err, rec.events); fault != "" {
			t.Errorf("%q: %s", tt.prompt, fault)
		}
		if tt.kind == "" {
			if err != nil {
				t.Errorf("%q: %v", tt.prompt, err)
			}
			continue
		}
		if e := failureOf(t, err); e.Kind != tt.kind || e.Status != tt.status || e.Partial != tt.partial || e.Provider != "offline" || res.StopReason != "" {
			t.Errorf("%q: %+v, result %+v", tt.prompt, e, res)
		}
	}
}

// After a failed step, the same prompt goes on with that step.
func TestActorGoesOnAfterAFailedStep(t *testing.T) {
	c := offlineClient(t, 0)
	req := actorRequest("call read_file {}\n---\nsay a\nfail 500")
	first, _ := act(t, c, req)
	for range 2 {
		res, err := c.Stream(t.Context(), answered(req, first), func(reply.Event) {})
		if err == nil || answerText(res) != "a" {
			t.Errorf("reply %+v, error %v", res, err)
		}
	}
}

func TestActorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		res, _ := act(t, offlineClient(t, time.Second), actorRequest("say a b\nwait 60s\nsay c"))
		// A delta waits for the provider's pause, and so does the end.
		if waited := time.Since(start); answerText(res) != "a b\nc" || waited != 64*time.Second {
			t.Errorf("%q after %s", answerText(res), waited)
		}
	})
}

func TestActorIsCancelledInAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		res, err := offlineClient(t, 0).Stream(ctx, actorRequest("say a\nwait 60s\nsay b"), func(reply.Event) {})
		if e := failureOf(t, err); e.Kind != KindCancelled || !e.Partial || !errors.Is(err, context.DeadlineExceeded) || answerText(res) != "a" || time.Since(start) != time.Second {
			t.Errorf("error %+v, reply %q after %s", e, answerText(res), time.Since(start))
		}
	})
}

func TestActorIsCancelledBetweenDeltas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	res, err := offlineClient(t, 0).Stream(ctx, actorRequest("say a b c\ncall read_file {}"), func(e reply.Event) {
		if e.Text == "b " {
			cancel()
		}
	})
	if e := failureOf(t, err); e.Kind != KindCancelled || answerText(res) != "a b " || len(res.Blocks) != 1 {
		t.Errorf("error %+v, blocks %+v", e, res.Blocks)
	}
}

// A long prompt gives a bounded number of deltas, and an answer within the bound of all answers.
func TestActorBounds(t *testing.T) {
	for _, verb := range []string{"say ", "think ", "call a "} {
		var rec recorder
		res, err := offlineClient(t, 0).Stream(t.Context(), actorRequest(verb+long("a ", reply.MaxAnswer/2)), rec.on)
		if err != nil || len(rec.events) > 11_000 || len(rec.events) < 5_000 {
			t.Errorf("%s: %d events, error %v", verb, len(rec.events), err)
		}
		if b := res.Blocks[0]; len(b.Text)+len(b.Args) < reply.MaxAnswer/2-2 {
			t.Errorf("%s: %d bytes", verb, len(b.Text)+len(b.Args))
		}
		_, err = offlineClient(t, 0).Stream(t.Context(), actorRequest(verb+long("a ", 2*reply.MaxAnswer)), func(reply.Event) {})
		if !errors.Is(err, reply.ErrTooLarge) {
			t.Errorf("%s: a prompt above the bound: %v", verb, err)
		}
	}
}

// Only a turn is acted: a summary or a topic is made from the digest, whatever the prompt is.
func TestActorWritesNoSummaries(t *testing.T) {
	for purpose, digest := range map[string]bool{history.PurposeSummary: true, history.PurposeDetection: true, history.PurposeTurn: false} {
		req := actorRequest("Summarize this.")
		req.Purpose = purpose
		if res, _ := act(t, offlineClient(t, 0), req); strings.HasPrefix(answerText(res), "This is the offline digest") != digest {
			t.Errorf("%s: %q", purpose, answerText(res))
		}
	}
}

func TestActorIsListed(t *testing.T) {
	var names []string
	for _, m := range offlineClient(t, 0).Models() {
		names = append(names, m.Name+": "+m.DisplayName)
	}
	if diff := cmp.Diff([]string{"offline/actor: Offline actor (no model)", "offline/digest: Offline digest (no model)"}, names); diff != "" {
		t.Error(diff)
	}
}

// The page about the actor has an example that does what the page says.
func TestActorAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/actor.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "````\n")
	example, _, _ = strings.Cut(example, "````")
	c := offlineClient(t, 0)
	c.sleep = noSleep
	req := actorRequest(example)
	first, _ := act(t, c, req)
	want := []history.Block{wantThought("The answer is in two files.", ""), text("I read them."),
		wantCall("step_1_call_1", "read_file", `{"path": "README.md"}`), wantCall("step_1_call_2", "read_file", `{"path": "go.mod"}`)}
	if diff := cmp.Diff(withoutIDs(want), withoutIDs(first.Blocks)); diff != "" {
		t.Error(diff)
	}
	if second, _ := act(t, c, answered(req, first)); answerText(second) != "Both files are here." || second.Usage != (history.Usage{Input: 1200, Output: 40}) {
		t.Errorf("second step %+v", second)
	}
}

// long repeats s up to n bytes.
func long(s string, n int) string { return strings.Repeat(s, n/len(s)) }
