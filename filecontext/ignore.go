package filecontext

import (
	"strings"

	ignore "github.com/sabhiram/go-gitignore"

	"strata/internal/lazy"
)

// maxRules is how many lines of one ignore file count.
const maxRules = 2000

// rules are the patterns of one ignore file on top of those of the folders above. nil ignores nothing.
type rules struct {
	above *rules
	base  string // what the names begin with that the patterns are about; the patterns see the rest

	// The library knows one file only, and forgets a negation of what that file did not ignore. So the patterns are
	// compiled twice: as they are, and behind one that ignores everything, for what the rules above ignore.
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
		ignored: ignore.CompileIgnoreLines(append([]string{"*"}, lines...)...),
	}
}

// ignore reports whether git ignores a name below the rules' folder. The name of a folder ends with a slash;
// that the folders above it are not ignored is known.
func (r *rules) ignore(name string) bool {
	if r == nil {
		return false
	}
	rest := strings.TrimPrefix(name, r.base)
	if r.above.ignore(name) {
		return r.ignored.MatchesPath(rest)
	}
	return r.fresh.MatchesPath(rest)
}

// special are the characters that mean something in the regular expressions which the library makes of patterns, but nothing in a pattern.
var special = lazy.Regexp(`[+(){}|$]`)

// normalise writes a pattern the way the library reads it as git does: a slash inside anchors it to its folder,
// ? is any character but a slash, [! is a negated class.
func normalise(pattern string) string {
	if strings.HasPrefix(pattern, "#") {
		return pattern
	}
	body, negated := strings.CutPrefix(pattern, "!")
	body = special().ReplaceAllString(body, `\$0`)
	body = strings.ReplaceAll(body, "[!", "[^")
	if !strings.Contains(body, `\?`) {
		body = strings.ReplaceAll(body, "?", `[^\x2f]`)
	}
	if strings.Contains(strings.TrimSuffix(body, "/"), "/") && !strings.HasPrefix(body, "/") {
		body = "/" + body
	}
	if negated {
		body = "!" + body
	}
	return body
}
