// Package digest summarizes conversations without a model. It divides messages into passages by their form, judges sentences
// and lines by who wrote them and what they say, and selects the facts with the most worth for their length.
//
// It must never do work that grows faster than its input, whatever the input is.
package digest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/tokens"
)

// Conversation is the input of a digest.
type Conversation struct {
	Previous string // summary of the messages before Messages; empty for none
	Messages []Message
	Later    bool // the conversation's first message is kept: it tells the goal
}

// Of returns a digest of at most budget tokens: the facts of a conversation that are most likely to be needed. Equal
// conversations have equal digests.
func Of(c *Conversation, counter *tokens.Counter, budget int) string {
	return collect(c).digest(counter, budget)
}

// render returns the sections of a digest, each in the order of the conversation.
func render(picked []fact) string {
	var sections [kinds][]string
	inOrder := slices.SortedStableFunc(slices.Values(picked), func(a, b fact) int { return a.order - b.order })
	for _, f := range inOrder {
		sections[f.kind] = append(sections[f.kind], f.text)
	}
	var out strings.Builder
	for k, lines := range sections {
		switch {
		case len(lines) == 0:
		case kind(k) == kindFile || kind(k) == kindName:
			fmt.Fprintf(&out, "%s: %s\n", titles[k], strings.Join(lines, ", "))
		case kind(k) == kindGoal:
			fmt.Fprintf(&out, "%s: %s\n", titles[k], strings.Join(lines, " "))
		default:
			fmt.Fprintf(&out, "%s:\n- %s\n", titles[k], strings.Join(lines, "\n- "))
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// The numbers by which facts are selected.
const (
	factWidth  = 260 // maximum length of a fact, in bytes
	leastWorth = 0.1 // of a fact: with less it is omitted even if there is room
	listShare  = 0.3 // of the budget, for the lists of files and names
	sameShare  = 0.7 // share of subjects from which a fact says the same as another one

	bytesPerToken = 4.0 // estimate for the cost of a fact
	overhead      = 10  // tokens added to each cost: short facts are not at their full advantage
	costWeight    = 0.8 // exponent of the cost: long ones are not at their full disadvantage
)

// selection picks facts that fit a budget.
type selection struct {
	counter *tokens.Counter
	left    int
	titled  [kinds]bool
	picked  []fact
	about   []map[string]bool // subjects of each picked fact
}

// digest renders the facts with the most worth for their cost.
func (c *collection) digest(counter *tokens.Counter, budget int) string {
	s := selection{counter: counter, left: budget}
	if s.choose(c.ranked(leastWorth)); len(s.picked) == 0 {
		s.choose(c.ranked(0))
	}
	for text := ""; ; s.picked = s.picked[:len(s.picked)-1] {
		if text = render(s.picked); len(s.picked) == 0 || counter.Count(text) <= budget {
			return text
		}
	}
}

// choose picks statements with a part of the budget, then paths and names, which they do not mention, then more statements.
func (s *selection) choose(statements, lists []fact) {
	reserved := int(float64(s.left) * listShare)
	s.left -= reserved
	rest := s.take(statements)
	s.left += reserved
	s.take(lists)
	s.take(rest)
}

// ranked returns the facts of more than the least worth by worth for their cost, in two lists: statements, and paths and names.
func (c *collection) ranked(least float64) (statements, lists []fact) {
	values := make(map[int]float64, len(c.facts))
	for _, f := range c.facts {
		if f.worth <= least {
			continue
		}
		f.text = clipped(f.text, factWidth)
		values[f.order] = f.worth / math.Pow(float64(len(f.text))/bytesPerToken+overhead, costWeight)
		if f.kind == kindGoal || f.kind == kindNote {
			values[f.order]++ // more than all others
		}
		if f.kind == kindFile || f.kind == kindName {
			lists = append(lists, f)
		} else {
			statements = append(statements, f)
		}
	}
	byValue := func(a, b fact) int {
		return cmp.Or(cmp.Compare(values[b.order], values[a.order]), b.order-a.order)
	}
	slices.SortFunc(statements, byValue)
	slices.SortFunc(lists, byValue)
	return statements, lists
}

// misses is the number of consecutive facts that exceed the rest of the budget after which take stops.
const misses = 16

// take picks the facts that fit, in order, and returns the others that say something new.
func (s *selection) take(facts []fact) (rest []fact) {
	missed := 0
	for i, f := range facts {
		if missed == misses {
			return append(rest, facts[i:]...)
		}
		if s.says(&f) {
			continue
		}
		cost := s.counter.Count(f.text) + 2 // for the list sign and the newline
		if !s.titled[f.kind] {
			cost += 3
		}
		if cost > s.left {
			missed++
			rest = append(rest, f)
			continue
		}
		s.left -= cost
		s.titled[f.kind], missed = true, 0
		s.picked = append(s.picked, f)
		s.about = append(s.about, set(f.about))
	}
	return rest
}

func set(words []string) map[string]bool {
	s := make(map[string]bool, len(words))
	for _, w := range words {
		s[w] = true
	}
	return s
}

// says reports whether a picked fact says the same as f.
func (s *selection) says(f *fact) bool {
	for i := range s.picked {
		p := &s.picked[i]
		switch {
		case p.text == f.text:
			return true
		case f.kind == kindFile || f.kind == kindName:
			if mentions(p.text, f.text) {
				return true
			}
		case len(f.about) > 0:
			same := 0
			for _, w := range f.about {
				if s.about[i][w] {
					same++
				}
			}
			if float64(same) >= sameShare*float64(len(f.about)) {
				return true
			}
		}
	}
	return false
}

// mentions reports whether text contains a term that is not part of a longer one.
func mentions(text, term string) bool {
	at := strings.Index(text, term)
	if at < 0 {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+len(term):])
	return !inTerm(before) && !unicode.IsLetter(after) && !unicode.IsDigit(after)
}
