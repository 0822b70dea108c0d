// Package hudtest tests the HUD in a real Chromium, with a real server whose model is a scripted upstream. Like a person,
// it uses the content of the page and the keyboard.
//
// It needs Chromium, which `make test` installs. It must only be used by tests.
package hudtest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"log"
	"os"
	"os/exec"
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

// patience is the time after which a page that does not reach an expected state is considered hung. It is not a measurement.
const patience = 2 * time.Minute

// Main runs the tests of m with a common Chromium and build of strata.
func Main(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	binary.Main(withBrowserEnd{m})
}

// atOnce is the number of concurrent tests without -parallel.
const atOnce = "4"

// withBrowserEnd closes the browser after the tests.
type withBrowserEnd struct{ m *testing.M }

// Run implements binary.Tests.
func (w withBrowserEnd) Run() int {
	code := w.m.Run()
	if chromium.cancel != nil {
		chromium.cancel()
	}
	return code
}

// chromium is the common browser. It is started when the first page is opened.
var chromium struct {
	once   sync.Once
	ctx    context.Context
	cancel func()
	err    error
}

func startBrowser() (context.Context, error) {
	chromium.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.NoSandbox, // not available to root, and all pages are our own
			chromedp.Flag("disable-dev-shm-usage", true),
			chromedp.Flag("force-prefers-reduced-motion", true), // animations cost most of the work of a page that waits
		)
		if path, err := exec.LookPath("chromium-headless-shell"); err == nil { // the same engine without a desktop: half the time
			options = append(options, chromedp.ExecPath(path))
		}
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

// Available starts the browser and returns an error if that is not possible. Tests that can run without a browser call it
// before opening a page.
func Available() error {
	_, err := startBrowser()
	return err
}

// Page is a window of the browser with its own cookies. Its methods fail the test on errors and must be called on the
// test's goroutine.
type Page struct {
	t       testing.TB
	ctx     context.Context
	console iter.Seq2[chromedp.ConsoleMessage, error]
	watched chan struct{} // closed when reading the console has ended

	mu       sync.Mutex
	problems []string // errors and warnings of the console and the browser
	allowed  bool     // whatever the problems are
}

// Open opens the HUD of a server in a new window, like `strata hud --open`. Errors and warnings on the console fail the
// test unless Allow removes them.
func Open(t testing.TB, s *binary.Server) *Page {
	t.Helper()
	p := newPage(t)
	p.Run(chromedp.Navigate(Address(t, s)))
	p.Wait(`document.querySelector(".sidebar")`)
	return p
}

// OpenAddress opens any page in a new window. It fails the test like Open.
func OpenAddress(t testing.TB, address string) *Page {
	t.Helper()
	p := newPage(t)
	p.Run(chromedp.Navigate(address))
	return p
}

// Address returns a new one-time address of the server's HUD.
func Address(t testing.TB, s *binary.Server) string {
	t.Helper()
	out, err := s.Home.Command(t.Context(), "hud", "--url").Output()
	if err != nil {
		t.Fatalf("strata hud --url: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// keepToasts keeps toasts, which otherwise close after SHOWN_MS (web/hud/src/store/toasts.ts): a test on a busy machine can
// need longer to click the button of a toast.
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
	return newTab(t, parent, chromedp.WithNewBrowserContext())
}

// Another opens an address in another tab of the page's window, with the same cookies and storage.
func (p *Page) Another(address string) *Page {
	p.t.Helper()
	tab := newTab(p.t, p.ctx)
	tab.Run(chromedp.Navigate(address))
	return tab
}

func newTab(t testing.TB, parent context.Context, options ...chromedp.ContextOption) *Page {
	t.Helper()
	ctx, end := chromedp.NewContext(parent, options...)
	p := &Page{t: t, ctx: ctx, console: chromedp.Console(ctx), watched: make(chan struct{})}
	go func() {
		defer close(p.watched)
		p.watch()
	}()
	t.Cleanup(func() {
		end()
		<-p.watched
		for _, problem := range p.Problems() {
			t.Errorf("the page reported: %s", problem)
		}
	})
	p.Run(chromedp.EmulateViewport(1280, 800), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: keepToasts})
		return err
	}))
	return p
}

// watch records console messages until the window is closed.
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

// Problems returns the errors and warnings of the console and the browser so far.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.allowed {
		return nil
	}
	return append([]string(nil), p.problems...)
}

// Allow removes problems that contain a text, such as those of a connection cut by the test.
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

// AllowAll makes the problems of this page no failures, those to come too.
func (p *Page) AllowAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = true
}

// Run runs chromedp actions on the page.
func (p *Page) Run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%v\nproblems: %q", err, p.Problems())
	}
}

// Eval evaluates a JavaScript expression, which may be a promise.
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
	ticker := time.NewTicker(50 * time.Millisecond) // each look costs the browser a layout
	defer ticker.Stop()
	deadline := time.After(patience)
	for !p.holds(expression) {
		select {
		case <-ticker.C:
		case <-deadline:
			p.t.Fatalf("the page never reached %s\nit shows:\n%s\nits fields contain %q\nproblems: %q", expression, p.Text("body"),
				Eval[[]string](p, `[...document.querySelectorAll("input, textarea")].map((e) => e.value)`), p.Problems())
		}
	}
}

// holds reports whether an expression is true. It returns false while the page is being left.
func (p *Page) holds(expression string) bool {
	is, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
	return err == nil && is
}

// WaitText waits until an element contains a text.
func (p *Page) WaitText(selector, text string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("[...document.querySelectorAll(%s)].some((e) => e.innerText.includes(%s))", quote(selector), quote(text)))
}

// Text returns the text of the first matching element.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", quote(selector)))
}

// Texts returns the texts of all matching elements.
func (p *Page) Texts(selector string) []string {
	p.t.Helper()
	return Eval[[]string](p, fmt.Sprintf("[...document.querySelectorAll(%s)].map((e) => e.innerText)", quote(selector)))
}

// Click waits until an element is enabled, has not moved for two frames and is not covered, and clicks it: the pointer is
// where the element was.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("document.querySelector(%s) && !document.querySelector(%s).disabled", quote(selector), quote(selector)))
	var at []float64
	for deadline := time.Now().Add(patience); len(at) == 0; at = Eval[[]float64](p, fmt.Sprintf(rests, quote(selector))) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s never came to rest; the page shows:\n%s", selector, p.Text("body"))
		}
	}
	p.Run(chromedp.MouseClickXY(at[0], at[1]))
}

// rests is the script of a promise: the center of an element that stays in place for two frames with nothing in front of
// the center, or else an empty list.
const rests = `(() => {
	const where = () => {
		const element = document.querySelector(%s);
		element?.scrollIntoViewIfNeeded();
		const { x, y, width, height } = element?.getBoundingClientRect() ?? {};
		const top = element && document.elementFromPoint(x + width / 2, y + height / 2);
		return element?.contains(top) ? [x + width / 2, y + height / 2, width, height] : [];
	};
	const before = where();
	return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(before.join() === where().join() ? before.slice(0, 2) : []))));
})()`

// Type types on the keyboard at the current focus. Special keys are those of chromedp's kb. As with a real keyboard, a key
// that the page handles itself produces no character.
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

// strokes returns the events of one key. The character is part of the key-down event.
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

// Prompt enters a prompt and sends it.
func (p *Page) Prompt(text string) {
	p.t.Helper()
	p.Click("#prompt")
	p.Run(chromedp.SendKeys("#prompt", text))
	p.Click("button[aria-label='Send prompt']")
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
		panic(err) // cannot happen: strings are always valid JSON
	}
	return string(raw)
}
