package digest

import (
	"slices"
	"strings"
)

// kind is the kind of a fact and the section of the digest to which it belongs.
type kind int

// The kinds of facts, in the order of a digest's sections.
const (
	kindGoal     kind = iota // of the session
	kindNote                 // a line of an earlier summary written by a model
	kindRule                 // a constraint that the user set
	kindDecision             //
	kindOpen                 // questions and unknowns
	kindNext                 // work to come
	kindFailure              //
	kindUser                 // other statements of the user
	kindFinding              // other statements of the assistant
	kindFile                 // paths
	kindName                 // names in code, identifiers, versions
	kinds
)

// titles are the titles of the sections of a digest.
var titles = [kinds]string{"Goal", "Notes", "Constraints", "Decisions", "Open", "Next", "Failures", "User", "Findings", "Files", "Names"}

// worths are the values of facts of each kind by what they are for, before what they name is looked at. They are estimates of
// how likely it is that the fact is needed later.
var worths = [kinds]float64{
	kindGoal: 3, kindNote: 2, kindRule: 1.3, kindDecision: 0.9, kindOpen: 0.9, kindNext: 0.9, kindFailure: 0.5,
	kindUser: 0.35, kindFinding: 0.3, kindFile: 0.35, kindName: 0.25,
}

// lastResort is the worth of text that is taken only if there is nothing else.
const lastResort = 0.001

// fact is a candidate for a digest.
type fact struct {
	kind  kind
	text  string
	worth float64
	order int // of its appearance, ascending

	about []string // subjects of the sentence, and what it names
	place string   // path and line of a failure, if its text has none
	near  []string // subjects of the messages around a decision
	turns bool     // takes an earlier decision back
	asks  bool     // a question, which the other speaker has answered unless it is among those of the kind open
}

// The shares of worth of what an assistant says, by how it relates to the conversation.
const (
	shareAgreed = 1.0  // the response to the user, who agreed to it
	shareLead   = 0.8  // the response to the user
	shareLinked = 0.5  // further text that names something from elsewhere in the conversation
	shareLoose  = 0.12 // further text: explanations and quoted documentation
)

// shareAnswered is the share of worth of a question that was answered.
const shareAnswered = 0.5

// fullSentence is the number of subjects and specific things that a sentence with its full worth has. Thanks, ok, let me look:
// chat has less.
const fullSentence = 4

// specificWorth is the additional worth of each of the first mostSpecifics things that a sentence names.
const (
	specificWorth = 0.12
	mostSpecifics = 4
)

// judge returns the fact in a sentence. share is the share of worth that its position gives it.
func judge(sentence string, byUser bool, share float64) fact {
	cues := cuesOf(sentence)
	f := fact{kind: kindOf(cues, sentence, byUser, share == shareAgreed), text: sentence, about: subjects(sentence), turns: cues&cueTurn != 0, asks: asks(sentence)}
	f.worth = worths[f.kind]
	switch {
	case f.turns && f.kind == kindDecision:
		f.worth += 0.3
	case !byUser && f.kind != kindFailure && f.kind != kindFinding:
		f.worth = worths[kindFinding] + 0.15 // what the assistant proposes
	}
	if cues&cueReason != 0 {
		f.worth += 0.1
	}
	named := specifics(sentence)
	n := len(named)
	f.worth += specificWorth * float64(min(n, mostSpecifics))
	if f.asks && f.kind != kindOpen {
		share *= shareAnswered
	}
	if strings.HasSuffix(sentence, ":") {
		n, share = 0, share/fullSentence
	}
	share *= min(float64(len(f.about)+n)/fullSentence, 1)
	f.about = append(f.about, named...)
	f.worth *= share
	return f
}

// kindOf returns the kind of a sentence by its cues. Only users set rules, and make or approve decisions.
func kindOf(cues cue, sentence string, byUser, agreed bool) kind {
	has := func(c cue) bool { return cues&c != 0 }
	switch {
	case has(cueUnknown):
		return kindOpen
	case asks(sentence):
		return ofSpeaker(byUser)
	case has(cueTurn) && (byUser || has(cueDecided)):
		return kindDecision
	case has(cueNext):
		return kindNext
	case has(cueDecided), has(cueChoice) && (byUser || agreed):
		return kindDecision
	case byUser && has(cueRule):
		return kindRule
	case has(cueFailure):
		return kindFailure
	}
	return ofSpeaker(byUser)
}

// ofSpeaker returns the kind of statements without cues.
func ofSpeaker(byUser bool) kind {
	if byUser {
		return kindUser
	}
	return kindFinding
}

// specifics returns the different things that a sentence names: numbers, paths, identifiers, quotations, names.
func specifics(sentence string) []string {
	var seen []string
	first := true
	for field := range strings.FieldsSeq(sentence) {
		word := strings.Trim(field, `.,;:!?()[]{}"'“”„`)
		if len(seen) < sentenceWords && isSpecific(field, word, first) && !slices.Contains(seen, word) {
			seen = append(seen, word)
		}
		first = strings.ContainsAny(field[len(field)-1:], ".!?:")
	}
	return seen
}

// isSpecific reports whether a word names something particular. first means that it begins a sentence, where a capital letter
// tells nothing.
func isSpecific(field, word string, first bool) bool {
	switch {
	case word == "":
		return false
	case strings.ContainsAny(word, "0123456789`_/=€$%") || strings.ContainsAny(field, "`\"“„"):
		return true
	case isName(word):
		return true
	}
	upper := strings.IndexFunc(word, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	return upper > 0 || upper == 0 && !first && len(word) > 1
}

// messageSentences is the maximum number of sentences of a message that are looked at.
const messageSentences = 200

// joinBytes is the maximum length of two sentences that are joined.
const joinBytes = 240

// statements returns the facts in the prose of a message of the user or the assistant. share returns the share of worth of a
// passage.
func statements(parts []passage, byUser bool, share func(*passage) float64) []fact {
	var facts []fact
	for i := range parts {
		p := &parts[i]
		if p.form != prose {
			continue
		}
		worth := share(p)
		for sentence := range sentences(p.text()) {
			if len(facts) == messageSentences {
				return facts
			}
			f := judge(withoutFiller(sentence), byUser, worth)
			if n := len(facts); n > 0 {
				before := &facts[n-1]
				if f.asks && before.kind == kindOpen {
					f.kind, f.worth = kindOpen, before.worth // one more item of the same list of open points
				}
				if byUser && refers(before, &f) {
					f.join(before)
				}
			}
			facts = append(facts, f)
		}
	}
	return facts
}

// join puts an earlier fact before f. The kind is that of the one with more worth.
func (f *fact) join(before *fact) {
	if before.worth > f.worth && before.kind != kindUser {
		f.kind, f.turns = before.kind, before.turns
	}
	f.text, f.about = before.text+" "+f.text, append(before.about, f.about...)
	f.worth, before.worth = max(f.worth, before.worth)+specificWorth, 0
}

// refers reports whether a rule or a decision names nothing itself and follows a sentence that names what it is about.
func refers(before, f *fact) bool {
	return (f.kind == kindRule || f.kind == kindDecision) && len(before.text)+len(f.text) < joinBytes &&
		len(specifics(f.text)) == 0 && len(specifics(before.text)) > 0
}

// fillers are words at the start of a sentence that say nothing.
var fillers = wordSet(`ok okay yes yeah hm hmm and so but also well great good nice right oh ah btw fine cool sure true
ja gut und aber ach oui et alors bon mais sí vale y bueno e va`)

// withoutFiller returns a sentence of several words without fillers at its start.
func withoutFiller(sentence string) string {
	for {
		first, rest, ok := strings.Cut(sentence, " ")
		if !ok || strings.Count(rest, " ") < 2 || !fillers()[strings.ToLower(strings.TrimRight(first, ",.!?:"))] {
			return sentence
		}
		sentence = strings.TrimLeft(rest, " ")
	}
}
