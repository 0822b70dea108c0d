package compaction

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/history"
	"strata/tokens"
)

// defaultBudget is the budget of a summary without one in the request, in tokens: 500 words.
const defaultBudget = maxWords * 4 / 3

// byWords returns a digest: the most informative sentences and names of a conversation, selected by their words.
// Equal requests have equal digests.
func (s *Summarizer) byWords(r Request) string {
	budget := r.Budget
	if budget <= 0 {
		budget = defaultBudget
	}
	budget = min(budget, s.counter.Count(r.Previous)+size(r.Messages)/2)
	var c collection
	c.previous(r.Previous)
	for i := range r.Messages {
		c.message(&r.Messages[i])
	}
	c.ends(r.Messages)
	return c.digest(s.counter, budget)
}

// collection is a list of facts without duplicates.
type collection struct {
	facts []fact
	known map[string]int // index in facts by kind and text
	goal  bool
	empty int // replies without text
}

// add adds a fact. It replaces an earlier one with the same text.
func (c *collection) add(f fact) {
	c.addAs(f, strings.ToLower(f.text))
}

// addAs adds a fact. It replaces an earlier one of the same kind that was added with the same alike.
func (c *collection) addAs(f fact, alike string) {
	if c.known == nil {
		c.known = make(map[string]int)
	}
	f.order = len(c.facts)
	key := fmt.Sprint(f.kind, alike)
	if i, known := c.known[key]; known {
		f.score = max(f.score, c.facts[i].score)
		c.facts[i].score = 0 // the newer one replaces it
	}
	c.known[key] = f.order
	c.facts = append(c.facts, f)
}

// previous adds the facts of an earlier digest, or the lines of a summary written by a model.
func (c *collection) previous(summary string) {
	section := kindNote
	for line := range strings.Lines(summary) {
		line = strings.TrimSpace(line)
		if title, rest, ok := strings.Cut(line, ":"); ok && slices.Contains(titles[:], title) {
			section = kind(slices.Index(titles[:], title))
			line = strings.TrimSpace(rest)
		}
		c.line(section, strings.TrimPrefix(line, "- "))
	}
}

// line adds a line of an earlier summary.
func (c *collection) line(section kind, line string) {
	switch {
	case line == "":
	case section == kindEarlier || section == kindLatest:
		c.add(fact{kind: kindEarlier, text: line, score: hint})
	case section == kindFile || section == kindName:
		for item := range strings.SplitSeq(line, ", ") {
			c.add(fact{kind: section, text: item, score: termScore(section)})
		}
	case section == kindGoal:
		c.goal = true
		c.add(fact{kind: kindGoal, text: line, score: surest})
	default:
		f, ok := judge(line, history.RoleAssistant)
		if !ok || f.kind != section {
			f = fact{kind: section, text: line, score: max(f.score, likely)}
		}
		if section == kindNote {
			f.score = surest
		}
		c.add(f)
	}
}

func termScore(section kind) int {
	if section == kindFile {
		return marked
	}
	return hint
}

func (c *collection) message(m *Message) {
	if strings.TrimSpace(m.Text) == "" && m.Role == history.RoleAssistant && !m.Calls {
		c.empty++
	}
	for _, f := range factsOf(m) {
		alike := strings.ToLower(f.text)
		if m.Role == history.RoleTool { // logs repeat an error with other numbers
			alike = strings.Map(withoutDigits, alike)
		}
		c.addAs(f, alike)
	}
	for term := range terms(m.Text) {
		if p, ok := pathIn(term); ok {
			c.add(fact{kind: kindFile, text: p, score: pathScore(m)})
		} else if isName(term) {
			c.add(fact{kind: kindName, text: term, score: hint})
		}
	}
}

func withoutDigits(r rune) rune {
	if unicode.IsDigit(r) {
		return -1
	}
	return r
}

// pathScore returns a higher score for paths written by the user or the model than for those in tool output.
func pathScore(m *Message) int {
	if m.Role == history.RoleTool {
		return hint
	}
	return marked
}

// ends adds the first and the last prompt and the last reply, each by its first sentence.
func (c *collection) ends(messages []Message) {
	if c.empty > 0 {
		c.add(fact{kind: kindFailure, text: fmt.Sprintf("%d empty replies", c.empty), score: likely})
	}
	var prompt, reply string
	for i := range messages {
		sentence := opening(messages[i].Text)
		switch {
		case sentence == "":
		case messages[i].Role == history.RoleUser:
			if !c.goal {
				c.goal = true
				c.add(fact{kind: kindGoal, text: sentence, score: surest})
			}
			c.add(fact{kind: kindEarlier, text: sentence, score: hint})
			prompt = sentence
		case messages[i].Role == history.RoleAssistant:
			reply = sentence
		}
	}
	for _, sentence := range []string{prompt, reply} {
		if sentence != "" {
			c.add(fact{kind: kindLatest, text: sentence, score: likely})
		}
	}
}

// opening returns the first sentence of a text.
func opening(text string) string {
	for sentence := range sentences(text) {
		return sentence
	}
	return ""
}

// widths are the candidate lengths for clipped facts, in bytes. The longest one at which the important facts fit is
// used.
var widths = []int{240, 180, 140, 110, 90, 75}

// digest renders as many facts as fit the budget, the most important ones first.
func (c *collection) digest(counter *tokens.Counter, budget int) string {
	ranked := c.ranked()
	picked := pick(ranked, width(ranked, budget), budget, counter)
	for text := ""; ; picked = picked[:len(picked)-1] {
		if text = render(picked); len(picked) == 0 || counter.Count(text) <= budget {
			return text
		}
	}
}

// ranked returns the facts in order of priority: by score, and within a score the newest of each kind in turn, so that
// no kind crowds out another.
func (c *collection) ranked() []fact {
	var ranked []fact
	for score := surest; score >= hint; score-- {
		var of [kinds][]fact
		for _, f := range slices.Backward(c.facts) {
			if f.score == score {
				of[f.kind] = append(of[f.kind], f)
			}
		}
		for turn, more := 0, true; more; turn++ {
			more = false
			for k := range of {
				if turn < len(of[k]) {
					ranked, more = append(ranked, of[k][turn]), true
				}
			}
		}
	}
	return ranked
}

// bytesPerToken is a conservative estimate for English text.
const bytesPerToken = 4

// width returns the longest width at which the facts with score marked or higher fit three quarters of the budget.
func width(ranked []fact, budget int) int {
	for _, w := range widths {
		need := 0
		for i := range ranked {
			if ranked[i].score >= marked {
				need += min(len(ranked[i].text), w) + bytesPerToken
			}
		}
		if need <= budget*bytesPerToken*3/4 {
			return w
		}
	}
	return widths[len(widths)-1]
}

// misses is the number of consecutive facts that exceed the rest of the budget after which pick stops.
const misses = 16

// pick returns the facts that fit the budget, clipped.
func pick(ranked []fact, width, budget int, counter *tokens.Counter) []fact {
	var picked []fact
	var titled [kinds]bool
	missed := 0
	for _, f := range ranked {
		if missed == misses {
			break
		}
		f.text = f.clip(width)
		if stated(picked, &f) {
			continue
		}
		cost := counter.Count(f.text) + 2 // for the list sign and the newline
		if !titled[f.kind] {
			cost += 3
		}
		if cost > budget {
			missed++
			continue
		}
		budget -= cost
		titled[f.kind], missed = true, 0
		picked = append(picked, f)
	}
	return picked
}

// stated reports whether a picked fact has the same text as f, or mentions f if f is a path or a name.
func stated(picked []fact, f *fact) bool {
	return slices.ContainsFunc(picked, func(p fact) bool {
		return p.text == f.text || f.kind >= kindFile && f.kind <= kindName && mentions(p.text, f.text)
	})
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

// render returns the sections of a digest, each in the order of the conversation.
func render(picked []fact) string {
	var sections [kinds][]string
	inOrder := slices.SortedFunc(slices.Values(picked), func(a, b fact) int { return a.order - b.order })
	for _, f := range inOrder {
		sections[f.kind] = append(sections[f.kind], f.text)
	}
	var out strings.Builder
	for k, lines := range sections {
		switch {
		case len(lines) == 0:
		case kind(k) == kindGoal || kind(k) == kindFile || kind(k) == kindName:
			fmt.Fprintf(&out, "%s: %s\n", titles[k], strings.Join(lines, ", "))
		default:
			fmt.Fprintf(&out, "%s:\n- %s\n", titles[k], strings.Join(lines, "\n- "))
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
