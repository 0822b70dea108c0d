package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// Rate limits for clients with wrong credentials.
const (
	failureBurst    = 20 // wrong tokens and codes before further ones get 429
	failureInterval = 5 * time.Second
	logBurst        = 20 // refusals logged before further ones are not
	logInterval     = 5 * time.Second
)

// Keys of log lines.
const (
	logStatus = "status"
	logReason = "reason"
	logHost   = "host"
	logOrigin = "origin"
)

// contentPolicy allows a page its own files and its own server, and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"

// Options configure a Guard.
type Options struct {
	Token     Token
	TokenFile string      // file that holds the token, which is followed; empty: the token never changes
	Rotated   func(Token) // called with a new token before anything else uses it; must not call the Guard; default: none
	Port      int         // on which the server listens

	TLS         bool // the server itself terminates TLS
	BehindProxy bool // a proxy terminates TLS; its X-Forwarded-Proto is trusted

	Origins []string // additional origins; see CheckOriginPattern
	Hosts   []string // additional Host values; see CheckHost

	// HomePage writes the page of the HUD for a browser that has presented a code, with the secret of the page.
	// Default: an empty page.
	HomePage func(w http.ResponseWriter, secret string)

	// EntryPage writes the page for a browser without a cookie, which says how to get one. status and reason are those
	// of the refusal. Default: the reason as plain text.
	EntryPage func(w http.ResponseWriter, status int, reason string)

	Now func() time.Time // default: time.Now
	Log *slog.Logger     // refusals of Protect and Pages, a bounded number; default: none
}

// Guard checks requests. Safe for concurrent use.
type Guard struct {
	port        int
	tls         bool
	behindProxy bool
	origins     []originPattern
	hosts       []authority
	homePage    func(w http.ResponseWriter, secret string)
	entryPage   func(w http.ResponseWriter, status int, reason string)
	now         func() time.Time
	log         *slog.Logger

	ring     *keyring
	codes    *codes
	failures *rate.Limiter
	logged   *rate.Limiter
}

// NewGuard returns a Guard. The error names the invalid option.
func NewGuard(opt Options) (*Guard, error) {
	if opt.Token.IsZero() {
		return nil, errors.New("guard without a token")
	}
	if opt.Port < 1 || opt.Port > 65535 {
		return nil, fmt.Errorf("guard for port %d", opt.Port)
	}
	g := &Guard{
		port: opt.Port, tls: opt.TLS, behindProxy: opt.BehindProxy,
		homePage: opt.HomePage, entryPage: opt.EntryPage, now: opt.Now, log: opt.Log,
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
	g.ring = &keyring{path: opt.TokenFile, log: g.log, keys: newKeys(opt.Token), rotated: func(t Token) {
		g.codes.clear()
		if opt.Rotated != nil {
			opt.Rotated(t)
		}
	}}
	g.failures = rate.NewLimiter(rate.Every(failureInterval), failureBurst)
	g.logged = rate.NewLimiter(rate.Every(logInterval), logBurst)
	return g, nil
}

func (g *Guard) setDefaults() {
	if g.now == nil {
		g.now = time.Now
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.homePage == nil {
		g.homePage = func(http.ResponseWriter, string) {}
	}
	if g.entryPage == nil {
		g.entryPage = func(w http.ResponseWriter, status int, reason string) {
			(&Refusal{Status: status, Reason: reason}).Write(w)
		}
	}
}

// NewCode returns a one-use code. A browser that opens "/?code=CODE" within CodeLife gets the cookie of the HUD.
func (g *Guard) NewCode() string { return g.codes.issue() }

// Token returns the token in force.
func (g *Guard) Token() Token { return g.ring.current().token }

// Protect wraps all routes of the server. It sets the headers common to all responses and refuses requests with a
// foreign Host or Origin, or with a method other than GET and HEAD. The routes check credentials.
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
	h.Set("Cache-Control", "no-store") // routes with public files may override it
}

// logRefusal logs a refusal, with the host and the origin, which a user needs to allow them, if they are well formed.
// Nothing else of a request is logged.
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
