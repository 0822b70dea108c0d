package access

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_800_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// lockedBuffer is a log that handlers write while a test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// site is a guarded server on loopback with one route of each kind.
type site struct {
	t     *testing.T
	guard *Guard
	token Token
	opt   Options
	port  int
	tls   bool
	serve atomic.Pointer[http.Handler] // of guard
	clock *clock
	log   *lockedBuffer
}

const (
	homePage  = "the page of the HUD"
	entryPage = "the page that says how to get in"
)

func newSite(t *testing.T, change func(*Options)) *site {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s := &site{t: t, token: NewToken(), clock: newClock(), log: &lockedBuffer{}}
	s.port = server.Listener.Addr().(*net.TCPAddr).Port
	opt := Options{
		Token: s.token, Port: s.port, Now: s.clock.Now,
		Log:      slog.New(slog.NewTextHandler(s.log, nil)),
		HomePage: func(w http.ResponseWriter, secret string) { fmt.Fprintf(w, "%s with %s", homePage, secret) },
		EntryPage: func(w http.ResponseWriter, status int, reason string) {
			w.WriteHeader(status)
			fmt.Fprintf(w, "%s: %s", entryPage, reason)
		},
	}
	if change != nil {
		change(&opt)
	}
	s.opt, s.tls = opt, opt.TLS
	s.begin()
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.serve.Load()).ServeHTTP(w, r) })
	if s.tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	return s
}

// begin puts a guard before the routes.
func (s *site) begin() {
	s.t.Helper()
	guard, err := NewGuard(s.opt)
	if err != nil {
		s.t.Fatal(err)
	}
	s.guard = guard
	handler := guard.Protect(routes(guard))
	s.serve.Store(&handler)
}

// restart goes on with another token, as a server does that starts again after a rotation.
func (s *site) restart() {
	s.t.Helper()
	s.token = NewToken()
	s.opt.Token = s.token
	s.begin()
}

func routes(guard *Guard) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/acp", func(w http.ResponseWriter, r *http.Request) {
		grant, refusal := guard.AuthorizeUpgrade(r)
		if refusal != nil {
			refusal.Write(w)
			return
		}
		opt := &websocket.AcceptOptions{InsecureSkipVerify: true} // the guard has looked at the Origin
		if grant.Subprotocol != "" {
			opt.Subprotocols = []string{grant.Subprotocol}
		}
		if conn, err := websocket.Accept(w, r, opt); err == nil {
			conn.CloseNow()
		}
	})
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if refusal := guard.AuthorizeMetrics(r); refusal != nil {
			refusal.Write(w)
			return
		}
		io.WriteString(w, "figures")
	})
	mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
		if refusal := guard.AuthorizeSecret(r); refusal != nil {
			refusal.Write(w)
		}
	})
	mux.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	mux.Handle("/", guard.Pages(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, homePage)
	})))
	return mux
}

// answer is a response read to its end, and its raw bytes.
type answer struct {
	*http.Response
	body string
	raw  string
}

// ask sends a request over TCP as it stands: "METHOD TARGET" and header lines. PORT and TOKEN are replaced. Host is
// added unless a line gives one or is "-host"; the headers of an upgrade are added for /acp.
func (s *site) ask(request string, lines ...string) answer {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s HTTP/1.1\r\n", request)
	if !mentions(lines, "host:") && !mentions(lines, "-host") {
		b.WriteString("Host: 127.0.0.1:PORT\r\n")
	}
	if strings.Contains(request, " /acp") {
		b.WriteString("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n")
	} else {
		b.WriteString("Connection: close\r\n")
	}
	for _, line := range lines {
		if line != "-host" {
			b.WriteString(line + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return s.send(s.fill(b.String()), strings.HasPrefix(request, "HEAD "))
}

func mentions(lines []string, prefix string) bool {
	for _, line := range lines {
		if strings.HasPrefix(strings.ToLower(line), prefix) {
			return true
		}
	}
	return false
}

func (s *site) fill(text string) string {
	return strings.NewReplacer("PORT", strconv.Itoa(s.port), "TOKEN", s.token.Reveal()).Replace(text)
}

func (s *site) send(request string, head bool) answer {
	s.t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if s.tls {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	if _, err := io.WriteString(conn, request); err != nil {
		s.t.Fatal(err)
	}
	var raw bytes.Buffer
	req := &http.Request{Method: http.MethodGet}
	if head {
		req.Method = http.MethodHead
	}
	res, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), req)
	if err != nil {
		s.t.Fatalf("%q: %v", request, err)
	}
	a := answer{Response: res}
	if res.StatusCode != http.StatusSwitchingProtocols {
		body, err := io.ReadAll(res.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		a.body = string(body)
	}
	a.raw = raw.String()
	return a
}

// enter opens the HUD with a code and returns the cookie that it gives, as a header line.
func (s *site) enter(lines ...string) string {
	s.t.Helper()
	cookie, _ := s.enterPage(lines...)
	return cookie
}

// enterPage opens the HUD with a code and returns the cookie and the secret of the page, as a header line and a text.
func (s *site) enterPage(lines ...string) (cookie, secret string) {
	s.t.Helper()
	a := s.ask("GET /?code="+s.guard.NewCode(), lines...)
	_, secret, found := strings.Cut(a.body, homePage+" with ")
	if a.StatusCode != http.StatusOK || len(a.Cookies()) != 1 || !found || len(secret) != maxSealLen {
		s.t.Fatalf("status %d with cookies %v: %s", a.StatusCode, a.Cookies(), a.body)
	}
	c := a.Cookies()[0]
	return "Cookie: " + c.Name + "=" + c.Value, secret
}

// noCORS fails the test if an answer opens the server to foreign pages.
func (a answer) noCORS(t *testing.T) {
	t.Helper()
	for name := range a.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("response header %s: %s", name, a.Header.Get(name))
		}
	}
}
