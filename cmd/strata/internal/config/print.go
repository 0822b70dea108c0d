package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Print lists the values of some keys with their origins, one per line, without keys all values. A key stands for all keys
// below it, too. Secrets are masked. The error names a key that does not exist.
func (c *Config) Print(w io.Writer, keys ...string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	found := make(map[string]bool)
	row := func(dotted, value string, origin Origin) {
		if selected(dotted, keys, found) {
			fmt.Fprintf(table, "%s:\t%s\t# %v\n", dotted, value, origin)
		}
	}
	for _, s := range c.all().values() {
		row(s.dotted, s.listed(), c.Origin(s.dotted))
	}
	for _, o := range c.Profiles {
		row(o.dotted(), printable(fmt.Sprint(o.Value)), o.Origin)
	}
	for _, key := range keys {
		if !found[key] {
			return fmt.Errorf("no setting %s: strata config show lists all", printable(key))
		}
	}
	return table.Flush()
}

// selected reports whether a setting matches one of the keys, and marks these keys as found. Without keys, all settings are
// selected.
func selected(dotted string, keys []string, found map[string]bool) bool {
	is := len(keys) == 0
	for _, key := range keys {
		if dotted == key || strings.HasPrefix(dotted, key+".") {
			found[key], is = true, true
		}
	}
	return is
}

// Keys returns the keys of all settings, with dots.
func (c *Config) Keys() []string {
	var keys []string
	for _, s := range c.all().values() {
		keys = append(keys, s.dotted)
	}
	return keys
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
