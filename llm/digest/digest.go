// Package digest describes a request in words, in the place of a reply of a model.
package digest

import (
	"strconv"
	"strings"

	"strata/history"
	"strata/internal/lazy"
	"strata/internal/plural"
)

// The limits of a digest.
const (
	maxQuoted = 200    // lines of the prompt
	maxCount  = 10_000 // numbers
)

// Contents are the figures of a request.
type Contents struct {
	Tools, System, Context int // numbers of tools and entries
	Messages               map[history.Role]int
	Tokens                 int
	Prompt                 string // the last one
}

// Lines returns the lines of a digest: what a request contains, its last prompt, and numbers if the prompt asks to count.
func Lines(c Contents) []string {
	lines := []string{
		"This is the offline digest: no language model is asked.\n",
		"The request holds:\n",
	}
	for _, s := range []string{
		plural.Of(c.Tools, "tool"),
		plural.Of(c.System, "system entry"),
		plural.Of(c.Context, "context entry"),
		plural.Of(c.Messages[history.RoleUser], "user message"),
		plural.Of(c.Messages[history.RoleAssistant], "assistant message"),
		plural.Of(c.Messages[history.RoleTool], "tool message"),
	} {
		lines = append(lines, "- "+s+"\n")
	}
	lines = append(lines, "- about "+plural.Of(c.Tokens, "token")+" in all\n")
	if c.Prompt != "" {
		lines = append(lines, "\nThe last prompt:\n")
		lines = append(lines, quoted(c.Prompt)...)
	}
	return append(lines, counted(c.Prompt)...)
}

func quoted(prompt string) []string {
	var out []string
	for line := range strings.Lines(prompt) {
		if len(out) == maxQuoted {
			return append(out, "> […]\n")
		}
		out = append(out, "> "+strings.TrimRight(line, "\r\n")+"\n")
	}
	return out
}

var countRequest = lazy.Regexp(`(?is)\bcount\b.{0,80}?\b(?:from 1 )?to (\d{1,9})\b`)

// counted counts where the prompt asks to count from 1 to a number, so that a long answer, and its end, can be tried.
func counted(prompt string) []string {
	m := countRequest().FindStringSubmatch(prompt)
	if m == nil {
		return nil
	}
	n, _ := strconv.Atoi(m[1])
	out := []string{"\nCounting needs no model:\n"}
	for i := range min(n, maxCount) {
		out = append(out, strconv.Itoa(i+1)+"\n")
	}
	return out
}
