package hudtest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
)

// failsInSecondStep makes the model call a tool and then fail; begin is the part of a reply that it sends before.
func (w *World) failsInSecondStep(begin ...upstream.Step) {
	second := upstream.Script{Status: http.StatusBadRequest}
	if len(begin) > 0 {
		second = upstream.Script{Steps: append(begin, upstream.Fail("invalid_request_error", "not like this"))}
	}
	w.Model.Push(upstream.Script{Steps: upstream.Call("call_1", "list_files", `{}`)}, second)
}

// wantContinued checks that the second step was repeated after the first one, and nothing else.
func (w *World) wantContinued(t *testing.T, e *testclient.Editor, sid string, removed ...string) {
	t.Helper()
	var inView, others []string
	for _, m := range transcript(t, e, sid) {
		if m.InView {
			inView = append(inView, m.Role)
		} else {
			others = append(others, m.Role)
		}
	}
	if !slices.Equal(inView, []string{"user", "assistant", "tool", "assistant"}) || !slices.Equal(others, removed) {
		t.Errorf("in view are %q, not in view %q", inView, others)
	}
	var sent []string
	for _, m := range w.Model.Last().Messages {
		sent = append(sent, m.Role)
	}
	if !slices.Equal(sent, []string{"system", "user", "assistant", "tool"}) {
		t.Errorf("the model was sent messages of %q", sent)
	}
	var edits struct{ Edits []struct{ Kind string } }
	if err := e.Call("_strata/history/edits", map[string]any{"sessionId": sid}, &edits); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(edits.Edits, func(e struct{ Kind string }) bool { return e.Kind == "restore" }) {
		t.Errorf("the view was restored: %v", edits.Edits)
	}
}

func TestARetryKeepsFinishedSteps(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	w.failsInSecondStep()
	p.Prompt("List them.")
	p.WaitText(".failure", "Continue reply")
	p.Click(".failure .button")
	p.WaitText(".transcript", "to: List them.")
	p.Wait(`!document.querySelector(".failure")`)
	p.WaitCalls("List files: done")
	w.wantContinued(t, e, sid)
}

// TestAnIncompleteReplyGoesOnAfterReload: the page sends the prompt of another client unchanged, with the data that the client
// attached.
func TestAnIncompleteReplyGoesOnAfterReload(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	w.failsInSecondStep(upstream.Text("There are"))
	err := e.Call("session/prompt", map[string]any{
		"sessionId": sid, "_meta": map[string]any{"strata": map[string]any{"meta": map[string]any{"z": 1, "a": []any{"b"}}}},
		"prompt": []any{
			map[string]any{"type": "text", "text": "List them."},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "zed:selection", "mimeType": "text/plain", "text": "these"}},
			map[string]any{"type": "resource_link", "uri": "https://example.com/list", "name": "a list"},
		},
	}, nil)
	if err == nil {
		t.Fatal("the turn did not fail")
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".failure", "Its finished steps stay in the view.")
	p.WaitText(".transcript", "There are")
	p.WaitText(".failure .button", "Continue reply")
	p.Click(".failure .button")
	p.WaitText(".transcript", "to: List them.")
	p.Wait(`!document.querySelector(".failure")`)
	p.WaitText(".is-folded .visibility", "Broken off")
	w.wantContinued(t, e, sid, "assistant")
	if calls := strings.Join(p.Texts(".call-title"), ", "); calls != "List files" {
		t.Errorf("the calls are %s", calls)
	}
}
