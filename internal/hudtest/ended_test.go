package hudtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
	"strata/internal/upstream"
)

// ended is how the turn of a prompt ended, as _strata/history/list returns it.
type ended struct {
	Status string
	Error  struct {
		Message string
		Data    struct {
			Provider, Kind string
			Attempts       int
		}
	}
}

// endings returns how the turns of a session's prompts ended, by the texts of the prompts.
func endings(t *testing.T, e *testclient.Editor, sid string) map[string]ended {
	t.Helper()
	transcript(t, e, sid) // ends the turn
	page := ask[struct {
		Messages []struct {
			Blocks []struct{ Text string }
			Ended  *ended
		}
	}](t, e, "_strata/history/list", sid, nil)
	all := make(map[string]ended)
	for _, m := range page.Messages {
		if m.Ended != nil {
			all[m.Blocks[0].Text] = *m.Ended
		}
	}
	return all
}

// inView returns the texts of the messages in the view.
func inView(t *testing.T, e *testclient.Editor, sid string) []string {
	t.Helper()
	return texts(slices.DeleteFunc(transcript(t, e, sid), func(m message) bool { return !m.InView }))
}

// refused is the response to a request without a valid key.
var refused = upstream.Script{Status: http.StatusUnauthorized, Body: `{"error":{"message":"Incorrect API key provided"}}`}

// overloaded is one of the attempts that are repeated immediately.
var overloaded = upstream.Script{
	Status: http.StatusServiceUnavailable, Header: map[string]string{"Retry-After-Ms": "1"}, Body: `{"error":{"message":"Try later"}}`,
}

// sentTexts returns how often the newest request contains texts.
func (w *World) sentTexts(texts ...string) []int {
	var many []int
	for _, text := range texts {
		many = append(many, strings.Count(string(w.Model.Last().Body), text))
	}
	return many
}

// A failed prompt says why after a reload too. Without a valid key, the way leads to the provider's key; then the prompt is
// sent again with what was attached, once.
func TestH13AFailedPromptSaysWhyAndIsSentAgain(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	w.Model.Push(refused)
	err := e.Call("session/prompt", map[string]any{"sessionId": sid, "prompt": []any{
		map[string]any{"type": "text", "text": "Explain the lines."},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "zed:selection", "text": "these lines"}},
	}}, nil)
	if err == nil {
		t.Fatal("the turn did not fail")
	}
	end := endings(t, e, sid)["Explain the lines."]
	if end.Status != "failed" || end.Error.Data.Kind != "auth" || end.Error.Data.Provider != "local" {
		t.Fatalf("the turn ended as %+v", end)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	for range 2 {
		p.WaitText(".transcript .failure", end.Error.Message)
		p.WaitText(".failure", "Your next prompt is sent without this one.")
		p.Run(chromedp.Reload())
	}
	p.WaitText(".failure a", "Set key of local")
	p.Click(".failure a")
	p.Wait(`document.activeElement?.getAttribute("aria-label") === "API key of local"`)
	p.Type("a-new-key" + kb.Enter)
	p.WaitText(".toast", "Key of local set")
	p.Session(sid)
	p.WaitText(".failure .button", "Send again")
	p.Click(".failure button")
	p.WaitText(".transcript", "to: Explain the lines.")
	p.Wait(`!document.querySelector(".ended")`)
	if key := w.Model.Last().Header.Get("Authorization"); key != "Bearer a-new-key" {
		t.Errorf("the key is %q", key)
	}
	if sent := w.sentTexts("Explain the lines.", "these lines"); !slices.Equal(sent, []int{1, 1}) {
		t.Errorf("the prompt and its attachment were sent %v times", sent)
	}
	if all := transcript(t, e, sid); len(all) != 2 {
		t.Errorf("the transcript has %q", texts(all))
	}
	if left := endings(t, e, sid); len(left) > 0 {
		t.Errorf("the answered prompt ended as %v", left)
	}
}

// The next request contains no failed prompt. One can be removed from the view, and that can be undone. Each says why it
// failed, and after how many attempts.
func TestH13FailedPromptsDoNotGoAlong(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	w.Model.Push(upstream.Script{Status: http.StatusBadRequest, Body: `{"error":{"message":"not like this"}}`})
	p.Prompt("The first")
	p.WaitText(".failure", "not like this")
	w.Model.Push(slices.Repeat([]upstream.Script{overloaded}, 5)...)
	p.Prompt("The second")
	p.WaitText(".failure", "After 5 attempts")
	if attempts := endings(t, e, sid)["The second"].Error.Data.Attempts; attempts != 5 {
		t.Errorf("%d attempts failed", attempts)
	}
	if sent := w.sentTexts("The first", "The second"); !slices.Equal(sent, []int{0, 1}) {
		t.Errorf("the prompts were sent %v times", sent)
	}
	p.WaitText(".ended:not(.failure)", "not like this")
	p.WaitText(".is-folded .folded-text", "The first")

	remove := `[...document.querySelectorAll(".failure button")].find((e) => e.innerText === "Remove")`
	p.Wait(remove)
	Eval[int](p, "("+remove+".click(), 1)")
	p.WaitText(".toast", "Prompt removed from the view.")
	p.Wait(`!document.querySelector(".failure")`)
	if left := inView(t, e, sid); len(left) > 0 {
		t.Errorf("in view are %q", left)
	}
	p.Click(".toast .button")
	p.WaitText(".failure", "After 5 attempts")
	if left := inView(t, e, sid); !slices.Equal(left, []string{"The second"}) {
		t.Errorf("in view are %q", left)
	}
	p.Prompt("The third")
	p.WaitText(".transcript", "to: The third")
	p.Click(".ended button") // the first, which is not in the view: a new prompt
	p.WaitText(".transcript", "to: The first")
	if sent := w.sentTexts("The first", "The second", "The third"); !slices.Equal(sent, []int{1, 0, 2}) {
		t.Errorf("the prompts were sent %v times", sent) // the third, and the stand-in's reply to it
	}
}

// A prompt that the user stopped before a reply goes along with the next one, and says so.
func TestH13AStoppedPromptSaysThatItGoesAlong(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Hold(nil)}})
	p.Prompt("Stop here")
	p.Click("button[aria-label='Stop reply']")
	p.WaitText(".failure.mild", "Stopped before a reply. Your next prompt is sent with this one.")
	p.Prompt("Go on")
	p.WaitText(".transcript", "to: Go on")
	if sent := w.sentTexts("Stop here", "Go on"); !slices.Equal(sent, []int{1, 1}) {
		t.Errorf("the prompts were sent %v times", sent)
	}
	p.WaitText(".ended:not(.failure)", "Stopped before a reply.")
	if buttons := Eval[int](p, `document.querySelectorAll(".ended button").length`); buttons != 0 {
		t.Errorf("the stopped prompt has %d buttons", buttons)
	}
	if end := fmt.Sprint(endings(t, e, sid)["Stop here"].Status); end != "cancelled" {
		t.Errorf("the turn ended as %s", end)
	}
}
