package architecture

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var (
	fencedBlock  = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan     = regexp.MustCompile("`[^`\n]*`")
	markdownLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	imageSource  = regexp.MustCompile(`\b(?:src|srcset)="([^"\s]+)"`)
	heading      = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
)

// linkFaults returns the broken links and image sources of a Markdown file. read returns a file of the tree and whether it
// exists; a folder has no content. Links to other hosts are not checked.
func linkFaults(name string, content []byte, read func(name string) (content []byte, ok bool)) []string {
	text := codeSpan.ReplaceAllString(fencedBlock.ReplaceAllString(string(content), ""), "")
	var faults []string
	for _, m := range append(markdownLink.FindAllStringSubmatch(text, -1), imageSource.FindAllStringSubmatch(text, -1)...) {
		target, err := url.Parse(m[1])
		if err == nil && target.IsAbs() {
			continue
		}
		if err != nil || !leads(name, content, target, read) {
			faults = append(faults, fmt.Sprintf("%s links to %s, which does not exist", name, m[1]))
		}
	}
	return faults
}

// leads reports whether the target of a relative link exists.
func leads(name string, content []byte, target *url.URL, read func(name string) ([]byte, bool)) bool {
	if target.Path != "" {
		var ok bool
		if content, ok = read(path.Join(path.Dir(name), target.Path)); !ok {
			return false
		}
	}
	return target.Fragment == "" || anchors(content)[target.Fragment]
}

// anchors returns the anchors of a Markdown file's headings, in GitHub's form.
func anchors(content []byte) map[string]bool {
	names := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(content), ""), -1) {
		names[strings.Map(anchorRune, strings.TrimSpace(m[1]))] = true
	}
	return names
}

func anchorRune(r rune) rune {
	switch {
	case r == ' ':
		return '-'
	case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
		return unicode.ToLower(r)
	}
	return -1
}
