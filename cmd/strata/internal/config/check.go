package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"strata/internal/lazy"
	"strata/server/access"
)

const modelWanted = "a model named provider/model, such as offline/digest"

// Lengths are checked apart from the patterns: a repeat with a high limit is compiled to as many copies.
const (
	maxHostName     = 253
	maxVariableName = 128
	maxProviderName = 64
	maxHeaderName   = 64
)

var (
	hostName     = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
	variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
	providerName = lazy.Regexp(`^[a-z0-9][a-z0-9._-]*$`)
	headerName   = lazy.Regexp(`^[A-Za-z0-9-]+$`)
)

func anyText(field *string, wants string) scalar[string] {
	return text(field, wants, func(s string) bool { return !strings.ContainsRune(s, 0) })
}

func emptyOr(valid func(string) bool) func(string) bool {
	return func(s string) bool { return s == "" || valid(s) }
}

func notBlank(s string) bool   { return strings.TrimSpace(s) != "" && !strings.ContainsRune(s, 0) }
func isErrorStatus(n int) bool { return n >= 400 && n <= 599 }

func isWord(words ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

func isOneLine(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }
func isOrigin(s string) bool  { return access.CheckOriginPattern(s) == nil }
func isHost(s string) bool    { return access.CheckHost(s) == nil }

func isHostName(s string) bool { return len(s) <= maxHostName && hostName().MatchString(s) }
func isVariable(s string) bool { return len(s) <= maxVariableName && variableName().MatchString(s) }
func isProvider(s string) bool { return len(s) <= maxProviderName && providerName().MatchString(s) }
func isHeader(s string) bool   { return len(s) <= maxHeaderName && headerName().MatchString(s) }

func isListen(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || !isPort(port) {
		return false
	}
	return host == "" || isAddress(host) || isHostName(host)
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func isModel(s string) bool {
	provider, model, ok := strings.Cut(s, "/")
	return ok && isProvider(provider) && strings.TrimSpace(model) == model && model != "" &&
		len(model) <= 200 && !strings.ContainsFunc(model, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func isBaseURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == "" && !u.ForceQuery
}
