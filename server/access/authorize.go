package access

import (
	"net/http"
	"strings"
)

const (
	// Subprotocol is the WebSocket subprotocol of the Agent Client Protocol, the only one that is ever agreed on.
	Subprotocol = "acp"

	bearerProtocol = "bearer." // a subprotocol that carries the token, for clients that can set no header
)

var (
	errNeedsToken = &Refusal{Status: http.StatusUnauthorized,
		Reason: "a token is needed: `Authorization: Bearer TOKEN`, or the subprotocols acp and bearer.TOKEN"}
	errWrongToken = &Refusal{Status: http.StatusUnauthorized,
		Reason: "the token is wrong; the server's present one is in its token file and in server.json"}
	errAmbiguous = &Refusal{Status: http.StatusBadRequest, Reason: "the request carries more than one token"}
	errNoACP     = &Refusal{Status: http.StatusBadRequest, Reason: "the subprotocol bearer.TOKEN goes with the subprotocol acp only"}
	errNoCookie  = &Refusal{Status: http.StatusUnauthorized,
		Reason: "this browser is not let in yet: run `strata hud --open`"}
	errTooMany = &Refusal{Status: http.StatusTooManyRequests,
		Reason: "too many wrong tokens or codes: wait a moment", retryAfter: failureInterval}
)

// AuthorizeUpgrade decides whether a request may become a WebSocket, and returns the subprotocol to answer with ("acp"
// if it was offered, else none). It asks for the token in the Authorization header or as the subprotocol bearer.TOKEN
// beside acp, or for the cookie of the HUD with exactly our own Origin. It applies the rules of Protect again.
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

// AuthorizePage decides whether a browser may see pages of the HUD: it needs the cookie.
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

// AuthorizeMetrics decides whether a request may read figures: it needs the token in the Authorization header.
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

// checkToken never turns the right token away, however many wrong ones came before: a token cannot be guessed, and a
// client that goes on with an old one must not lock out the others. It is told to slow down.
func (g *Guard) checkToken(presented string) *Refusal {
	if g.keys.Load().token.Matches(presented) {
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

// presentedToken finds the token of an upgrade, nil if there is none, and the subprotocol to agree on.
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

// offeredToken reads the offered subprotocols.
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

// headerToken reads the Authorization header. Another scheme than Bearer counts as a wrong token.
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
