package hudtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"strata/historystore"
	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/llm"
	"strata/server"
	"strata/server/access"
	"strata/server/wire"
	"strata/session"
)

// thief is another program of this machine, on a port of its own, which the browser visits.
type thief struct {
	*httptest.Server
	mu      sync.Mutex
	cookies string // as the browser sent them last
}

func newThief(t *testing.T) *thief {
	th := &thief{}
	th.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := r.Header.Get("Cookie"); c != "" {
			th.mu.Lock()
			th.cookies = c
			th.mu.Unlock()
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<!doctype html><link rel="icon" href="data:,"><title>thief</title>`)
	}))
	t.Cleanup(th.Close)
	return th
}

func (th *thief) loot() string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.cookies
}

// send sends a request as it stands and returns the status and everything that came back.
func send(t *testing.T, host, text string) (status int, raw string) {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	response, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &seen)), &http.Request{Method: text[:strings.Index(text, " ")]})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
	}
	return response.StatusCode, seen.String()
}

// upgrade returns the request for a WebSocket.
func upgrade(host, target string, lines ...string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n%s\r\n\r\n", target, host, strings.Join(lines, "\r\n"))
}

const pageKey = `localStorage.getItem("strata-page")`

// R02: cookies ignore ports, so a program on another local port that the browser visits gets the HUD's. It opens nothing.
func TestR02AProgramOnAnotherPortOpensNothing(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	p.WaitText("main", "Strata is running")
	secret := Eval[string](p, pageKey)
	if secret == "" || strings.Contains(Eval[string](p, "document.documentElement.outerHTML + location.href + document.cookie"), secret) {
		t.Errorf("the page's secret %q is missing or lies about", secret)
	}
	own, err := url.Parse(w.HTTP("/"))
	if err != nil {
		t.Fatal(err)
	}
	th := newThief(t)
	visit := p.Another(th.URL + "/")
	visit.AllowAll()
	visit.Wait(`document.title === "thief"`)
	cookie := "Cookie: " + th.loot()
	if !strings.Contains(cookie, "strata_"+own.Port()+"=") {
		t.Fatalf("the other program received %q, so this test shows nothing", cookie)
	}
	if strings.Contains(cookie, secret) {
		t.Fatal("the cookie contains the secret of the page")
	}

	// As a program it can send whatever it likes.
	sealed := cookie[strings.LastIndex(cookie, ".")+1:]
	for _, origin := range []string{"Origin: http://" + own.Host, "Origin: " + th.URL, "Origin: null", "X-No: origin"} {
		for _, protocol := range []string{
			"X-No: protocol", "Sec-WebSocket-Protocol: acp", "Sec-WebSocket-Protocol: acp, page.", "Sec-WebSocket-Protocol: acp, page." + sealed,
			"Sec-WebSocket-Protocol: acp, bearer." + sealed, "Authorization: Bearer " + sealed,
		} {
			if status, _ := send(t, own.Host, upgrade(own.Host, "/acp", cookie, origin, protocol)); status != 401 && status != 403 && status != 429 {
				t.Errorf("the cookie with %q and %q: status %d", origin, protocol, status)
			}
		}
	}
	for _, target := range []string{"/", "/?code=guess", "/?code=", "/metrics", "/page", "/acp", "/assets/hud.js", "/healthz", "/sessions", "/export", "/_strata/server/hud_code"} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			status, raw := send(t, own.Host, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nStrata-Page: %s\r\nConnection: close\r\n%s\r\nContent-Length: 0\r\n\r\n",
				method, target, own.Host, own.Host, sealed, cookie))
			for _, private := range []string{secret, w.Token, w.Home.Project, "strata-page\" content", "strata_connections"} {
				if strings.Contains(raw, private) {
					t.Errorf("%s %s: status %d with %q", method, target, status, private)
				}
			}
			switch {
			case strings.HasPrefix(target, "/assets/"), target == "/healthz", strings.HasPrefix(target, "/?code="), target == "/": // nothing in them is private
			case status < 400:
				t.Errorf("%s %s: status %d", method, target, status)
			}
		}
	}

	// As a page in the browser it can read nothing and reach nothing.
	for what, attempt := range map[string]string{
		"a socket": fmt.Sprintf(`new Promise((done) => { const s = new WebSocket("ws://%s/acp", ["acp", "page.%s"]); s.onopen = () => done("open"); s.onerror = () => done("closed"); })`, own.Host, sealed),
		"a fetch":  fmt.Sprintf(`fetch("http://%s/", { credentials: "include" }).then((r) => r.text(), () => "closed")`, own.Host),
		"a header": fmt.Sprintf(`fetch("http://%s/page", { credentials: "include", headers: { "Strata-Page": "x" } }).then((r) => "open", () => "closed")`, own.Host),
		"storage":  `(` + pageKey + ` === null ? "closed" : "open")`,
		"a frame": fmt.Sprintf(`new Promise((done) => { const f = document.createElement("iframe"); f.src = "http://%s/"; f.onload = () => {
			try { done(f.contentWindow.localStorage.length >= 0 ? "open" : "") } catch { done("closed") } }; document.body.append(f); })`, own.Host),
	} {
		if got := Eval[string](visit, attempt); got != "closed" {
			t.Errorf("%s of another port: %s", what, got)
		}
	}

	// With the secret of the page the same request opens the server: the attempts above fail for the lack of it alone.
	if status, raw := send(t, own.Host, upgrade(own.Host, "/acp", cookie, "Origin: http://"+own.Host, "Sec-WebSocket-Protocol: acp, page."+secret)); status != 101 {
		t.Errorf("the page's own request: %s", raw)
	}
	p.Run(chromedp.Reload())
	p.WaitText("main", "Strata is running")
}

// R02: the HUD goes on after a reload, in a second tab, and after a restart of the server.
func TestR02TheHUDGoesOn(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	p.WaitText("main", "Strata is running")
	p.Run(chromedp.Reload())
	p.WaitText("main", "Strata is running")
	second := p.Another(w.HTTP("/"))
	second.WaitText("main", "Strata is running")
	w.Stop()
	p.WaitText(".banner", "Not connected")
	w.Restart(binary.Options{})
	for _, page := range []*Page{p, second} {
		page.Wait(`document.querySelector(".sidebar")`)
		Eval[string](page, `document.querySelector(".banner .button")?.click() ?? ""`)
		page.Wait(`!document.querySelector(".banner") && !document.querySelector(".session-list.stale")`)
		page.Run(chromedp.Reload())
		page.WaitText("main", "Strata is running")
		page.Allow("ERR_CONNECTION")
		page.Allow("WebSocket connection to")
	}
	// A new address signs in anew; the tab with the older secret takes the newer one when it connects again.
	before := Eval[string](p, pageKey)
	third := p.Another(Address(t, w.Server))
	third.WaitText("main", "Strata is running")
	if after := Eval[string](p, pageKey); after == before {
		t.Error("another code gives the same secret")
	}
	p.Run(chromedp.Reload())
	p.WaitText("main", "Strata is running")
}

// R02: a rotation of the token ends open pages and connections at once, without a restart, and the page says what to do.
func TestR02ARotationEndsPagesAndConnections(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	p.WaitText("main", "Strata is running")
	e := w.Editor(t)
	old := w.Token
	out, err := w.Home.Command(t.Context(), "token", "rotate").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "uses the new token") {
		t.Fatalf("strata token rotate: %v\n%s", err, out)
	}
	if err := e.Call("_strata/server/info", nil, nil); err == nil {
		t.Error("a connection that was opened with the old token goes on")
	}
	p.WaitText(".banner", "Connection closed")
	p.WaitText(".banner", "strata hud --open")
	p.Click(".banner .button")
	p.WaitText("body", "Authorization required")
	p.Allow("WebSocket connection to")
	p.Allow("status of 401")
	fresh, err := w.Home.ServerFile()
	if err != nil || fresh.Token == old || !strings.Contains(string(out), fresh.Token) {
		t.Errorf("server.json has another token: %v", err)
	}
	testclient.Connect(t, w.WebSocket(), fresh.Token).Initialize()
	again := p.Another(Address(t, w.Server))
	again.WaitText("main", "Strata is running")
}

// clock is a time that a test moves.
type clock struct {
	mu     sync.Mutex
	ahead  time.Duration
	listen chan server.Ready
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

func (c *clock) Ready(r server.Ready) { c.listen <- r }

// offline are the models of a server that needs none.
type offline struct{ *llm.Client }

func (o offline) Model(name string) (llm.Model, bool) {
	m, _ := o.Client.Model(name)
	return m, m.Name != ""
}
func (offline) Catalogue() []wire.Model    { return nil }
func (offline) Providers() []wire.Provider { return nil }

// R02: after a day the HUD asks for a new address in words, also in a page that stayed open.
func TestR02AfterADayTheHUDAsksForANewAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := historystore.Open(t.Context(), filepath.Join(dir, "strata.db"), historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client, err := llm.New(llm.Options{Providers: map[string]llm.ProviderConfig{"offline": {Kind: llm.Offline}}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	now := &clock{listen: make(chan server.Ready, 1)}
	s, err := server.New(store, server.Options{
		Version: "test", Listen: "127.0.0.1:0", Token: access.NewToken(), StateDir: dir, Models: offline{client}, Host: now,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Sessions: session.Settings{},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	ready := <-now.listen
	p := newPage(t)
	p.Run(chromedp.Navigate(ready.HUD))
	p.WaitText("main", "Strata is running")
	now.advance(access.CookieLife - time.Hour)
	second := p.Another(strings.Split(ready.HUD, "?")[0])
	second.WaitText("main", "Strata is running")
	p.AllowAll() // the browser reports each refusal
	second.AllowAll()
	now.advance(time.Hour)
	p.WaitText(".banner", "Connection closed")
	p.WaitText(".banner", "access lasts 24 hours")
	p.WaitText(".banner", "strata hud --open")
	p.Click(".banner .button")
	p.WaitText("body", "Authorization required")
	p.WaitText("body", "strata hud --open")
	second.WaitText("body", "access lasts 24 hours") // in the banner, unless it is still connecting
}
