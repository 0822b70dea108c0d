package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"strata/filecontext/secrets"
	"strata/internal/lazy"
	"strata/server/access"
	"strata/session/approval"
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
	"line":     {"text of one line", isLine},
	"folder":   {"a folder's path", func(s string) bool { return strings.TrimSpace(s) != "" && hasNoNUL(s) }},
	"listen":   {"an address such as 127.0.0.1:7717, [::1]:7717 or :7717", isListen},
	"token":    {"a token: 64 hexadecimal digits or 43 characters of base64url", anyText},
	"origin":   {"an origin such as https://editor.example:8443, a pattern such as https://*.example.org, or all of an editor's own scheme such as vscode-webview://*", func(s string) bool { return access.CheckOriginPattern(s) == nil }},
	"secret":   {"a pattern such as *.pem, private/ or .docker/config.json, ! before it for an exception, or default for the built-in patterns", func(s string) bool { return secrets.Check(s) == nil }},
	"host":     {"a host such as strata.example or strata.example:8443", func(s string) bool { return access.CheckHost(s) == nil }},
	"url":      {"an http or https address without user, query and fragment", isBaseURL},
	"variable": {"the name of an environment variable such as ANTHROPIC_API_KEY (never the key itself)", isVariable},
	"status":   {"an HTTP status of an error, 400 to 599", matches(3, `[45][0-9][0-9]`)},
	"model":    {"a model named provider/model, such as offline/digest", isModel},
	"provider": {"a provider's name: lower-case letters, digits, '.', '-' and '_'", isProvider},
	"profile":  oneOf(ProfileNames...),
	"allowing": {callRule, func(s string) bool { return faults["allowing"](s) == nil }},
	"denying":  {callRule, func(s string) bool { return faults["denying"](s) == nil }},
	"header":   {"a header's name: letters, digits and '-'", matches(64, `[A-Za-z0-9-]+`)},

	"budget":       {"a budget's name: letters, digits, '.', '-' and '_'", matches(64, `[A-Za-z0-9._-]+`)},
	"mcpserver":    {"a server's name: letters, digits, '.', '-' and '_'", matches(64, `[A-Za-z0-9._-]+`)},
	"program":      {"a program: a path or a name", func(s string) bool { return strings.TrimSpace(s) != "" && hasNoNUL(s) }},
	"mcpurl":       {"an http or https address without user or fragment", isMCPURL},
	"envname":      {"the name of an environment variable: letters, digits and '_'", isVariable},
	"template":     {"text, in which ${NAME} refers to an environment variable and $${ is a literal ${", func(s string) bool { return hasNoNUL(s) && isTemplate(s) }},
	"linetemplate": {"text of one line, in which ${NAME} refers to an environment variable and $${ is a literal ${", func(s string) bool { return isLine(s) && isTemplate(s) }},

	"bool":          {"true or false", anyText},
	"*bool":         {"auto, true or false", anyText},
	"int":           {"a whole number of at least MIN", anyText},
	"int64":         {"a whole number of at least MIN", anyText},
	"*int":          {"a whole number of at least MIN", anyText},
	"*float64":      {"a number of at least MIN", anyText},
	"time.Duration": {"a duration such as 90s, 30m or 168h, at least MIN", anyText},
}

const callRule = "a rule such as edit_file, run_command(make check) or run_command(go test *)"

// faults are the rules that can say more of a text than that it does not follow.
var faults = map[string]func(text string) error{
	"allowing": func(s string) error { _, err := approval.ParseAllow(s); return err },
	"denying":  func(s string) error { _, err := approval.ParseDeny(s); return err },
}

func oneOf(words ...string) rule {
	return rule{"one of " + strings.Join(words, ", "), func(s string) bool { return slices.Contains(words, s) }}
}

// matches returns a function that reports whether a text has at most limit bytes and matches pattern as a whole. A limit
// in the pattern would be compiled to as many copies.
func matches(limit int, pattern string) func(string) bool {
	compiled := lazy.Regexp(`^(` + pattern + `)$`)
	return func(s string) bool { return len(s) <= limit && compiled().MatchString(s) }
}

var (
	isProvider = matches(64, `[a-z0-9][a-z0-9._-]*`)
	isVariable = matches(128, `[A-Za-z_][A-Za-z0-9_]*`)
	isHostName = matches(253, `[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?`)
)

// IsProviderName reports whether a text can be the name of a provider. Such a name is also the name of a file.
func IsProviderName(s string) bool { return isProvider(s) }

func anyText(string) bool { return true }

func hasNoNUL(s string) bool { return !strings.ContainsRune(s, 0) }

func isLine(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }

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
	return err == nil && isMCPURL(s) && u.RawQuery == "" && !u.ForceQuery
}

// isMCPURL accepts a query: some services take their key there.
func isMCPURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}
