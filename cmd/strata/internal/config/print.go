package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Print lists every value with its origin, one per line. Secrets are masked.
func (c *Config) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range c.all().values() {
		fmt.Fprintf(table, "%s:\t%s\t# %v\n", s.dotted, s.listed(), c.Origin(s.dotted))
	}
	for _, o := range c.Profiles {
		fmt.Fprintf(table, "%s:\t%s\t# %v\n", o.dotted(), printable(fmt.Sprint(o.Value)), o.Origin)
	}
	return table.Flush()
}

// mask stands for a secret, whatever its length.
const mask = "********"

// listed returns the value without secrets, on one line.
func (s setting) listed() string {
	text := s.String()
	address, _, hasQuery := strings.Cut(text, "?")
	switch secret := s.tag.Get("secret"); {
	case secret == "value" && text != "":
		return mask
	case secret == "query" && hasQuery:
		return printable(address + "?" + mask)
	}
	return printable(text)
}

// printable quotes a text that would not fit into its line or would be invisible.
func printable(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
