package change

import (
	"iter"
	"strings"
)

// The bounds of the search for a similar place.
const (
	maxProbe   = 60      // lines of the text that is looked for
	maxLines   = 100_000 // lines of the file, which few files have
	leastLine  = 3       // bytes of a line that tells one place from another
	maxVotes   = 200     // places that one line votes for
	leastAlike = 0.4     // share of the trigrams that a similar line has in common
)

// nearest returns the lines of a text, as a range of bytes, that are most like old: those with which it has most in equal
// lines but for the white space around them, else the line with most trigrams of its longest line. The work grows with the text only.
func nearest(text, old string) (start, end int, found bool) {
	lines := strings.Split(strings.TrimSuffix(old, "\n"), "\n")
	first, found := byEqualLines(text, lines[:min(len(lines), maxProbe)])
	if !found {
		first, found = byTrigrams(text, lines[:min(len(lines), maxProbe)])
	}
	if !found {
		return 0, 0, false
	}
	start, end = window(text, first, len(lines))
	return start, end, true
}

// numbered returns the lines of a text, from 0 on.
func numbered(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.Lines(text) {
			if number == maxLines || !yield(number, line) {
				return
			}
			number++
		}
	}
}

// window returns the range of n lines from the line first on, which may be before the text.
func window(text string, first, n int) (start, end int) {
	for number, line := range numbered(text) {
		if number >= first+n {
			break
		}
		if number < first {
			start += len(line)
		}
		end += len(line)
	}
	return start, end
}

// byEqualLines returns the first line of the place that most equal lines, weighed by their length, vote for.
func byEqualLines(text string, lines []string) (first int, found bool) {
	at := make(map[string][]int) // line numbers in lines
	for i, line := range lines {
		if line = strings.TrimSpace(line); len(line) >= leastLine {
			at[line] = append(at[line], i)
		}
	}
	votes, times := make(map[int]int), make(map[string]int)
	most := 0
	for number, line := range numbered(text) {
		line = strings.TrimSpace(line)
		if len(line) >= leastLine && len(at[line]) > 0 && times[line] < maxVotes {
			times[line]++
			for _, i := range at[line] {
				place := number - i
				if votes[place] += len(line); votes[place] > most {
					most, first = votes[place], place
				}
			}
		}
	}
	return first, most > 0
}

// byTrigrams returns the first line of the place where the line most like the longest one of lines is.
func byTrigrams(text string, lines []string) (first int, found bool) {
	longest := 0
	for i, line := range lines {
		if len(strings.TrimSpace(line)) > len(strings.TrimSpace(lines[longest])) {
			longest = i
		}
	}
	probe := strings.TrimSpace(lines[longest])
	if len(probe) < leastLine {
		return 0, false
	}
	var known [1 << 16]bool
	for i := range len(probe) - 2 {
		known[trigram(probe, i)] = true
	}
	best := leastAlike
	for number, line := range numbered(text) {
		line = strings.TrimSpace(line)
		hits := 0
		for i := range max(len(line)-2, 0) {
			if known[trigram(line, i)] {
				hits++
			}
		}
		if alike := float64(hits) / float64(max(len(line), len(probe))-2); hits > 0 && alike > best {
			best, first, found = alike, number-longest, true
		}
	}
	return first, found
}

// trigram returns three bytes as an index. Different ones seldom have the same.
func trigram(text string, at int) uint16 {
	return uint16(text[at])*31*31 + uint16(text[at+1])*251 + uint16(text[at+2])
}
