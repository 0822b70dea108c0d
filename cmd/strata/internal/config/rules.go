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

// rule is what a value, or the name of an entry, must be.
type rule struct {
	want    string // completes "is not"; MIN is the least value
	follows func(text string) bool
}

// rules are named by the tags allow and names of a setting, or by its type.
var rules = map[string]rule{
	"text":     {"text", hasNoNUL},
	"path":     {"a path", hasNoNUL},
	"line":     {"text of one line", func(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }},
	"folder":   {"a folder's path", func(s string) bool { return strings.TrimSpace(s) != "" && hasNoNUL(s) }},
	"listen":   {"an address such as 127.0.0.1:7717, [::1]:7717 or :7717", isListen},
	"token":    {"a token: 64 hexadecimal digits or 43 characters of base64url", anyText},
	"origin":   {"an origin such as https://editor.example:8443, a pattern such as https://*.example.org, or all of an editor's own scheme such as vscode-webview://*", func(s string) bool { return access.CheckOriginPattern(s) == nil }},
	"host":     {"a host such as strata.example or strata.example:8443", func(s string) bool { return access.CheckHost(s) == nil }},
	"url":      {"an http or https address without user, query and fragment", isBaseURL},
	"variable": {"the name of an environment variable such as ANTHROPIC_API_KEY (never the key itself)", matches(`[A-Za-z_][A-Za-z0-9_]{0,127}`)},
	"status":   {"an HTTP status of an error, 400 to 599", matches(`[45][0-9][0-9]`)},
	"model":    {"a model named provider/model, such as offline/digest", isModel},
	"provider": {"a provider's name: lower-case letters, digits, '.', '-' and '_'", isProvider},
	"header":   {"a header's name: letters, digits and '-'", matches(`[A-Za-z0-9-]{1,64}`)},
	"profile":  oneOf(ProfileNames...),

	"bool":          {"true or false", anyText},
	"*bool":         {"auto, true or false", anyText},
	"int":           {"a whole number of at least MIN", anyText},
	"int64":         {"a whole number of at least MIN", anyText},
	"*int":          {"a whole number of at least MIN", anyText},
	"*float64":      {"a number of at least MIN", anyText},
	"time.Duration": {"a duration such as 90s, 30m or 168h, at least MIN", anyText},
}

func oneOf(words ...string) rule {
	return rule{"one of " + strings.Join(words, ", "), func(s string) bool { return slices.Contains(words, s) }}
}

// matches returns a function that reports whether the whole text matches pattern.
func matches(pattern string) func(string) bool {
	return regexp.MustCompile(`^(` + pattern + `)$`).MatchString
}

var (
	isProvider = matches(`[a-z0-9][a-z0-9._-]{0,63}`)
	isHostName = matches(`[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?`)
)

func anyText(string) bool { return true }

func hasNoNUL(s string) bool { return !strings.ContainsRune(s, 0) }

func isListen(s string) bool {
	host, port, err := net.SplitHostPort(s)
	_, portErr := strconv.ParseUint(port, 10, 16)
	_, hostErr := netip.ParseAddr(host)
	return err == nil && portErr == nil && (host == "" || hostErr == nil || isHostName(host))
}

func isModel(s string) bool {
	provider, model, ok := strings.Cut(s, "/")
	return ok && isProvider(provider) && model != "" && len(model) <= 200 && strings.TrimSpace(model) == model &&
		!strings.ContainsFunc(model, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func isBaseURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == "" && !u.ForceQuery
}
