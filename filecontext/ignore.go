package filecontext

import (
	"strings"

	ignore "github.com/sabhiram/go-gitignore"

	"strata/internal/lazy"
)

// maxRules is the maximum number of lines read from one ignore file.
const maxRules = 2000

// rules are the patterns of one ignore file combined with those of the parent folders. nil ignores nothing.
type rules struct {
	above *rules
	base  string // prefix of the names to match; the patterns apply to the rest

	// The library supports a single file, and drops a negation of a name that this file does not ignore. The patterns
	// are therefore compiled twice: unchanged, and after a pattern that ignores everything, for names ignored by above.
	fresh   *ignore.GitIgnore
	ignored *ignore.GitIgnore
}

func newRules(above *rules, base, text string) *rules {
	var lines []string
	for line := range strings.Lines(text) {
		if len(lines) == maxRules {
			break
		}
		lines = append(lines, normalise(strings.TrimRight(line, "\r\n")))
	}
	return &rules{
		above: above, base: base,
		fresh:   ignore.CompileIgnoreLines(lines...),
		ignored: ignore.CompileIgnoreLines(append([]string{normalise("*")}, lines...)...),
	}
}

// ignore reports whether git ignores a name below the rules' folder. The name of a folder must end with a slash, and
// its parent folders must not be ignored.
func (r *rules) ignore(name string) bool {
	if r == nil {
		return false
	}
	rest := strings.TrimPrefix(name, r.base) + nameEnd
	if r.above.ignore(name) {
		return r.ignored.MatchesPath(rest)
	}
	return r.fresh.MatchesPath(rest)
}

// special matches the characters that are special in the library's regular expressions but not in git's patterns.
var special = lazy.Regexp(`[+(){}|$]`)

// nameEnd ends names and patterns. To the library a pattern for a folder also matches everything in it, so that "!*/"
// would negate each name in a subfolder.
const nameEnd = "\x01"

// normalise rewrites a pattern so that the library interprets it like git: a slash in the middle anchors it to its
// folder, ? matches any character except a slash, [! starts a negated class, and a match is one of the whole name.
func normalise(pattern string) string {
	if strings.HasPrefix(pattern, "#") {
		return pattern
	}
	body, negated := strings.CutPrefix(strings.TrimRight(pattern, " "), "!")
	if body == "" {
		return ""
	}
	body = special().ReplaceAllString(body, `\$0`)
	body = strings.ReplaceAll(body, "[!", "[^")
	if !strings.Contains(body, `\?`) {
		body = strings.ReplaceAll(body, "?", `[^\x2f]`)
	}
	if strings.Contains(strings.TrimSuffix(body, "/"), "/") && !strings.HasPrefix(body, "/") {
		body = "/" + body
	}
	if !strings.HasSuffix(body, "/") {
		body += "(|/)"
	}
	if negated {
		body = "!" + body
	}
	return body + nameEnd
}
