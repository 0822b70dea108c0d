package hudtest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/upstream"
)

const (
	noDialog = `!document.querySelector("dialog")`
	canSend  = `document.querySelector("button[aria-label='Send prompt']")`
)

// composing sends the prompt a key of an input method, in the two ways of browsers.
const composing = `[{ isComposing: true }, { keyCode: 229 }].map((how) => {
	const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...how });
	document.querySelector("#prompt").dispatchEvent(event);
	return event.defaultPrevented;
}).join()`

// Enter sends, and Shift+Enter starts a new line. The browser remembers the other way. A damaged or full storage breaks
// nothing.
func TestH02EnterSends(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click("#prompt")
	p.Type("One")
	p.Type(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift))
	p.Type("two")
	if got := Eval[string](p, composing); got != "false,false" {
		t.Errorf("keys of an input method were taken: %s", got)
	}
	p.Equals(`document.querySelector("#prompt").value`, "One\ntwo")
	p.Type(kb.Enter)
	p.WaitText(".transcript", "Answer 1")
	p.Wait(canSend)
	if sent := w.Model.Last().LastText(); !strings.Contains(sent, "One\ntwo") {
		t.Errorf("the model was sent %q", sent)
	}

	set := func() {
		p.Click("button[aria-label^='Keyboard shortcuts']")
		p.Click("#enter-sends")
	}
	set()
	p.WaitText(".shortcuts", "Ctrl\nEnter\nSend the prompt")
	p.Type(kb.Escape)
	p.Wait(noDialog)
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector("#prompt") && ` + canSend)
	p.Click("#prompt")
	p.Type("Three" + kb.Enter + "four")
	p.Equals(`document.querySelector("#prompt").value`, "Three\nfour")
	p.Type(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	p.WaitText(".transcript", "Answer 2")
	p.Wait(canSend)

	Eval[int](p, `(localStorage.setItem("strata.enter-sends", '{"not":"a setting"'), 1)`)
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector("#prompt") && ` + canSend)
	Eval[int](p, `(Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError") }, 1)`)
	set() // holds in this tab
	p.WaitText(".shortcuts", "Ctrl\nEnter\nSend the prompt")
	p.Click("#enter-sends")
	p.WaitText(".shortcuts", "Shift\nEnter\nStart a new line in the prompt")
	p.Type(kb.Escape)
	p.Wait(noDialog)
	p.Click("#prompt")
	p.Type("Five" + kb.Enter)
	p.WaitText(".transcript", "Answer 3")
}

// heldOffer makes the offer to stop the reply end when the test says so, or with the turn.
const heldOffer = `{
	const { setTimeout } = window;
	window.offers = [];
	window.setTimeout = (run, ms, ...more) => (ms === 2000 ? window.offers.push(run) : setTimeout(run, ms, ...more));
}`

// The offer to stop a reply by a second Escape ends after two seconds, and with the turn. Then one Escape stops nothing.
func TestH23TheOfferToStopEnds(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	const offer = "Press Escape again to stop the reply"
	offered := fmt.Sprintf(`document.querySelector(".composer-hint").innerText === %q`, offer)
	answer := func(prompt, text string) (end chan struct{}) {
		end = make(chan struct{})
		w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text(text), upstream.Hold(end)}})
		p.Click("#prompt")
		p.Type(prompt + kb.Enter)
		p.WaitText(".transcript", text)
		return end
	}
	p.beforeLoad(heldOffer)
	p.Run(chromedp.Reload())
	p.Session(sid)
	end := answer("First", "Long ago")
	p.Type(kb.Escape)
	p.Wait(offered + " && window.offers.length === 1")
	Eval[int](p, "(window.offers.forEach((end) => end()), 1)")
	p.Wait("!(" + offered + ")")
	p.Type(kb.Escape)
	p.Wait(offered)
	if !Eval[bool](p, `document.querySelector("button[aria-label='Stop reply']") !== null`) {
		t.Error("the reply ended")
	}
	close(end)
	p.Wait(canSend)

	end = answer("Second", "and far away")
	p.Type(kb.Escape)
	p.Wait(offered)
	close(end)
	p.Wait(canSend)
	end = answer("Third", "lived a fish")
	if Eval[bool](p, offered) {
		t.Error("the next turn shows the offer")
	}
	p.Type(kb.Escape)
	p.Wait(offered)
	close(end)
	p.Wait(canSend)
	for _, m := range transcript(t, e, sid) {
		if m.Status != "complete" {
			t.Errorf("a message is %s", m.Status)
		}
	}
	end = answer("Fourth", "and was stopped")
	defer close(end)
	p.Type(kb.Escape + kb.Escape)
	p.WaitText(".ending", "Stopped")
}

const (
	promptText = `document.querySelector("#prompt").value`
	noList     = `!document.querySelector("#completion-list")`
)

// A list above the prompt follows the text, which stays in the prompt with the focus. Tab or Enter takes the marked choice,
// also one that is not found yet.
func TestH01APathIsCompletedInPlace(t *testing.T) {
	w := NewWorld(t)
	for _, name := range []string{"turn.go", "pkg/return.go", "notes.txt"} {
		path := filepath.Join(w.Home.Project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sid := w.Editor(t).NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click("#prompt")
	p.Type("What does @turn.go do?")
	p.Wait(promptText + ` === "What does @turn.go do?" && document.activeElement.id === "prompt" && ` + noList)
	if p.Text(".composer .chips") != "" {
		t.Error("a file is attached that nobody took")
	}
	p.Type(" And @turn")
	p.Wait(`document.querySelectorAll("#completion-list [role=option]").length === 2 && document.querySelector("#prompt").getAttribute("aria-activedescendant") === "completion-0"`)
	p.Type(kb.ArrowDown)
	marked := p.Text(`#completion-list [aria-selected="true"]`)
	p.Type(kb.Escape)
	p.Wait(noList + ` && document.activeElement.id === "prompt" && ` + promptText + `.endsWith(" And @turn")`)
	p.Type(kb.Backspace)
	p.Wait(`document.querySelectorAll("#completion-list [role=option]").length === 2`)
	p.Type("n" + kb.ArrowDown + kb.Tab)
	p.Wait(noList + " && " + promptText + " === " + quote("What does @turn.go do? And @"+marked+" "))
	p.WaitText(".composer .chip", marked)
	p.Type("me@turn ")
	p.Wait(noList)
	p.Type("@nts" + kb.Enter) // before the file is found
	p.Wait(promptText + ` === ` + quote("What does @turn.go do? And @"+marked+" me@turn @notes.txt "))
	p.Equals(`[...document.querySelectorAll(".composer .chip")].map((c) => c.innerText.trim())`, []string{marked, "notes.txt"})
	p.Click("button[aria-label='Attach file (@)']")
	p.Wait(`document.querySelectorAll("#completion-list [role=option]").length === 3 && document.activeElement.id === "prompt"`)
	p.Type("nosuchfile")
	p.WaitText(".composer .picker", "No matching files")
	p.Type(kb.Enter) // sends
	p.WaitText(".transcript", "Answer 1")
	if sent := w.Model.Last().LastText(); !strings.Contains(sent, "me@turn @notes.txt @nosuchfile") {
		t.Errorf("the model was sent %q", sent)
	}
	p.Wait(canSend)

	p.Type("/hel")
	p.WaitText("#completion-list", "/help")
	p.Type(kb.Tab)
	p.Wait(promptText + ` === "/help" && ` + noList)
	p.Type(kb.Backspace + "p")
	p.WaitText("#completion-list", "/help")
	p.Type(kb.Enter) // a whole command is sent
	p.WaitText(".command-output", "/undo")
	p.Equals(promptText, "")
}

// handing gives the page a picture and a text as a person does: "paste" into the prompt, or "drop" on the page.
const handing = `((how) => {
	const data = new DataTransfer();
	const picture = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0));
	data.items.add(how === "paste" ? new File([picture], "shot.png", { type: "image/png" }) : new File(["The words of a file"], "words.txt"));
	if (how === "drop") data.items.add(new File([new Uint8Array([0, 255, 254])], "binary.dat"));
	const event = how === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
		: new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
	document.querySelector(how === "paste" ? "#prompt" : ".transcript").dispatchEvent(event);
	return event.defaultPrevented;
})`

// A draft belongs to its session and lasts over reloads, switches, and edits of earlier prompts. It takes pictures and files.
func TestH16ADraftIsKept(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	if _, err := e.Prompt(sid, "The first prompt"); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "The first prompt")
	p.Click("#prompt")
	p.Type("A draft")
	for _, how := range []string{"paste", "drop"} {
		if !Eval[bool](p, handing+"("+quote(how)+")") {
			t.Errorf("%s: the browser handles it", how)
		}
	}
	chips := `[...document.querySelectorAll(".composer .chip")].map((c) => c.innerText.trim()).sort().join()`
	isKept := func(when string) {
		t.Helper()
		p.Wait(promptText + ` === "A draft" && ` + chips + ` === "shot.png,words.txt" && document.querySelector(".composer .thumb").naturalWidth === 1`)
	}
	isKept("after paste and drop")
	p.WaitText(".toast.bad", "Cannot attach binary.dat: not a text and not a")

	p.Click("button[aria-label='Edit prompt']")
	p.Wait(promptText + ` === "The first prompt" && ` + chips + ` === ""`)
	p.Type(" again" + kb.Escape)
	isKept("after an edit")
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector("#prompt")`)
	isKept("after a reload")
	p.Session(other)
	p.Wait(promptText + ` === ""`)
	p.Session(sid)
	isKept("after a switch")
	p.Click("button[aria-label='Edit prompt']") // belongs to the session
	p.Wait(promptText + ` === "The first prompt"`)
	p.Session(other)
	p.Wait(promptText + ` === "" && !document.querySelector(".composer-note")`)
	p.Session(sid)
	isKept("after a switch during an edit")

	p.Click("button[aria-label='Send prompt']")
	p.WaitText(".transcript", "Answer 2")
	p.Wait(canSend + ` && ` + promptText + ` === "" && ` + chips + ` === ""`)
	var types []string
	for _, m := range transcript(t, e, sid) {
		for _, b := range m.Blocks {
			if m.Role == "user" {
				types = append(types, b.Type)
			}
		}
	}
	slices.Sort(types)
	if want := []string{"image", "resource", "text", "text"}; !slices.Equal(types, want) {
		t.Errorf("stored are %q, want %q", types, want)
	}
	if sent := fmt.Sprint(w.Model.Last().Messages); !strings.Contains(sent, "The words of a file") {
		t.Errorf("the model was sent %s", sent)
	}
	p.Run(chromedp.Reload())
	p.Wait(canSend + ` && ` + promptText + ` === ""`)
}

// The drafts in the browser's storage are bounded, and no state of the storage loses what is typed in an open page.
func TestH16DraftsAreBounded(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	Eval[int](p, `(() => {
		for (let i = 0; i < 60; i++) localStorage.setItem("strata.draft." + i, JSON.stringify({ at: 1000 + i, text: "old " + i, files: [] }));
		const hostile = ["", "null", "{", "[]", '{"text":7}', '{"text":"x","files":[null,7,{"name":"n","block":{"type":"image"}}]}', "x".repeat(2 << 20)];
		hostile.forEach((value, i) => localStorage.setItem("strata.draft.hostile" + i, value));
		return 1;
	})()`)
	kept := `Object.keys(localStorage).filter((k) => k.startsWith("strata.draft."))`
	for hostile, text := range map[string]string{`{"text":"x","files":[null,7,{"name":"n","block":{"type":"image"}}]}`: "x", `{"text":{},"files":"f"}`: "", `[[`: ""} {
		id := e.NewSession(w.Home.Project)
		Eval[int](p, fmt.Sprintf(`(localStorage.setItem("strata.draft." + %q, %s), 1)`, id, quote(hostile)))
		p.Session(id)
		p.Wait(promptText + " === " + quote(text))
		p.Session(other)
	}
	p.Session(sid)
	p.Click("#prompt")
	p.Type("new")
	p.Wait(kept + `.length === 50 && localStorage.getItem("strata.draft.59") && !localStorage.getItem("strata.draft.0")`)
	p.Wait(fmt.Sprintf(`JSON.parse(localStorage.getItem("strata.draft." + %q)).text === "new"`, sid))

	Eval[int](p, `(Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError") }, 1)`)
	p.Type("er")
	p.Wait(kept + `.length < 50`) // some of the others gave way, in vain
	p.Session(other)
	p.Wait(promptText + ` === ""`)
	p.Session(sid)
	p.Wait(promptText + ` === "newer"`)
	if n := Eval[int](p, kept+".length"); n < 40 {
		t.Errorf("only %d drafts are left", n)
	}
}

// Prompts that are sent during a reply wait for its end, also over a reload and while the page shows another session. They
// can be edited and removed. After a reply that was stopped, the user resumes the queue.
func TestH21PromptsAreQueued(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	hold := func(prompt string) (end chan struct{}) {
		end = make(chan struct{})
		w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Held: " + prompt), upstream.Hold(end)}})
		p.Click("#prompt")
		p.Type(prompt + kb.Enter)
		p.WaitText(".transcript", "Held: "+prompt)
		return end
	}
	queue := func(prompt string) {
		p.Click("#prompt")
		p.Type(prompt)
		p.Type(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))
		p.WaitText(".queued", prompt)
	}
	queued := `[...document.querySelectorAll(".queued-text")].map((e) => e.innerText)`
	p.Session(sid)
	end := hold("First")
	queue("Second")
	p.WaitText(".queued", "1 prompt queued until the reply is complete")
	for _, prompt := range []string{"Third", "Fourth"} {
		queue(prompt)
	}
	p.Equals(queued, []string{"Second", "Third", "Fourth"})
	p.WaitText(".queued", "3 prompts queued")
	p.Click(".queued li:nth-child(2) button[aria-label='Edit queued prompt']")
	p.Wait(promptText + ` === "Third" && document.activeElement.id === "prompt"`)
	p.Type(", edited")
	p.Click("button[aria-label='Queue prompt']")
	p.Wait(promptText + ` === ""`)
	p.Click(".queued li:nth-child(2) button[aria-label='Remove queued prompt']")
	p.Equals(queued, []string{"Second", "Third, edited"})
	p.Run(chromedp.Reload())
	p.WaitText(".queued", "2 prompts queued")
	close(end)
	p.WaitText(".transcript", "to: Third, edited.")
	p.Wait(canSend + ` && !document.querySelector(".queued")`)
	var asked []string
	for _, m := range transcript(t, e, sid) {
		if m.Role == "user" {
			asked = append(asked, m.Blocks[0].Text)
		}
	}
	if want := []string{"First", "Second", "Third, edited"}; !slices.Equal(asked, want) {
		t.Errorf("the prompts are %q, want %q", asked, want)
	}

	end = hold("Fifth")
	queue("Sixth")
	p.Click("button[aria-label='Stop reply']")
	p.WaitText(".queued", "The reply was stopped. 1 prompt not sent")
	close(end)
	p.Wait(canSend)
	p.Click(".queued .link")
	p.WaitText(".transcript", "to: Sixth.")
	p.Wait(canSend + ` && !document.querySelector(".queued")`)

	end = hold("Seventh")
	queue("Eighth")
	p.Session(other)
	p.WaitText(".transcript", "No messages yet")
	close(end)
	ticker, deadline := time.NewTicker(50*time.Millisecond), time.After(patience)
	defer ticker.Stop()
	for !slices.Contains(texts(transcript(t, e, sid)), "Eighth") {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("the prompt is not sent while the page shows another session")
		}
	}

	// A queue from another day waits for the user.
	Eval[int](p, fmt.Sprintf(`(localStorage.setItem("strata.queue." + %q, %q), 1)`, other, `[{"id":"a","text":"Of yesterday","files":[]},7,{"text":3,"id":"b"},null]`))
	p.Run(chromedp.Reload())
	p.WaitText(".queued", "The page did not see the end of the last reply. 1 prompt not sent")
	p.Click(".queued button[aria-label='Remove queued prompt']")
	p.Wait(fmt.Sprintf(`!document.querySelector(".queued") && localStorage.getItem("strata.queue." + %q) === null`, other))
}

// One's own prompt comes into view: from far back, from a message of a search, and after prompts that failed.
func TestH10OnesOwnPromptComesIntoView(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 600)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "word0599")
	inSight := func(text string) {
		t.Helper()
		p.Wait(fmt.Sprintf(`(() => {
			const row = [...document.querySelectorAll(".transcript .prose")].findLast((e) => e.innerText.includes(%s));
			const own = row?.getBoundingClientRect(), all = document.querySelector(".transcript").getBoundingClientRect();
			return row && own.top > all.top - 1 && own.bottom < all.bottom + 1;
		})()`, quote(text)))
	}
	scrollUp := func() {
		t.Helper()
		p.Wait(`(() => { document.querySelector(".transcript").scrollTop -= 900; return document.querySelector(".to-end") })()`)
	}
	for i := range 4 {
		w.Model.Push(upstream.Script{Status: http.StatusBadRequest, Body: `{"error":{"type":"invalid_request_error","message":"not like this"}}`})
		scrollUp()
		prompt := fmt.Sprintf("Failing %d", i)
		p.Prompt(prompt)
		p.WaitText(".failure", "not like this")
		p.Wait(canSend)
		inSight(prompt)
	}
	scrollUp()
	p.Prompt("Answer this")
	p.WaitText(".transcript", "to: Answer this.")
	p.Wait(canSend)
	inSight("Answer this")
	inSight("to: Answer this.")

	Eval[string](p, "location.hash += '?at=100'")
	p.WaitText(".row.marked", "word0099")
	p.Prompt("And this")
	p.WaitText(".transcript", "to: And this.")
	p.Wait(canSend)
	inSight("And this")
	inSight("to: And this.")
	if hash := Eval[string](p, "location.hash"); strings.Contains(hash, "at=") {
		t.Errorf("the address is %s", hash)
	}
}
