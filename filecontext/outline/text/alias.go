package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The limits of aliases.
const (
	maxAliases = 9
	maxPrefix  = 300    // bytes
	maxTexts   = 20_000 // paths and imports that are looked at
	minSaving  = 50     // tokens of all blocks; less is not worth a legend
)

// Aliases stand for long prefixes of paths and imports. The first is written @1/.
type Aliases struct {
	prefixes []string
}

// RestoreAliases returns the aliases of earlier blocks from their prefixes. It returns
// none if they cannot be prefixes that Prefixes returned.
func RestoreAliases(prefixes []string) Aliases {
	a := Aliases{}
	for _, p := range prefixes[:min(len(prefixes), maxAliases)] {
		if p == "" || len(p) > maxPrefix || strings.ContainsFunc(p, isUnsafe) {
			return Aliases{}
		}
		a.prefixes = append(a.prefixes, p)
	}
	return a
}

// Prefixes returns the prefixes, for RestoreAliases.
func (a Aliases) Prefixes() []string { return slices.Clone(a.prefixes) }

// Legend explains the aliases; it is "" if there are none.
func (a Aliases) Legend() string {
	if len(a.prefixes) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Abbreviations at the start of paths and imports:\n")
	for i, p := range a.prefixes {
		fmt.Fprintf(&b, " @%d/ = %s\n", i+1, p)
	}
	return b.String()
}

// shorten replaces the longest prefix that has an alias.
func (a Aliases) shorten(text string) string {
	best := -1
	for i, p := range a.prefixes {
		if len(text) > len(p) && strings.HasPrefix(text, p) && (best < 0 || len(p) > len(a.prefixes[best])) {
			best = i
		}
	}
	if best < 0 {
		return text
	}
	return fmt.Sprintf("@%d/", best+1) + text[len(a.prefixes[best]):]
}

// FindAliases returns the aliases that save most tokens in the blocks of files, or none if they save little. Aliases
// concern all blocks, so they change seldom: the previous ones are kept as long as they save tokens, and at least half
// of what new ones would.
func FindAliases(files []File, count func(string) int, previous Aliases) Aliases {
	texts := shortened(files)
	found := candidatesOf(texts, count)
	saved, kept := found.saving(texts, count), previous.saving(texts, count)
	switch {
	case kept > 0 && 2*kept >= saved:
		return previous
	case saved >= minSaving:
		return found
	}
	return Aliases{}
}

// shortened returns how often each path or import occurs at a place where an alias can stand.
func shortened(files []File) map[string]int {
	texts := make(map[string]int)
	add := func(s string) {
		if _, known := texts[s]; known || len(texts) < maxTexts {
			texts[s]++
		}
	}
	for _, f := range files {
		add(quoted(f.Path))
		if f.Outline == nil {
			continue
		}
		names := importNames(f)
		for _, n := range names[:min(len(names), maxImports)] {
			add(n)
		}
	}
	return texts
}

// saving returns by how many tokens the aliases shorten the texts, less those of the legend.
func (a Aliases) saving(texts map[string]int, count func(string) int) int {
	if len(a.prefixes) == 0 {
		return 0
	}
	sum := -count(a.Legend())
	for t, times := range texts {
		if s := a.shorten(t); s != t {
			sum += times * (count(t) - count(s))
		}
	}
	return sum
}

// candidatesOf chooses prefixes one after the other: the one that saves most in the texts that have none yet.
func candidatesOf(texts map[string]int, count func(string) int) Aliases {
	var a Aliases
	rest := maps.Clone(texts)
	for len(a.prefixes) < maxAliases {
		best, most := "", 0
		for p, times := range prefixes(rest) {
			tokens := count(p)
			saving := times*(tokens-3) - tokens - 5
			if saving > most || saving == most && saving > 0 && p < best {
				best, most = p, saving
			}
		}
		if best == "" {
			break
		}
		a.prefixes = append(a.prefixes, best)
		maps.DeleteFunc(rest, func(t string, _ int) bool { return len(t) > len(best) && strings.HasPrefix(t, best) })
	}
	slices.Sort(a.prefixes)
	return a
}

// prefixes returns how often each prefix that ends with a separator occurs, of those that occur at least three times.
func prefixes(texts map[string]int) map[string]int {
	found := make(map[string]int)
	for t, times := range texts {
		if strings.ContainsAny(t[:min(len(t), 1)], "\"@+.<") {
			continue
		}
		for i := range min(len(t)-1, maxPrefix) { // what follows a prefix is not empty
			if strings.IndexByte(`/.\:`, t[i]) >= 0 && strings.IndexByte(`/.\:`, t[i+1]) < 0 && i > 3 {
				found[t[:i+1]] += times
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, times int) bool { return times < 3 })
	return found
}
