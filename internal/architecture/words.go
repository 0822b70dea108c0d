package architecture

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// wordRule is a pattern that must not occur in tracked text.
type wordRule struct {
	pattern *regexp.Regexp
	reason  string
	applies func(path string) bool
}

// Patterns are assembled from parts, so that this file does not contain them.
var wordRules = []wordRule{
	{
		regexp.MustCompile(`(^|[^\w.~/-])/(work|root)/\w`),
		"a path of one machine",
		anywhere,
	},
	{
		regexp.MustCompile(`(?i)\b(registry\.npmjs|registry\.yarnpkg|proxy\.golang|sum\.golang|deb\.debian|pypi)\.org\b`),
		"a host that packages are fetched from, which is for each machine to choose",
		anywhere,
	},
	{
		regexp.MustCompile(`(?i)\b(co-authored` + `-by|generated (by|with) (ai|an? (assistant|model)))\b`),
		"who wrote it, which is the version control's to say",
		anywhere,
	},
	{
		regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`),
		"a note about work that is not done",
		isSource,
	},
}

func anywhere(string) bool { return true }

// isSource reports whether a file is written by hand, not built, recorded or copied.
func isSource(name string) bool {
	for _, folder := range []string{"dist", "testdata", "node_modules"} {
		if slices.Contains(strings.Split(path.Dir(name), "/"), folder) {
			return false
		}
	}
	return name != "go.sum" && name != "LICENSE" && name != "NOTICE" && !strings.HasPrefix(name, "web/assets/hud")
}

// wordFaults returns the lines of a text file that break a rule. Binary files are not checked.
func wordFaults(name string, content []byte) []string {
	if isBinary(content) {
		return nil
	}
	var faults []string
	for _, rule := range wordRules {
		if !rule.applies(name) {
			continue
		}
		for _, at := range rule.pattern.FindAllIndex(content, -1) {
			line := 1 + bytes.Count(content[:at[0]], []byte("\n"))
			faults = append(faults, fmt.Sprintf("%s:%d: %q: %s", name, line, bytes.TrimSpace(content[at[0]:at[1]]), rule.reason))
		}
	}
	return faults
}

// isBinary reports whether content is not text. Like git, it looks for a NUL near the start.
func isBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}
