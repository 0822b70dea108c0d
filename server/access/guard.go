package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Bounds on what a client with wrong credentials can cause.
const (
	failureBurst    = 20 // wrong tokens and codes that are answered as such at once
	failureInterval = 5 * time.Second
	logBurst        = 20 // refusals that are logged at once
	logInterval     = 5 * time.Second
)

// Keys of log lines.
const (
	logStatus = "status"
	logReason = "reason"
	logHost   = "host"
	logOrigin = "origin"
)

// contentPolicy lets a page load its own files and talk to its own server, and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"

// Options say what a Guard lets in.
type Options struct {
	Token Token
	Port  int // that the server listens on, known after listening

	TLS         bool // the server itself speaks TLS
	BehindProxy bool // a proxy stands in front: its X-Forwarded-Proto is believed

	Origins []string // further origins that may connect; see CheckOriginPattern
	Hosts   []string // further Host values; see CheckHost

	// EntryPage writes the page for a browser that has no cookie: it says how to get in. status and reason are those of
	// the refusal. Default: the reason as plain text.
	EntryPage func(w http.ResponseWriter, status int, reason string)

	Now func() time.Time // default: time.Now
	Log *slog.Logger     // refusals of Protect and Pages, a bounded number; default: none
}

// Guard applies the rules to requests. Safe for concurrent use.
type Guard struct {
	port        int
	tls         bool
	behindProxy bool
	origins     []originPattern
	hosts       []authority
	entryPage   func(w http.ResponseWriter, status int, reason string)
	now         func() time.Time
	log         *slog.Logger

	keys     atomic.Pointer[keys]
	codes    *codes
	failures *rate.Limiter
	logged   *rate.Limiter
}

// keys are what credentials are checked with; both change together when the token does.
type keys struct {
	token  Token
	cookie []byte
}

// NewGuard makes a Guard. The error names the option that is impossible.
func NewGuard(opt Options) (*Guard, error) {
	if opt.Token.IsZero() {
		return nil, errors.New("guard without a token")
	}
	if opt.Port < 1 || opt.Port > 65535 {
		return nil, fmt.Errorf("guard for port %d", opt.Port)
	}
	g := &Guard{
		port: opt.Port, tls: opt.TLS, behindProxy: opt.BehindProxy,
		entryPage: opt.EntryPage, now: opt.Now, log: opt.Log,
	}
	for _, s := range opt.Origins {
		p, err := parseOriginPattern(s)
		if err != nil {
			return nil, err
		}
		g.origins = append(g.origins, p)
	}
	for _, s := range opt.Hosts {
		a, err := parseHost(s)
		if err != nil {
			return nil, err
		}
		g.hosts = append(g.hosts, a)
	}
	g.setDefaults()
	g.codes = newCodes(g.now)
	g.failures = rate.NewLimiter(rate.Every(failureInterval), failureBurst)
	g.logged = rate.NewLimiter(rate.Every(logInterval), logBurst)
	g.SetToken(opt.Token)
	return g, nil
}

func (g *Guard) setDefaults() {
	if g.now == nil {
		g.now = time.Now
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.entryPage == nil {
		g.entryPage = func(w http.ResponseWriter, status int, reason string) {
			(&Refusal{Status: status, Reason: reason}).Write(w)
		}
	}
}

// SetToken makes t the token from now on: the old one, its cookies and all waiting codes open nothing more.
// Connections that are open stay open.
func (g *Guard) SetToken(t Token) {
	g.keys.Store(&keys{token: t, cookie: cookieKey(t)})
	g.codes.clear()
}

// NewCode makes a one-use code: opening "/?code=CODE" in a browser within CodeLife gives it the cookie of the HUD.
func (g *Guard) NewCode() string { return g.codes.issue() }

// Protect wraps all routes of the server. It sets the headers that every answer carries and refuses requests with
// another Host, a foreign Origin or a method that could change something. Credentials are for the routes to check.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSafeHeaders(w.Header())
		if _, refusal := g.examine(r); refusal != nil {
			g.logRefusal(r, refusal)
			refusal.Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func setSafeHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store") // routes with public files may set another
}

// logRefusal names the host and the origin, which a user has to know to allow them, but only where they are well formed:
// nothing else of a request is ever logged.
func (g *Guard) logRefusal(r *http.Request, refusal *Refusal) {
	if !g.logged.AllowN(g.now(), 1) {
		return
	}
	attrs := []any{logStatus, refusal.Status, logReason, refusal.Reason}
	if _, ok := parseAuthority(r.Host); ok {
		attrs = append(attrs, logHost, r.Host)
	}
	if o := r.Header.Get("Origin"); o != "" {
		if _, ok := parseOrigin(o); ok {
			attrs = append(attrs, logOrigin, o)
		}
	}
	g.log.Info("request refused", attrs...)
}
