package digest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"strata/internal/clip"
)

// The numbers for the lines of an output.
const (
	lineWords     = 64  // maximum words of a line that are looked at
	toolFacts     = 4   // maximum facts of an output: its lines are repetitive
	noveltyFrom   = 8   // lines from which the words of an output tell usual lines from unusual ones
	fullLine      = 6.0 // novel words of a line that differs as much as can be
	leastNovel    = 0.3 // share of a line's words that no other line has
	repeatedShare = 0.2 // share of worth of a failure that an output repeats
	outputWorth   = 1.0 // worth of a failure that differs as much as can be
)

// unusual returns the lines of an output that report a failure, with the lines next to these, and those that differ from all
// others. A log repeats its lines with other numbers and names: what happened only once has words that occur only once.
func unusual(lines []string, failed bool) []fact {
	o := surveyed(lines)
	lines = distinct(lines)
	facts := make([]fact, len(lines))
	for i, line := range lines {
		facts[i] = fact{kind: kindFinding, text: line, order: i, worth: worths[kindFinding] * o.novelty(line)}
		f := &facts[i]
		switch {
		case failed && !o.large() || cuesOf(line)&cueFailure != 0:
			f.kind, f.worth = kindFailure, outputWorth*o.novelty(line)
			if o.whole[pattern(line)] >= usualFrom {
				f.worth = outputWorth * repeatedShare
			}
		case f.worth == 0 || !o.large(): // usual, or there is nothing to compare it to
			f.worth = lastResort
		}
	}
	for i, f := range slices.Clone(facts) {
		if f.kind != kindFailure || f.worth <= lastResort {
			continue
		}
		for k := max(i-1, 0); k < min(i+2, len(facts)); k++ {
			if novel := o.novelty(facts[k].text); novel > 0 {
				facts[k].kind, facts[k].worth = kindFailure, outputWorth*novel
			}
		}
	}
	facts = best(facts, toolFacts)
	for i := range facts {
		f := &facts[i]
		f.text = withoutSigns(f.text)
		f.about, f.place = append(subjects(f.text), specifics(f.text)...), placeNear(lines, f.order)
	}
	return facts
}

// best returns the facts with most worth, in order.
func best(facts []fact, most int) []fact {
	slices.SortFunc(facts, func(a, b fact) int { return cmp.Or(cmp.Compare(b.worth, a.worth), b.order-a.order) })
	facts = slices.DeleteFunc(facts[:min(len(facts), most)], func(f fact) bool { return f.worth == 0 })
	slices.SortFunc(facts, func(a, b fact) int { return a.order - b.order })
	return facts
}

// placeNear returns the path with a line number that is in a line or nearest to it, within two lines; empty for none.
func placeNear(lines []string, i int) string {
	for _, k := range []int{i, i + 1, i - 1, i + 2, i - 2} {
		if k < 0 || k >= len(lines) {
			continue
		}
		for term := range terms(lines[k]) {
			if path, ok := pathIn(term); ok && !isWeb(path) && strings.ContainsRune(path, ':') {
				return path
			}
		}
	}
	return ""
}

// survey counts what the lines of an output have in common.
type survey struct {
	lines int
	words map[string]int
	edges map[string]int // first and last fields, without digits
	whole map[string]int // lines, without digits
}

func surveyed(lines []string) *survey {
	o := &survey{lines: len(lines), words: make(map[string]int), edges: make(map[string]int), whole: make(map[string]int)}
	for _, line := range lines {
		line = withoutTime(line)
		o.whole[pattern(line)]++
		for _, word := range distinctWords(line) {
			o.words[word]++
		}
		for _, edge := range edgesOf(line) {
			o.edges[edge]++
		}
	}
	return o
}

// edgesOf returns the patterns of the first two fields and of the last two.
func edgesOf(line string) [2]string {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return [2]string{"<" + pattern(line), ">" + pattern(line)}
	}
	return [2]string{"<" + pattern(strings.Join(fields[:2], " ")), ">" + pattern(strings.Join(fields[len(fields)-2:], " "))}
}

// large reports whether there are enough lines to tell usual ones.
func (o *survey) large() bool { return o.lines >= noveltyFrom }

// novelty returns how much a line differs from the others, 0 to 1. In a short output there is nothing to compare: the number
// of words counts.
func (o *survey) novelty(line string) float64 {
	words := distinctWords(line)
	if !o.large() {
		return min(float64(len(words))/fullLine, 1)
	}
	for _, edge := range edgesOf(line) {
		if o.edges[edge] >= usualFrom {
			return 0
		}
	}
	novel := 0
	for _, word := range words {
		if o.words[word] == 1 {
			novel++
		}
	}
	if novel < 2 || float64(novel) < leastNovel*float64(len(words)) {
		return 0
	}
	return min(float64(novel)/fullLine, 1)
}

// distinct returns the lines with different patterns: without digits. Of several lines with one pattern the last remains.
func distinct(lines []string) []string {
	last := make(map[string]int)
	for i, line := range lines {
		last[pattern(line)] = i
	}
	var out []string
	for i, line := range lines {
		if line = withoutTime(line); line != "" && last[pattern(lines[i])] == i {
			out = append(out, line)
		}
	}
	return out
}

// distinctWords returns the different words of a line in lower case. The parts of a compound name are words.
func distinctWords(line string) []string {
	var words []string
	begin, small := -1, false
	end := func(at int) {
		if word := strings.ToLower(line[max(begin, 0):at]); begin >= 0 && len(word) >= 3 && len(words) < lineWords && !slices.Contains(words, word) {
			words = append(words, word)
		}
		begin = -1
	}
	for i, r := range line {
		if begin >= 0 && (!unicode.IsLetter(r) || small && unicode.IsUpper(r)) {
			end(i)
		}
		if begin < 0 && unicode.IsLetter(r) {
			begin = i
		}
		small = unicode.IsLower(r)
	}
	end(len(line))
	return words
}

// withoutTime returns a line of a log without the time at its start, and without the space that pads it.
func withoutTime(line string) string {
	fields := strings.Fields(clip.Bytes(line, sentenceBytes))
	for len(fields) > 1 && isTime(fields[0]) {
		fields = fields[1:]
	}
	return strings.Join(fields, " ")
}

// withoutSigns returns a line without signs at its start.
func withoutSigns(line string) string { return strings.TrimLeft(line, "-=*#>|+ ") }

// isTime reports whether a field is a date or a time: digits with at least two separators.
func isTime(field string) bool {
	digits := 0
	for _, r := range field {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits*2 > len(field) && strings.Count(field, ":")+strings.Count(field, "-") >= 2
}
