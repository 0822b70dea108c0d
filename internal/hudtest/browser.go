// Package hudtest looks at the HUD with a real Chromium: at a real server, whose model is a scripted upstream, the way a
// person would, by what stands on the page and by the keyboard.
//
// It needs Chromium, which `make test` installs. It must only be used by tests.
package hudtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/binary"
)

// patience is how long a page may take to show what a test waits for before it counts as hung. It measures nothing.
const patience = time.Minute

// Main runs the tests of m with one Chromium and one build of strata for all of them.
func Main(m *testing.M) { binary.Main(withBrowserEnd{m}) }

// withBrowserEnd ends the browser when the tests have run.
type withBrowserEnd struct{ m *testing.M }

// Run implements binary.Tests.
func (w withBrowserEnd) Run() int {
	code := w.m.Run()
	if chromium.cancel != nil {
		chromium.cancel()
	}
	return code
}

// chromium is the one browser. It starts with the first page that is opened.
var chromium struct {
	once   sync.Once
	ctx    context.Context
	cancel func()
	err    error
}

func startBrowser() (context.Context, error) {
	chromium.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.NoSandbox, // root has none, and the pages are our own
			chromedp.Flag("disable-dev-shm-usage", true),
		)
		ctx, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, endBrowser := chromedp.NewContext(ctx, chromedp.WithErrorf(log.New(os.Stderr, "chromium: ", 0).Printf))
		chromium.cancel = func() { endBrowser(); endAllocator() }
		chromium.ctx, chromium.err = ctx, chromedp.Do(ctx)
	})
	if chromium.err != nil {
		return nil, fmt.Errorf("start Chromium (`make test` installs it): %w", chromium.err)
	}
	return chromium.ctx, nil
}

// Available starts the browser; the error says why there is none. Whoever can do without asks it before the first page.
func Available() error {
	_, err := startBrowser()
	return err
}

// Page is one window of the browser, with cookies of its own. Its methods fail the test where they cannot do what they
// say. They are for the test's goroutine.
type Page struct {
	t       testing.TB
	ctx     context.Context
	console iter.Seq2[chromedp.ConsoleMessage, error]
	watched chan struct{} // closed when the console is read no more

	mu       sync.Mutex
	problems []string // what the console and the browser complained of
}

// Open opens the HUD of a server in a window of its own, as `strata hud --open` does. A page that complained of
// something on its console has failed its test, unless Allow took that off.
func Open(t testing.TB, s *binary.Server) *Page {
	t.Helper()
	p := newPage(t)
	p.Run(chromedp.Navigate(Address(t, s)))
	p.Wait(`document.querySelector(".sidebar")`)
	return p
}

// Address is a new one-use address of the server's HUD.
func Address(t testing.TB, s *binary.Server) string {
	t.Helper()
	out, err := s.Home.Command(t.Context(), "hud", "--url").Output()
	if err != nil {
		t.Fatalf("strata hud --url: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// keepToasts lets no toast go by itself, which it does after SHOWN_MS (web/hud/src/store/toasts.ts): a test on a busy
// machine may need longer to click the button of one.
const keepToasts = `{
	const { setTimeout } = window;
	window.setTimeout = (run, ms, ...more) => setTimeout(run, ms === 8000 ? 2 ** 30 : ms, ...more);
}`

func newPage(t testing.TB) *Page {
	t.Helper()
	parent, err := startBrowser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	p := &Page{t: t, ctx: ctx, console: chromedp.Console(ctx), watched: make(chan struct{})}
	go func() {
		defer close(p.watched)
		p.watch()
	}()
	t.Cleanup(func() {
		end()
		<-p.watched
		for _, problem := range p.Problems() {
			t.Errorf("the page complained: %s", problem)
		}
	})
	p.Run(chromedp.EmulateViewport(1280, 800), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: keepToasts})
		return err
	}))
	return p
}

// watch notes what the console is told, until the window is closed.
func (p *Page) watch() {
	for message, err := range p.console {
		if err != nil {
			return
		}
		switch message.Type {
		case chromedp.ConsoleWarning, chromedp.ConsoleError, chromedp.ConsoleException:
			p.mu.Lock()
			p.problems = append(p.problems, message.String()+" "+message.URL)
			p.mu.Unlock()
		}
	}
}

// Problems returns what the console and the browser complained of so far.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// Allow takes complaints off that hold a text: those of a connection that the test itself cuts.
func (p *Page) Allow(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.problems[:0]
	for _, problem := range p.problems {
		if !strings.Contains(problem, text) {
			kept = append(kept, problem)
		}
	}
	p.problems = kept
}

// Run runs actions of chromedp on the page.
func (p *Page) Run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%v\nthe page complained of %q", err, p.Problems())
	}
}

// Eval returns the value of a JavaScript expression, which may be a promise.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Wait waits until a JavaScript expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !p.holds(expression) {
		select {
		case <-ticker.C:
		case <-deadline:
			p.t.Fatalf("the page never came to %s\nit shows:\n%s\nin its fields stands %q\nit complained of %q", expression, p.Text("body"),
				Eval[[]string](p, `[...document.querySelectorAll("input, textarea")].map((e) => e.value)`), p.Problems())
		}
	}
}

// holds reports whether an expression is true. A page that is being left has no answer.
func (p *Page) holds(expression string) bool {
	is, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
	return err == nil && is
}

// WaitText waits until an element holds a text.
func (p *Page) WaitText(selector, text string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("[...document.querySelectorAll(%s)].some((e) => e.innerText.includes(%s))", quote(selector), quote(text)))
}

// Text returns what an element shows, of the first that matches.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", quote(selector)))
}

// Texts returns what each element that matches shows.
func (p *Page) Texts(selector string) []string {
	p.t.Helper()
	return Eval[[]string](p, fmt.Sprintf("[...document.querySelectorAll(%s)].map((e) => e.innerText)", quote(selector)))
}

// Click waits for an element and clicks it.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("document.querySelector(%s) && !document.querySelector(%s).disabled", quote(selector), quote(selector)))
	p.Run(chromedp.Click(selector))
}

// Type types on the keyboard, wherever the focus is. Special keys are those of chromedp's kb. As with a real keyboard, a
// page that takes a key for itself gets no character of it.
func (p *Page) Type(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, key := range keys {
			for _, event := range strokes(key) {
				for _, option := range options {
					option(event)
				}
				if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, *event); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// strokes are the events of one key. Its character belongs to its going down.
func strokes(key rune) []*input.DispatchKeyEventParams {
	var events []*input.DispatchKeyEventParams
	for _, event := range kb.Encode(key) {
		if event.Type == input.DispatchKeyEventTypeChar && len(events) > 0 {
			down := events[len(events)-1]
			down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, event.Text, event.UnmodifiedText
			continue
		}
		events = append(events, event)
	}
	return events
}

// Prompt writes a prompt into the box and sends it.
func (p *Page) Prompt(text string) {
	p.t.Helper()
	p.Click("#prompt")
	p.Run(chromedp.SendKeys("#prompt", text))
	p.Click("button[aria-label=Send]")
}

// Session opens a session of the page's server.
func (p *Page) Session(id string) {
	p.t.Helper()
	Eval[string](p, fmt.Sprintf("location.hash = '#/session/' + %s", quote(id)))
	p.Wait(`document.querySelector("#prompt")`)
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always becomes JSON
	}
	return string(raw)
}
