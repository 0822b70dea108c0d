package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// masked stands for a secret in listings, whatever its length.
const masked = "********"

// Print lists every value with its origin, one a line. Secrets are masked.
func (c *Config) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range settings(c.keys(), "") {
		if _, ok := s.value.(profileValue); ok {
			c.printProfile(table, s)
			continue
		}
		fmt.Fprintf(table, "%s:\t%s\t# %v\n", s.dotted, s.shown(), c.Origin(s.dotted))
	}
	return table.Flush()
}

func (c *Config) printProfile(w io.Writer, s setting) {
	for _, o := range c.Profiles[s.name] {
		fmt.Fprintf(w, "%s.%s:\t%s\t# %v\n", s.dotted, strings.Join(o.Path, "."), shown(fmt.Sprint(o.Value)), o.Origin)
	}
}

func (s setting) shown() string {
	text := s.value.String()
	if s.secret && text != "" {
		return masked
	}
	return shown(text)
}

// shown quotes what would not fit into its line, or could not be seen.
func shown(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
