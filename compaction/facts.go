package compaction

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/history"
)

// kind is what a fact is, and the section of a digest that it stands in.
type kind int

// The kinds of facts, in the order of a digest's sections.
const (
	kindGoal     kind = iota // what was asked for first
	kindNote                 // a line of an earlier summary that a model wrote
	kindDecision             //
	kindFailure              // what went wrong
	kindOpen                 // questions and next steps
	kindWorked               //
	kindEarlier              // what else was asked, by the first sentence
	kindFile                 // paths
	kindName                 // names in code
	kindLatest               // what was asked and answered last
	kinds
)

// titles head the sections of a digest.
var titles = [kinds]string{"Goal", "Notes", "Decisions", "Failures", "Open", "Worked", "Earlier", "Files", "Names", "Latest"}

// fact is something that a digest may say.
type fact struct {
	kind  kind
	text  string
	at    int // byte in text where the word is that makes it a fact
	score int // hint, likely or marked, and one more where it is specific
	order int // of its appearance, ascending
}

// How sure a fact is one. A sentence that names something counts one more.
const (
	hint   = 2
	likely = 4
	marked = 6
	surest = marked + 1
)

// mark is a word that makes a sentence a fact.
type mark struct {
	kind  kind
	score int
	words []string // in small letters; a space stands for the border of a word
}

// marks are asked in this order, and the first of the highest score decides.
var marks = []mark{
	{kindOpen, marked, []string{" open question", " open issue", " unclear", " undecided", " to be decided", " tbd ", " not yet decided", " still open", " remains open", " unresolved"}},
	{kindDecision, marked, []string{" decision", " decided", " decide to", " we agreed", " agreed to", " agreed on", " we chose", " chosen", " settled on", " going with", " we go with", " we will use", " we'll use", " let's use", " opted for", " rejected"}},
	{kindFailure, marked, []string{" error:", " errors:", " failed", " fail:", " fails", " failure", " exception", " panic", " fatal", " traceback", " exit status", " undefined:", " segmentation fault", " timed out"}},
	{kindOpen, likely, []string{" next step", " todo", " to do:", " remaining:", " remains to", " not sure", " need to find out", " follow-up"}},
	{kindDecision, likely, []string{" must ", " never ", " always ", " instead of ", " prefer", " will use ", " do not use", " don't use", " switch to", " switched to", " from now on", " requirement", " only use", " keep ", " because "}},
	{kindFailure, likely, []string{"error", " cannot ", " can't ", " could not ", " couldn't ", " refused", " timeout", " crash", " deadlock", " regression", " broken", " does not work", " doesn't work", " rejects", " denied"}},
	{kindWorked, hint, []string{" works", " passes", " passed", " fixed", " resolved", " succeeded", " successful", " green ", " is done", " finished", " implemented"}},
}

// judge says what fact a sentence is, if it is one. Only failures are looked for in what tools print.
func judge(sentence string, role history.Role) (fact, bool) {
	lower := bordered(sentence)
	var best fact
	for _, m := range marks {
		if m.score <= best.score || role == history.RoleTool && m.kind != kindFailure {
			continue
		}
		for _, word := range m.words {
			if at := strings.Index(lower, word); at >= 0 {
				best = fact{kind: m.kind, text: sentence, at: min(at, len(sentence)), score: m.score}
				break
			}
		}
	}
	switch {
	case best.score >= likely || role == history.RoleTool:
	case asks(sentence):
		best = fact{kind: kindOpen, text: sentence, score: likely}
	case role == history.RoleUser && orders(lower):
		best = fact{kind: kindDecision, text: sentence, score: likely}
	}
	if best.score > 0 && specific(sentence) {
		best.score++
	}
	return best, best.score > 0
}

// specific reports whether a sentence names something: it has a number, a path, a name, a quotation, or a
// capital letter that does not begin it.
func specific(sentence string) bool {
	if strings.ContainsAny(sentence, "0123456789`\"/_") {
		return true
	}
	inside := false
	for _, r := range sentence {
		if inside && unicode.IsUpper(r) {
			return true
		}
		inside = true
	}
	return false
}

// rules are how a user's sentences begin that are to hold from now on.
var rules = []string{" use ", " avoid ", " do not ", " don't ", " make sure ", " only ", " stick to ", " please use ", " no "}

func orders(bordered string) bool {
	return slices.ContainsFunc(rules, func(rule string) bool { return strings.HasPrefix(bordered, rule) })
}

// bordered returns text in small letters with a space before it and behind each word that a mark of
// punctuation ends, at the same length as " "+text.
func bordered(text string) string {
	lower := []byte(" " + text + " ")
	for i, c := range lower {
		switch {
		case c >= 'A' && c <= 'Z':
			lower[i] = c + 'a' - 'A'
		case strings.IndexByte(".,;!?()[]\"`*\t", c) >= 0:
			lower[i] = ' '
		}
	}
	return string(lower)
}

// asks reports whether a sentence is a question of some length.
func asks(sentence string) bool {
	return strings.HasSuffix(sentence, "?") && strings.Count(sentence, " ") >= 3
}

const (
	sentenceBytes = 2_000 // of a sentence that are looked at
	messageFacts  = 40    // that one message can give
	toolFacts     = 5     // that the output of one tool can give: logs repeat themselves
)

// factsOf returns the facts in a message's text.
func factsOf(m *Message) []fact {
	most := messageFacts
	if m.Role == history.RoleTool {
		most = toolFacts
	}
	var facts []fact
	for sentence := range sentences(m.Text) {
		if f, ok := judge(sentence, m.Role); ok {
			facts = append(facts, f)
		}
		if len(facts) == most {
			break
		}
	}
	if said := opening(m.Text); m.Failed && len(facts) == 0 && said != "" {
		facts = append(facts, fact{kind: kindFailure, text: said, score: likely})
	}
	return facts
}

// sentences yields the sentences of a text: lines, cut where a mark of punctuation is followed by space,
// without the signs of lists and headings before them.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimLeft(strings.TrimSpace(line), "-*#>•| \t")
			for line != "" {
				end := sentenceEnd(line)
				sentence := strings.TrimSpace(head(line[:end], sentenceBytes))
				line = strings.TrimLeft(line[end:], " \t")
				if hasWord(sentence) && !yield(sentence) {
					return
				}
			}
		}
	}
}

func hasWord(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) >= 0 }

// sentenceEnd returns where the first sentence of a line ends.
func sentenceEnd(line string) int {
	for i := range len(line) - 1 {
		if strings.IndexByte(".!?", line[i]) >= 0 && line[i+1] == ' ' && i >= 2 {
			return i + 1
		}
		if wide := strings.HasPrefix(line[i:], "。") || strings.HasPrefix(line[i:], "？"); wide {
			return i + len("。")
		}
	}
	return len(line)
}

// head returns the first n bytes of text, or one rune less.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := 0; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(text[n]); i++ {
		n--
	}
	return text[:n]
}

// clip shortens a fact's text to about n bytes, around the word that makes it a fact.
func (f *fact) clip(n int) string {
	text, begin := f.text, 0
	if len(text) <= n {
		return text
	}
	if f.at > n/2 {
		begin = wordBefore(text, f.at-n/4)
	}
	text = text[begin:]
	if len(text) > n {
		text = strings.TrimRight(text[:wordBefore(text, n)], " ,;:") + "…"
	}
	if begin > 0 {
		text = "…" + text
	}
	return text
}

// wordBefore returns where the last word that begins up to at does, or a rune where words are long.
func wordBefore(text string, at int) int {
	if space := strings.LastIndexByte(text[:at], ' '); space > at/2 {
		return space + 1
	}
	return len(head(text, at))
}
