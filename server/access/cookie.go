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
	// CookieLife is how long a browser is let in after it used a code.
	CookieLife = 7 * 24 * time.Hour

	// maxCookies of our name are looked at. Cookies don't know ports, so another server on this host can set some.
	maxCookies = 8

	cookieVersion = "1"
	maxExpiryLen  = 12 // digits of a Unix time, beyond the year 30000
	maxSealLen    = 43 // base64url of 32 bytes
)

// cookieKey derives the key of the cookies from the token: a new token makes all of them worthless,
// and no cookie says anything about the token.
func cookieKey(t Token) []byte {
	mac := hmac.New(sha256.New, []byte(t.Reveal()))
	mac.Write([]byte("strata hud cookie key 1"))
	return mac.Sum(nil)
}

// cookieName has the port in it because servers on one host share their cookies.
func (g *Guard) cookieName() string { return "strata_" + strconv.Itoa(g.port) }

// newCookie makes the cookie that lets a browser in until CookieLife from now.
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
	mac := hmac.New(sha256.New, g.keys.Load().cookie)
	fmt.Fprintf(mac, "%s %d %d", cookieVersion, g.port, expiry)
	return mac.Sum(nil)
}

// hasCookie reports whether one of the request's cookies lets it in.
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

// parseCookie takes apart what cookieValue made: version, Unix time, seal.
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
