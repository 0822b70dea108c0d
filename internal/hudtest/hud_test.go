package hudtest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

func TestMain(m *testing.M) { Main(m) }

// message is the used part of a message in _strata/history/list.
type message struct {
	ID     string
	Role   string
	Status string
	InView bool
	Blocks []struct{ Type, Text string }
}

// transcript returns the messages of a session after its turn has ended: the page may show a reply before it is stored.
func transcript(t *testing.T, e *testclient.Editor, sid string) []message {
	t.Helper()
	ticker, deadline := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer ticker.Stop()
	for ask[struct{ State string }](t, e, "_strata/session/info", sid, nil).State != "idle" {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("the turn does not end")
		}
	}
	var page struct{ Messages []message }
	if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &page); err != nil {
		t.Fatal(err)
	}
	return page.Messages
}

// texts returns the texts of messages.
func texts(messages []message) []string {
	var all []string
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Type == "text" {
				all = append(all, b.Text)
			}
		}
	}
	return all
}

// shows waits until the page shows exactly the texts of the transcript, one per paragraph.
func shows(t *testing.T, p *Page, e *testclient.Editor, sid string) {
	t.Helper()
	want := texts(transcript(t, e, sid))
	p.Wait(fmt.Sprintf(`JSON.stringify([...document.querySelectorAll(".transcript .prose")].map((e) => e.innerText.trim())) === %s`,
		quote(jsonOf(want))))
}

func jsonOf(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

func TestPageOpensWithoutACodeInItsAddress(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	p.WaitText("main", "Strata is running")
	if got, want := Eval[string](p, "location.href"), w.HTTP("/"); got != want {
		t.Errorf("the address is %s, want %s", got, want)
	}
	if held := Eval[string](p, "document.documentElement.outerHTML + document.cookie + JSON.stringify({...localStorage, ...sessionStorage})"); strings.Contains(held, w.Token) {
		t.Error("the page contains the token")
	}
}

func TestReplyIsShownWhileItStreams(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	gate := make(chan struct{})
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("The first half"), upstream.Hold(gate), upstream.Text(" and the second.")}})
	p.Prompt("Say something in two halves.")
	p.WaitText(".transcript", "The first half")
	p.WaitText(".line-state", "running")
	if shown := p.Text(".transcript"); strings.Contains(shown, "second") || !strings.Contains(shown, "Say something in two halves.") {
		t.Errorf("the page shows %q", shown)
	}
	close(gate)
	p.WaitText(".transcript", "The first half and the second.")
	p.Wait(`document.querySelector("button[aria-label='Send prompt']") && !document.querySelector(".line-state")`)
	shows(t, p, e, sid)
}

func TestStopSavesThePartialReply(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	gate := make(chan struct{})
	defer close(gate)
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Some of it"), upstream.Hold(gate)}})
	p := Open(t, w.Server)
	p.Session(sid)
	p.Prompt("Go on for ever.")
	p.WaitText(".transcript", "Some of it")
	p.Click("button[aria-label='Stop reply']")
	p.WaitText(".ending", "Stopped")
	all := transcript(t, e, sid)
	if last := all[len(all)-1]; last.Status != "cancelled" || last.Blocks[0].Text != "Some of it" {
		t.Errorf("stored is %+v", last)
	}
	shows(t, p, e, sid)
}

func TestAnotherWindowStopsATurnToo(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	gate := make(chan struct{})
	defer close(gate)
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Some of it"), upstream.Hold(gate)}})
	turn := e.Start(sid, "Go on for ever.")
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "Some of it")
	p.Click("button[aria-label='Stop reply']")
	if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
		t.Errorf("the turn ended with %q, error %v", reply.StopReason, err)
	}
	p.WaitText(".ending", "Stopped")
}

func TestReloadInMidTurnLosesNothing(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	if _, err := e.Prompt(sid, "Before"); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	gate := make(chan struct{})
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Half"), upstream.Hold(gate), upstream.Text(" and half")}})
	p.Prompt("During")
	p.WaitText(".transcript", "Half")
	p.Run(chromedp.Reload())
	p.WaitText(".transcript", "Half")
	close(gate)
	p.WaitText(".transcript", "Half and half")
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
	shows(t, p, e, sid)
}

func TestRestartOfTheServerInMidTurnLosesNothing(t *testing.T) {
	for name, end := range map[string]func(*World){"killed": func(w *World) { w.Kill() }, "stopped": func(w *World) { w.Stop() }} {
		t.Run(name, func(t *testing.T) {
			w := NewWorld(t)
			e := w.Editor(t)
			sid := e.NewSession(w.Home.Project)
			if _, err := e.Prompt(sid, "Before"); err != nil {
				t.Fatal(err)
			}
			p := Open(t, w.Server)
			p.Session(sid)
			gate := make(chan struct{})
			defer close(gate)
			w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Half of it"), upstream.Hold(gate)}})
			p.Prompt("During")
			p.WaitText(".transcript", "Half of it")
			end(w)
			p.WaitText(".banner", "Not connected")
			p.Wait(`document.querySelector(".meter.stale")`)
			w.Restart(binary.Options{})
			p.Wait(`!document.querySelector(".banner") && !document.querySelector(".meter.stale")`)
			p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
			p.Allow("ERR_CONNECTION")
			p.Allow("WebSocket connection to")
			shows(t, p, w.Editor(t), sid)
			w.Model.Push(upstream.Script{Steps: upstream.Texts("Here again.")})
			p.Prompt("After")
			p.WaitText(".transcript", "Here again.")
			p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
			shows(t, p, w.Editor(t), sid)
		})
	}
}

func TestListIsWhatTheServerSays(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	other := filepath.Join(filepath.Dir(w.Home.Project), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, folder := range []string{w.Home.Project, other, w.Home.Project} {
		sid := e.NewSession(folder)
		if err := e.Call("_strata/session/rename", map[string]any{"sessionId": sid, "title": fmt.Sprintf("Number %d", i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	p := Open(t, w.Server)
	p.Wait(`document.querySelectorAll(".line").length === 3`)
	matches := func() {
		t.Helper()
		var list struct {
			Sessions []struct{ SessionID, Title string }
		}
		if err := e.Call("session/list", map[string]any{}, &list); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, s := range list.Sessions {
			want = append(want, s.SessionID+" "+cmp.Or(s.Title, "Untitled session"))
		}
		slices.Sort(want)
		p.Wait(fmt.Sprintf(`JSON.stringify([...document.querySelectorAll(".line a")].map((a) => a.dataset.session + " " + a.querySelector(".line-title").innerText).sort()) === %s`,
			quote(jsonOf(want))))
	}
	matches()
	if folders := p.Texts(".folder-name"); !slices.Equal(folders, []string{"project", "other"}) {
		t.Errorf("the folders are %q", folders)
	}
	sid := e.NewSession(other) // while the page is open
	matches()
	if err := e.Call("_strata/session/rename", map[string]any{"sessionId": sid, "title": "Renamed"}, nil); err != nil {
		t.Fatal(err)
	}
	matches()
	if err := e.Call("session/delete", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	matches()
	p.Click(".folder")
	p.Wait(`document.querySelectorAll(".line").length === 2 - (document.querySelector(".folder-name").innerText === "other" ? 0 : 1)`)
}

func TestKeyboardAloneRunsAPrompt(t *testing.T) {
	w := NewWorld(t)
	if err := os.WriteFile(filepath.Join(w.Home.Project, "notes.txt"), []byte("remember"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Wait(`!document.querySelector("button[aria-label^='Create session']").disabled`)
	p.Type("?")
	p.WaitText("dialog", "Keyboard shortcuts")
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog")`)
	p.Type("n")
	p.Wait(`document.activeElement?.id === "new-folder"`)
	p.Type(w.Home.Project + kb.Enter)
	p.Wait(`document.querySelector("#prompt")`)
	p.Wait(`document.querySelector("#prompt") === document.activeElement || (document.activeElement === document.body)`)
	p.Type("c")
	p.Wait(`document.querySelector("#prompt") === document.activeElement`)
	p.Type("What is in it? ")
	p.Type("@")
	p.Type("nts")
	p.WaitText(".picker-list", "notes.txt")
	p.Type(kb.Enter)
	p.WaitText(".composer .chip", "notes.txt")
	p.Type("Tell me.")
	p.Type(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	p.WaitText(".transcript", "Answer 1")
	p.WaitText(".transcript .chip", "notes.txt")
	if sent := w.Model.Last().LastText(); !strings.Contains(sent, "Tell me.") {
		t.Errorf("the model was sent %q", sent)
	}
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`) // during the reply, Escape offers to stop it
	p.Type(kb.Escape)
	p.Wait(`document.activeElement !== document.querySelector("#prompt")`)
	p.Type("k")
	p.Wait(`document.activeElement?.dataset.message`)
	p.Type("s")
	p.WaitText("main h1", "Server")
}

func TestTwoWindowsAgree(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	one, other := Open(t, w.Server), Open(t, w.Server)
	one.Session(sid)
	other.Session(sid)
	gate := make(chan struct{})
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Thinking("Let me see.", "sig"), upstream.Text("Seen by"), upstream.Hold(gate), upstream.Text(" both.")}})
	one.Prompt("Who sees this?")
	for _, p := range []*Page{one, other} {
		p.WaitText(".transcript", "Who sees this?")
		p.WaitText(".transcript", "Seen by")
	}
	close(gate)
	var budget struct{ Used int }
	for _, p := range []*Page{one, other} {
		p.WaitText(".transcript", "Seen by both.")
		p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
		shows(t, p, e, sid)
		if err := e.Call("_strata/context/budget", map[string]any{"sessionId": sid}, &budget); err != nil {
			t.Fatal(err)
		}
		p.Wait(fmt.Sprintf(`document.querySelector(".meter").dataset.used === "%d"`, budget.Used))
	}
}

// noRetries makes the page's waits for the next attempt to connect endless.
const noRetries = `(() => {
	const { setTimeout } = window;
	window.setTimeout = (run, ms, ...more) => setTimeout(run, ms >= 400 && ms < 60_000 ? 2 ** 30 : ms, ...more);
	return true;
})()`

func TestLostConnectionIsShownAndTriedAtOnce(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.WaitText(".line-title", "Untitled session")
	Eval[string](p, "location.hash = '#/server'")
	p.WaitText("[data-count=connections]", "2")
	Eval[bool](p, noRetries)
	w.Kill()
	p.WaitText(".banner", "This page may be out of date")
	p.WaitText("main .mark", "Not up to date")
	p.WaitText(".sidebar", "Not up to date")
	p.Wait(`document.querySelector(".countdown")`)
	w.Restart(binary.Options{})
	p.Click(".banner .button")
	p.Wait(`!document.querySelector(".banner") && !document.querySelector("main .mark:not(td .mark, .provider .mark)") && !document.querySelector(".session-list.stale")`)
	p.WaitText("[data-count=connections]", "1")
	p.Allow("ERR_CONNECTION")
	p.Allow("WebSocket connection to")
}

func TestAddressOfNoSessionSaysSo(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[string](p, "location.hash = '#/session/sess_NONE'")
	p.WaitText(".conversation", "Session not found")
}

func TestCookieOfAnotherTokenIsTurnedAway(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	p.WaitText("main", "Strata is running")
	w.Stop()
	if out, err := w.Home.Command(t.Context(), "token", "rotate").CombinedOutput(); err != nil {
		t.Fatalf("strata token rotate: %v\n%s", err, out)
	}
	w.Restart(binary.Options{})
	p.Wait(`/this page is not authorized/i.test(document.body.innerText)`) // as a page, or first as a closed connection
	Eval[bool](p, "location.reload() ?? true")
	p.WaitText("body", "Authorization required")
	p.Allow("ERR_CONNECTION")
	p.Allow("WebSocket connection to")
	p.Allow("status of 401")
}
