package access

import (
	"net/http"
	"strings"
)

const (
	// Subprotocol is the WebSocket subprotocol of the Agent Client Protocol, the only one that is ever selected.
	Subprotocol = "acp"

	bearerProtocol = "bearer." // prefix of a subprotocol that carries the token, for clients that cannot set headers
)

var (
	errNeedsToken = &Refusal{Status: http.StatusUnauthorized,
		Reason: "a token is required: `Authorization: Bearer TOKEN`, or the subprotocols acp and bearer.TOKEN"}
	errWrongToken = &Refusal{Status: http.StatusUnauthorized,
		Reason: "the token is wrong; the current one is in the server's token file and in server.json"}
	errAmbiguous = &Refusal{Status: http.StatusBadRequest, Reason: "the request carries more than one token"}
	errNoACP     = &Refusal{Status: http.StatusBadRequest, Reason: "the subprotocol bearer.TOKEN requires the subprotocol acp"}
	errNoCookie  = &Refusal{Status: http.StatusUnauthorized,
		Reason: "this browser is not authorized: run `strata hud --open`"}
	errTooMany = &Refusal{Status: http.StatusTooManyRequests,
		Reason: "too many wrong tokens or codes; wait a moment", retryAfter: failureInterval}
)

// AuthorizeUpgrade decides whether a request may become a WebSocket, and returns the subprotocol to select ("acp" if the
// client offers it, else none). It requires the token, in the Authorization header or as the subprotocol bearer.TOKEN
// together with acp, or the cookie of the HUD with exactly our own Origin. It applies the rules of Protect again.
func (g *Guard) AuthorizeUpgrade(r *http.Request) (subprotocol string, err *Refusal) {
	v, err := g.examine(r)
	if err != nil {
		return "", err
	}
	token, offer, err := presentedToken(r.Header)
	if err != nil {
		return "", err
	}
	if token == nil {
		if v.from == fromSelf && g.hasCookie(r) {
			return offer, nil
		}
		return "", errNeedsToken
	}
	if err := g.checkToken(*token); err != nil {
		return "", err
	}
	return offer, nil
}

// AuthorizePage decides whether a browser may see pages of the HUD. It requires the cookie.
// It applies the rules of Protect again.
func (g *Guard) AuthorizePage(r *http.Request) *Refusal {
	v, err := g.examine(r)
	if err != nil {
		return err
	}
	if v.from == fromConfigured || !g.hasCookie(r) {
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
	return g.checkToken(*token)
}

// checkToken returns the refusal of a wrong token. It never refuses the right one, however many wrong ones precede it:
// a token cannot be guessed, and a client with an old one must not lock out the others. Wrong ones are rate-limited.
func (g *Guard) checkToken(presented string) *Refusal {
	if g.token.Matches(presented) {
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

// presentedToken returns the token of an upgrade, nil if there is none, and the subprotocol to select.
func presentedToken(h http.Header) (token *string, offer string, err *Refusal) {
	inProtocol, offer, err := offeredToken(h)
	if err != nil {
		return nil, "", err
	}
	inHeader, err := headerToken(h)
	if err != nil {
		return nil, "", err
	}
	if inHeader != nil && inProtocol != nil {
		return nil, "", errAmbiguous
	}
	if inHeader != nil {
		return inHeader, offer, nil
	}
	return inProtocol, offer, nil
}

// offeredToken returns the token in the offered subprotocols, nil if there is none, and the subprotocol to select.
func offeredToken(h http.Header) (token *string, offer string, err *Refusal) {
	for _, line := range h.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			text, isBearer := strings.CutPrefix(name, bearerProtocol)
			switch {
			case isBearer && token != nil:
				return nil, "", errAmbiguous
			case isBearer:
				token = &text
			case name == Subprotocol:
				offer = Subprotocol
			}
		}
	}
	if token != nil && offer == "" {
		return nil, "", errNoACP
	}
	return token, offer, nil
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
