package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"strata/server/access"
)

const modelWanted = "a model named provider/model, such as offline/digest"

var (
	hostName     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
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

func isOneLine(s string) bool  { return !strings.ContainsAny(s, "\r\n\x00") }
func isVariable(s string) bool { return variableName.MatchString(s) }
func isOrigin(s string) bool   { return access.CheckOriginPattern(s) == nil }
func isHost(s string) bool     { return access.CheckHost(s) == nil }

func isListen(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || !isPort(port) {
		return false
	}
	return host == "" || isAddress(host) || hostName.MatchString(host)
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
	return ok && providerName.MatchString(provider) && strings.TrimSpace(model) == model && model != "" &&
		len(model) <= 200 && !strings.ContainsFunc(model, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func isBaseURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == "" && !u.ForceQuery
}
