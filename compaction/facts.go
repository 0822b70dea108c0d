package compaction

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/history"
)

// kind is the kind of a fact and the section of the digest to which it belongs.
type kind int

// The kinds of facts, in the order of a digest's sections.
const (
	kindGoal     kind = iota // the first prompt
	kindNote                 // a line of an earlier summary written by a model
	kindDecision             //
	kindFailure              //
	kindOpen                 // questions and next steps
	kindWorked               //
	kindEarlier              // first sentences of other prompts
	kindFile                 // paths
	kindName                 // names in code
	kindLatest               // the last prompt and reply
	kinds
)

// titles are the titles of the sections of a digest.
var titles = [kinds]string{"Goal", "Notes", "Decisions", "Failures", "Open", "Worked", "Earlier", "Files", "Names", "Latest"}

// fact is a candidate for a digest.
type fact struct {
	kind  kind
	text  string
	at    int // byte offset in text of the word that makes it a fact
	score int // hint, likely or marked, plus one if it is specific
	order int // of its appearance, ascending
}

// Scores of facts. A specific sentence has one more.
const (
	hint   = 2
	likely = 4
	marked = 6
	surest = marked + 1
)

// mark lists words that make a sentence a fact.
type mark struct {
	kind  kind
	score int
	words []string // lower case; a space means a word boundary
}

// marks are tried in this order; the first match with the highest score decides.
var marks = []mark{
	{kindOpen, marked, []string{" open question", " open issue", " unclear", " undecided", " to be decided", " tbd ", " not yet decided", " still open", " remains open", " unresolved"}},
	{kindDecision, marked, []string{" decision", " decided", " decide to", " we agreed", " agreed to", " agreed on", " we chose", " chosen", " settled on", " going with", " we go with", " we will use", " we'll use", " let's use", " opted for", " rejected"}},
	{kindFailure, marked, []string{" error:", " errors:", " failed", " fail:", " fails", " failure", " exception", " panic", " fatal", " traceback", " exit status", " undefined:", " segmentation fault", " timed out"}},
	{kindOpen, likely, []string{" next step", " todo", " to do:", " remaining:", " remains to", " not sure", " need to find out", " follow-up"}},
	{kindDecision, likely, []string{" must ", " never ", " always ", " instead of ", " prefer", " will use ", " do not use", " don't use", " switch to", " switched to", " from now on", " requirement", " only use", " keep ", " because "}},
	{kindFailure, likely, []string{"error", " cannot ", " can't ", " could not ", " couldn't ", " refused", " timeout", " crash", " deadlock", " regression", " broken", " does not work", " doesn't work", " rejects", " denied"}},
	{kindWorked, hint, []string{" works", " passes", " passed", " fixed", " resolved", " succeeded", " successful", " green ", " is done", " finished", " implemented"}},
}

// judge returns the fact in a sentence and reports whether there is one. In tool output it looks only for failures.
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

// specific reports whether a sentence contains a number, a path, a name, a quotation, or a capital letter after its
// first character.
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

// rules are the starts of sentences by which a user sets a rule.
var rules = []string{" use ", " avoid ", " do not ", " don't ", " make sure ", " only ", " stick to ", " please use ", " no "}

func orders(bordered string) bool {
	return slices.ContainsFunc(rules, func(rule string) bool { return strings.HasPrefix(bordered, rule) })
}

// bordered returns text in lower case, with a space before and after it and punctuation replaced by spaces. Offsets are
// those of " "+text.
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

// asks reports whether a sentence is a question of at least four words.
func asks(sentence string) bool {
	return strings.HasSuffix(sentence, "?") && strings.Count(sentence, " ") >= 3
}

const (
	sentenceBytes = 2_000 // maximum bytes of a sentence; the rest is ignored
	messageFacts  = 40    // maximum facts per message
	toolFacts     = 5     // maximum facts per tool message: logs are repetitive
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
	if sentence := opening(m.Text); m.Failed && len(facts) == 0 && sentence != "" {
		facts = append(facts, fact{kind: kindFailure, text: sentence, score: likely})
	}
	return facts
}

// sentences yields the sentences of a text. It splits at newlines and after punctuation followed by a space, and removes
// list and heading signs.
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

// sentenceEnd returns the end of the first sentence of a line, in bytes.
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

// head returns at most the first n bytes of text, without splitting a rune.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := 0; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(text[n]); i++ {
		n--
	}
	return text[:n]
}

// clip truncates a fact's text to about n bytes around the word that makes it a fact.
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

// wordBefore returns the start of the last word that starts at or before at. If that is far away, it returns a rune
// boundary near at.
func wordBefore(text string, at int) int {
	if space := strings.LastIndexByte(text[:at], ' '); space > at/2 {
		return space + 1
	}
	return len(head(text, at))
}
