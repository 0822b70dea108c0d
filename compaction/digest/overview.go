package digest

import (
	"strings"

	"strata/history"
	"strata/internal/clip"
)

// overview is a conversation divided into passages, with what it takes to tell its own words from quoted ones.
type overview struct {
	messages []Message
	parts    [][]passage     // by message
	names    map[string]bool // paths and names that the speakers or the previous summary use
}

func overviewOf(messages []Message, previous string) *overview {
	v := &overview{messages: messages, parts: make([][]passage, len(messages)), names: make(map[string]bool)}
	v.note(previous)
	for i := range messages {
		v.parts[i] = passages(&messages[i])
		for k := range v.parts[i] {
			if p := &v.parts[i][k]; p.form == call || v.own(i, p) {
				v.note(p.text())
			}
		}
	}
	return v
}

// note notes the paths and names in a text.
func (v *overview) note(text string) {
	for term := range terms(text) {
		if _, ok := pathIn(term); ok || isTerm(term) {
			v.names[term] = true
		}
	}
}

// own reports whether a passage of a message is certainly in its speaker's words: a user's prose, and the lead of a reply.
func (v *overview) own(message int, p *passage) bool {
	return p.form == prose && (p.lead || v.messages[message].Role == history.RoleUser)
}

// links reports whether a passage names something that the conversation names elsewhere.
func (v *overview) links(p *passage) bool {
	for term := range terms(p.text()) {
		if v.names[term] {
			return true
		}
	}
	return false
}

// share returns the share of worth of a passage.
func (v *overview) share(message int, p *passage) float64 {
	switch {
	case v.messages[message].Role == history.RoleUser:
		return 1
	case p.lead && v.agreed(message):
		return shareAgreed
	case p.lead:
		return shareLead
	case v.links(p):
		return shareLinked
	}
	return shareLoose
}

// agreed reports whether the next message is a prompt of a few words that is no question.
func (v *overview) agreed(message int) bool {
	if message+1 >= len(v.messages) || v.messages[message+1].Role != history.RoleUser {
		return false
	}
	prompt := v.messages[message+1].Text
	return len(prompt) < 40 && len(strings.Fields(prompt)) <= 4 && !asks(strings.TrimSpace(prompt))
}

// answered reports whether the other speaker says something after a message, before its own speaker's next one.
func (v *overview) answered(message int) bool {
	for i := message + 1; i < len(v.messages); i++ {
		switch m := &v.messages[i]; {
		case m.Role == v.messages[message].Role:
			if m.Role == history.RoleUser {
				return false
			}
		case m.Role != history.RoleTool && strings.TrimSpace(m.Text) != "":
			return true
		}
	}
	return false
}

// around returns the subjects of the leads of the messages before and after one: what a decision without words of its own is
// about.
func (v *overview) around(message int) []string {
	var words []string
	for _, i := range []int{message - 1, message + 1} {
		if i < 0 || i >= len(v.parts) {
			continue
		}
		for k := range v.parts[i] {
			if p := &v.parts[i][k]; p.lead {
				words = append(words, subjects(clip.Bytes(p.text(), sentenceBytes))...)
			}
		}
	}
	return words
}
