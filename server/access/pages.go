package access

import (
	"net/http"
	"net/url"
	"strings"
)

// CodeParam is the query parameter of "/" that carries a one-use code.
const CodeParam = "code"

var (
	errWrongCode = &Refusal{Status: http.StatusUnauthorized,
		Reason: "this code has been used or has expired: run `strata hud --open` for a new one"}
	errNotOpened = &Refusal{Status: http.StatusForbidden,
		Reason: "a code is valid only when its address is opened in a browser window"}
)

// Pages wraps the routes of the HUD, inside Protect. A browser with the cookie gets the page. "/?code=CODE" with a valid
// code sets the cookie and writes Options.HomePage with the secret of the page, which stores it and removes the code from
// its address; all others get Options.EntryPage.
func (g *Guard) Pages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if query := r.URL.Query(); r.URL.Path == "/" && query.Has(CodeParam) {
			g.enter(w, r, query)
			return
		}
		if refusal := g.AuthorizePage(r); refusal != nil {
			g.turnAway(w, r, refusal)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// enter exchanges a code for the cookie and the secret of the page. The secret is in the body of the response, which no
// other origin can read, and not in a cookie or an address, which reach other programs.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, query url.Values) {
	v, refusal := g.examine(r)
	if refusal == nil && !opensPage(r) {
		refusal = errNotOpened
	}
	if refusal != nil {
		g.turnAway(w, r, refusal)
		return
	}
	k := g.ring.current()
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case g.codes.redeem(query.Get(CodeParam)):
		p := g.newPass()
		http.SetCookie(w, g.cookie(k, p, v.self.scheme == "https"))
		g.homePage(w, g.pageSecret(k, p))
	case len(g.passes(k, r)) > 0: // an address from the browser's history, whose code has been used
		w.Header().Set("Location", cleanAddress(query))
		w.WriteHeader(http.StatusSeeOther)
	default:
		g.turnAway(w, r, g.failed(errWrongCode))
	}
}

// opensPage reports whether a person opens the page with the request. Prefetches, previews and link checkers must not
// use up a code. Old browsers and curl send no fetch metadata.
func opensPage(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz", "X-Purpose"} {
		value := strings.ToLower(r.Header.Get(name))
		if strings.Contains(value, "prefetch") || strings.Contains(value, "preview") || strings.Contains(value, "prerender") {
			return false
		}
	}
	mode, dest := r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
	return (mode == "" || mode == "navigate") && (dest == "" || dest == "document")
}

// cleanAddress returns "/" with the query, without the code.
func cleanAddress(query url.Values) string {
	query.Del(CodeParam)
	if rest := query.Encode(); rest != "" {
		return "/?" + rest
	}
	return "/"
}

// turnAway responds with the entry page. It logs the refusal unless the browser merely has no cookie.
func (g *Guard) turnAway(w http.ResponseWriter, r *http.Request, refusal *Refusal) {
	if refusal != errNoCookie {
		g.logRefusal(r, refusal)
	}
	refusal.setHeader(w.Header())
	g.entryPage(w, refusal.Status, refusal.Reason)
}
