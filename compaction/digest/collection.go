package digest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"strata/history"
)

// collection is a list of facts without duplicates.
type collection struct {
	facts []fact
	known map[string]int // index in facts by kind and text
}

// collect returns the facts of a conversation: those of the previous summary first, then those of the messages.
func collect(r *Conversation) *collection {
	c := &collection{known: make(map[string]int)}
	c.previous(r.Previous)
	v := overviewOf(r.Messages, r.Previous)
	goal := !r.Later && r.Previous == ""
	for i := range r.Messages {
		said, shown := v.statements(i), v.outputs(i)
		if goal && r.Messages[i].Role == history.RoleUser {
			goal = !setGoal(said)
		}
		facts := append(said, shown...)
		for _, f := range facts {
			c.add(f)
		}
		c.listed(v, i, facts)
	}
	c.emptyReplies(r.Messages)
	c.newest(r.Messages)
	c.takeBack()
	return c
}

// add adds a fact. It replaces an earlier one of the same kind with the same text.
func (c *collection) add(f fact) {
	f.order = len(c.facts)
	key := fmt.Sprint(f.kind, strings.ToLower(f.text))
	if i, known := c.known[key]; known {
		f.worth = max(f.worth, c.facts[i].worth)
		c.facts[i].worth = 0
	}
	c.known[key] = f.order
	c.facts = append(c.facts, f)
}

// statements returns the facts that the speaker of a message states.
func (v *overview) statements(message int) []fact {
	m := &v.messages[message]
	if m.Role == history.RoleTool {
		return nil
	}
	facts := statements(v.parts[message], m.Role == history.RoleUser, func(p *passage) float64 { return v.share(message, p) })
	for k := range facts {
		f := &facts[k]
		if f.kind == kindDecision {
			f.near = v.around(message)
		}
		if f.asks && f.kind != kindOpen && !v.answered(message) {
			f.worth += worths[kindOpen] - worths[f.kind]
			f.kind = kindOpen
		}
	}
	return facts
}

// outputs returns the facts in the outputs of programs in a message.
func (v *overview) outputs(message int) []fact {
	var facts []fact
	for k := range v.parts[message] {
		if p := &v.parts[message][k]; p.form == output {
			facts = append(facts, unusual(p.lines, v.messages[message].Failed)...)
		}
	}
	return facts
}

// The numbers for a goal: sentences that say less are greetings.
const (
	goalBytes    = 300
	goalSubjects = 3
	goalChars    = 10
)

// setGoal turns the statements of a prompt into the goal, and reports whether they say enough for that.
func setGoal(facts []fact) bool {
	room, found := goalBytes, false
	for i := range facts {
		f := &facts[i]
		if f.worth == 0 || len(f.about) < goalSubjects || utf8.RuneCountInString(f.text) < goalChars || room <= 0 {
			continue
		}
		f.text = clipped(f.text, room)
		room -= len(f.text)
		f.kind, f.worth, found = kindGoal, worths[kindGoal], true
	}
	return found
}

// The shares of worth of paths and names, by where they are.
const (
	shareByUser = 1.2
	shareInCall = 0.6
	shareOfWeb  = 0.3 // of web addresses
	shareMarked = 1.4 // names between backticks
)

// listed adds the paths and names that the speakers of a message use, and the paths in arguments of tools and in failures.
func (c *collection) listed(v *overview, message int, facts []fact) {
	for k := range v.parts[message] {
		p := &v.parts[message][k]
		switch {
		case v.own(message, p) && v.messages[message].Role == history.RoleUser:
			c.paths(p.text(), shareByUser)
			c.names(p.text(), shareByUser)
		case v.own(message, p):
			c.paths(p.text(), 1)
			c.names(p.text(), 1)
		case p.form == call:
			_, args, _ := strings.Cut(p.text(), "{")
			c.paths(args, shareInCall)
		}
	}
	for k := range facts {
		if f := &facts[k]; f.kind == kindFailure {
			c.paths(f.text+" "+f.place, 1)
		}
	}
}

// paths adds the paths in a text.
func (c *collection) paths(text string, share float64) {
	for term := range terms(text) {
		if p, ok := pathIn(term); ok {
			worth := worths[kindFile] * share
			if isWeb(p) {
				worth *= shareOfWeb
			}
			c.add(fact{kind: kindFile, text: strings.TrimPrefix(strings.TrimRight(p, "/"), "./"), worth: worth})
		}
	}
}

// names adds the names in a text.
func (c *collection) names(text string, share float64) {
	add := func(name string, share float64) {
		if _, ok := pathIn(name); !ok {
			c.add(fact{kind: kindName, text: name, worth: worths[kindName] * share})
		}
	}
	for term := range terms(text) {
		if isTerm(term) {
			add(term, share)
		}
	}
	for span := range spans(text) {
		add(span, share*shareMarked)
	}
}

// newest adds the first sentence of the newest message that has one. It is for conversations without any other fact: a digest
// that is empty is none.
func (c *collection) newest(messages []Message) {
	for i := range slices.Backward(messages) {
		for sentence := range sentences(messages[i].Text) {
			c.add(fact{kind: kindFinding, text: clipped(sentence, factWidth), worth: lastResort})
			return
		}
	}
}

// emptyReplies adds a fact that counts the replies without text.
func (c *collection) emptyReplies(messages []Message) {
	n := 0
	for i := range messages {
		if m := &messages[i]; m.Role == history.RoleAssistant && !m.Calls && strings.TrimSpace(m.Text) == "" {
			n++
		}
	}
	if n > 0 {
		c.add(fact{kind: kindFailure, text: fmt.Sprintf("%d empty replies", n), worth: worths[kindFailure]})
	}
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

// line adds a line of an earlier summary. Its worth is that of a statement of the section's kind.
func (c *collection) line(section kind, line string) {
	switch {
	case line == "":
	case section == kindFile || section == kindName:
		for item := range strings.SplitSeq(line, ", ") {
			c.add(fact{kind: section, text: item, worth: worths[section]})
		}
	default:
		f := judge(line, true, 1)
		f.worth += worths[section] - worths[f.kind]
		if section <= kindNote {
			f.worth = worths[section]
		}
		f.kind = section
		c.add(f)
	}
}

// The numbers for decisions that are taken back.
const (
	comparedDecisions = 300 // the newest ones
	fewSubjects       = 3   // of a decision that others' words explain: let's do that
)

// takeBack removes the decisions that later ones take back: those about what these give up. A decision that has hardly any
// subjects is about what was said around it.
func (c *collection) takeBack() {
	decisions := c.decisions()
	for i, f := range decisions {
		if !f.turns {
			continue
		}
		gone := rejected(f.text)
		for _, d := range slices.Backward(decisions[:i]) {
			implied := len(d.about) <= fewSubjects && shares(d.near, gone)
			if !d.turns && (implied || shares(d.about, gone)) {
				d.worth = 0
			}
			if implied {
				break
			}
		}
	}
}

// decisions returns the newest decisions.
func (c *collection) decisions() []*fact {
	var found []*fact
	for i := range c.facts {
		if f := &c.facts[i]; f.kind == kindDecision && f.worth > 0 {
			found = append(found, f)
		}
	}
	return found[max(len(found)-comparedDecisions, 0):]
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(word string) bool { return slices.Contains(b, word) })
}
