package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// CookieLife is the lifetime of what a browser gets for a code: the cookie, and the secret of its pages.
	CookieLife = 24 * time.Hour

	// maxCookies is the maximum number of cookies of our name that are checked. Cookies ignore ports, so another server
	// on this host can set some.
	maxCookies = 8

	cookieVersion = "2"
	maxExpiryLen  = 12 // digits of a Unix time, up to the year 33658
	nonceLen      = 16 // bytes
	maxSealLen    = 43 // base64url of 32 bytes
)

// A browser gets a cookie and the secret of a page for a code. Every server on this host receives the cookie, since
// cookies ignore ports. So the cookie alone opens nothing but the empty page of the HUD. The page keeps the secret in the
// storage of its origin, which does have a port, and sends it with each connection.

// pass is what a cookie contains.
type pass struct {
	expiry int64 // Unix time
	nonce  [nonceLen]byte
}

// newPass returns a pass that lasts for CookieLife.
func (g *Guard) newPass() pass {
	p := pass{expiry: g.now().Add(CookieLife).Unix()}
	rand.Read(p.nonce[:]) // never fails
	return p
}

// cookieName returns the name of the cookie. It contains the port because servers on one host share their cookies.
func (g *Guard) cookieName() string { return "strata_" + strconv.Itoa(g.port) }

// cookie returns the cookie for a pass.
func (g *Guard) cookie(k *keys, p pass, secure bool) *http.Cookie {
	return &http.Cookie{
		Name:     g.cookieName(),
		Value:    g.cookieValue(k, p),
		Path:     "/",
		MaxAge:   int(CookieLife.Seconds()),
		Secure:   secure,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
}

func (g *Guard) cookieValue(k *keys, p pass) string {
	return cookieVersion + "." + strconv.FormatInt(p.expiry, 10) + "." + encode(p.nonce[:]) + "." + encode(g.seal(k.cookie, p))
}

// pageSecret returns the secret of the pages that belong to a pass.
func (g *Guard) pageSecret(k *keys, p pass) string { return encode(g.seal(k.page, p)) }

func (g *Guard) seal(key []byte, p pass) []byte {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s %d %d %x", cookieVersion, g.port, p.expiry, p.nonce)
	return mac.Sum(nil)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// passes returns the passes of the valid cookies of a request.
func (g *Guard) passes(k *keys, r *http.Request) []pass {
	var valid []pass
	cookies := r.CookiesNamed(g.cookieName())
	for _, c := range cookies[:min(len(cookies), maxCookies)] {
		if p, ok := g.validPass(k, c.Value); ok {
			valid = append(valid, p)
		}
	}
	return valid
}

func (g *Guard) validPass(k *keys, cookie string) (pass, bool) {
	p, seal, ok := parseCookie(cookie)
	return p, ok && hmac.Equal(seal, g.seal(k.cookie, p)) && g.now().Unix() < p.expiry
}

// passOf returns the pass of the request's cookies that a page's secret belongs to.
func (g *Guard) passOf(k *keys, r *http.Request, secret string) (found pass, ok bool) {
	for _, p := range g.passes(k, r) { // all of them, so that timing reveals nothing
		if hmac.Equal([]byte(secret), []byte(g.pageSecret(k, p))) {
			found, ok = p, true
		}
	}
	return found, ok
}

// parseCookie splits the value of a cookie into its pass and its seal.
func parseCookie(value string) (p pass, seal []byte, ok bool) {
	parts := strings.SplitN(value, ".", 5)
	if strings.ContainsAny(value, "\r\n") { // the base64 decoder skips line breaks
		return p, nil, false
	}
	if len(parts) != 4 || parts[0] != cookieVersion || len(parts[2]) > maxSealLen || len(parts[3]) > maxSealLen {
		return p, nil, false
	}
	digits := parts[1]
	if digits == "" || len(digits) > maxExpiryLen || digits[0] < '1' || digits[0] > '9' {
		return p, nil, false
	}
	expiry, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return p, nil, false
	}
	nonce, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || len(nonce) != nonceLen {
		return p, nil, false
	}
	seal, err = base64.RawURLEncoding.Strict().DecodeString(parts[3])
	p.expiry = expiry
	copy(p.nonce[:], nonce)
	return p, seal, err == nil && len(seal) == sha256.Size
}
