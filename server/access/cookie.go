package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// CookieLife is the lifetime of the cookie that a browser gets for a code.
	CookieLife = 7 * 24 * time.Hour

	// maxCookies is the maximum number of cookies of our name that are checked. Cookies ignore ports, so another server
	// on this host can set some.
	maxCookies = 8

	cookieVersion = "1"
	maxExpiryLen  = 12 // digits of a Unix time, up to the year 33658
	maxSealLen    = 43 // base64url of 32 bytes
)

// cookieKey derives the key of the cookies from the token: a new token invalidates all of them, and no cookie reveals
// anything about the token.
func cookieKey(t Token) []byte {
	mac := hmac.New(sha256.New, []byte(t.Reveal()))
	mac.Write([]byte("strata hud cookie key 1"))
	return mac.Sum(nil)
}

// cookieName returns the name of the cookie. It contains the port because servers on one host share their cookies.
func (g *Guard) cookieName() string { return "strata_" + strconv.Itoa(g.port) }

// newCookie returns a cookie that authorizes a browser for CookieLife.
func (g *Guard) newCookie(secure bool) *http.Cookie {
	return &http.Cookie{
		Name:     g.cookieName(),
		Value:    g.cookieValue(g.now().Add(CookieLife).Unix()),
		Path:     "/",
		MaxAge:   int(CookieLife.Seconds()),
		Secure:   secure,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
}

func (g *Guard) cookieValue(expiry int64) string {
	seal := base64.RawURLEncoding.EncodeToString(g.sealExpiry(expiry))
	return cookieVersion + "." + strconv.FormatInt(expiry, 10) + "." + seal
}

func (g *Guard) sealExpiry(expiry int64) []byte {
	mac := hmac.New(sha256.New, g.cookieKey)
	fmt.Fprintf(mac, "%s %d %d", cookieVersion, g.port, expiry)
	return mac.Sum(nil)
}

// hasCookie reports whether a request has a valid cookie.
func (g *Guard) hasCookie(r *http.Request) bool {
	cookies := r.CookiesNamed(g.cookieName())
	for _, c := range cookies[:min(len(cookies), maxCookies)] {
		if g.cookieValid(c.Value) {
			return true
		}
	}
	return false
}

func (g *Guard) cookieValid(value string) bool {
	expiry, seal, ok := parseCookie(value)
	return ok && hmac.Equal(seal, g.sealExpiry(expiry)) && g.now().Unix() < expiry
}

// parseCookie splits the value of a cookie into its expiry, as Unix time, and its seal.
func parseCookie(value string) (expiry int64, seal []byte, ok bool) {
	version, rest, _ := strings.Cut(value, ".")
	digits, sealText, _ := strings.Cut(rest, ".")
	if version != cookieVersion || digits == "" || len(digits) > maxExpiryLen || digits[0] < '1' || digits[0] > '9' {
		return 0, nil, false
	}
	expiry, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(sealText) > maxSealLen {
		return 0, nil, false
	}
	seal, err = base64.RawURLEncoding.Strict().DecodeString(sealText)
	return expiry, seal, err == nil && len(seal) == sha256.Size
}
