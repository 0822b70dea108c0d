package access

import (
	"net/http"
	"strings"
	"time"
)

const (
	// Subprotocol is the WebSocket subprotocol of the Agent Client Protocol, the only one that is ever selected.
	Subprotocol = "acp"

	bearerProtocol = "bearer." // prefix of a subprotocol that carries the token, for clients that cannot set headers
	pageProtocol   = "page."   // prefix of a subprotocol that carries the secret of a page of the HUD

	// PageHeader carries the secret of a page in requests that are not upgrades.
	PageHeader = "Strata-Page"
)

var (
	errNeedsToken = &Refusal{Status: http.StatusUnauthorized,
		Reason: "a token is required: `Authorization: Bearer TOKEN`, or the subprotocols acp and bearer.TOKEN"}
	errWrongToken = &Refusal{Status: http.StatusUnauthorized,
		Reason: "the token is wrong; the current one is in the server's token file and in server.json"}
	errAmbiguous = &Refusal{Status: http.StatusBadRequest, Reason: "the request carries more than one token or secret"}
	errNoACP     = &Refusal{Status: http.StatusBadRequest, Reason: "the subprotocols bearer.TOKEN and page.SECRET require the subprotocol acp"}
	errNoPage    = &Refusal{Status: http.StatusUnauthorized,
		Reason: "this page is not authorized; access lasts 24 hours and ends when the token is rotated: run `strata hud --open` for a new address"}
	errNoCookie = &Refusal{Status: http.StatusUnauthorized,
		Reason: "this browser is not authorized: run `strata hud --open`"}
	errTooMany = &Refusal{Status: http.StatusTooManyRequests,
		Reason: "too many wrong tokens or codes; wait a moment", retryAfter: failureInterval}
)

// AuthorizeUpgrade decides whether a request may become a WebSocket. It requires the token, in the Authorization header or
// as the subprotocol bearer.TOKEN together with acp; or the cookie of the HUD with exactly our own Origin, together with
// the secret of the page as the subprotocol page.SECRET and acp. It applies the rules of Protect again.
func (g *Guard) AuthorizeUpgrade(r *http.Request) (Grant, *Refusal) {
	v, err := g.examine(r)
	if err != nil {
		return Grant{}, err
	}
	presented, err := presentedSecrets(r.Header)
	if err != nil {
		return Grant{}, err
	}
	k := g.ring.current()
	grant := Grant{Subprotocol: presented.offer, keys: k}
	switch {
	case presented.token != nil:
		return grant, g.checkToken(k, *presented.token)
	case presented.page == nil:
		return Grant{}, errNeedsToken
	case v.from != fromSelf: // browsers name the origin of every WebSocket
		return Grant{}, g.failed(errNoPage)
	}
	p, err := g.checkPage(k, r, v, *presented.page)
	grant.expires = time.Unix(p.expiry, 0)
	return grant, err
}

// AuthorizeSecret decides whether a page of the HUD is authorized: a browser does not tell a page why its WebSocket was
// refused. It requires the cookie, and the secret in PageHeader. It applies the rules of Protect again.
func (g *Guard) AuthorizeSecret(r *http.Request) *Refusal {
	v, err := g.examine(r)
	if err == nil {
		_, err = g.checkPage(g.ring.current(), r, v, r.Header.Get(PageHeader))
	}
	return err
}

// checkPage returns the pass of a page of our own that presents its secret.
func (g *Guard) checkPage(k *keys, r *http.Request, v visit, secret string) (pass, *Refusal) {
	p, ok := g.passOf(k, r, secret)
	if !ok || v.from == fromConfigured {
		return pass{}, g.failed(errNoPage)
	}
	return p, nil
}

// AuthorizePage decides whether a browser may see the page of the HUD, which holds nothing until it has connected. It
// requires the cookie: a browser that opens a page can send nothing else.
// It applies the rules of Protect again.
func (g *Guard) AuthorizePage(r *http.Request) *Refusal {
	v, err := g.examine(r)
	if err != nil {
		return err
	}
	if v.from == fromConfigured || len(g.passes(g.ring.current(), r)) == 0 {
		return errNoCookie
	}
	return nil
}

// AuthorizeMetrics decides whether a request may read /metrics. It requires the token in the Authorization header.
// It applies the rules of Protect again.
func (g *Guard) AuthorizeMetrics(r *http.Request) *Refusal {
	if _, err := g.examine(r); err != nil {
		return err
	}
	token, err := headerToken(r.Header)
	if err != nil {
		return err
	}
	if token == nil {
		return errNeedsToken
	}
	return g.checkToken(g.ring.current(), *token)
}

// checkToken returns the refusal of a wrong token. It never refuses the right one, however many wrong ones precede it:
// a token cannot be guessed, and a client with an old one must not lock out the others. Wrong ones are rate-limited.
func (g *Guard) checkToken(k *keys, presented string) *Refusal {
	if k.token.Matches(presented) {
		return nil
	}
	return g.failed(errWrongToken)
}

// failed counts a wrong token or code and returns the refusal for it.
func (g *Guard) failed(refusal *Refusal) *Refusal {
	if !g.failures.AllowN(g.now(), 1) {
		return errTooMany
	}
	return refusal
}

// presented are the secrets of an upgrade.
type presented struct {
	token *string // nil: none
	page  *string // nil: none
	offer string  // the subprotocol to select
}

// presentedSecrets returns the secrets of an upgrade, at most one.
func presentedSecrets(h http.Header) (presented, *Refusal) {
	p, err := offered(h)
	if err != nil {
		return p, err
	}
	inHeader, err := headerToken(h)
	if err != nil {
		return p, err
	}
	if inHeader != nil && (p.token != nil || p.page != nil) {
		return p, errAmbiguous
	}
	if inHeader != nil {
		p.token = inHeader
	}
	return p, nil
}

// offered returns the secrets in the offered subprotocols, and the subprotocol to select.
func offered(h http.Header) (p presented, err *Refusal) {
	for _, line := range h.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			token, isToken := strings.CutPrefix(name, bearerProtocol)
			page, isPage := strings.CutPrefix(name, pageProtocol)
			switch {
			case (isToken || isPage) && (p.token != nil || p.page != nil):
				return p, errAmbiguous
			case isToken:
				p.token = &token
			case isPage:
				p.page = &page
			case name == Subprotocol:
				p.offer = Subprotocol
			}
		}
	}
	if (p.token != nil || p.page != nil) && p.offer == "" {
		return p, errNoACP
	}
	return p, nil
}

// headerToken returns the token in the Authorization header, nil if there is none. A scheme other than Bearer counts as
// a wrong token.
func headerToken(h http.Header) (*string, *Refusal) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return nil, nil
	}
	if len(values) > 1 {
		return nil, errAmbiguous
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	text = strings.TrimSpace(text)
	if !strings.EqualFold(scheme, "Bearer") {
		text = ""
	}
	return &text, nil
}
