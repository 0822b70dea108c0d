package compaction

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"strata/compaction/digest"
	"strata/history"
	"strata/internal/clip"
)

// The newest topic is found as in M. Hearst, "TextTiling: Segmenting Text into Multi-paragraph Subtopic
// Passages", Computational Linguistics 23(1), 1997: the words on both sides of each gap between exchanges
// are compared. A gap is a boundary if the similarity is much lower than at the surrounding gaps.
//
// What precedes a boundary leaves the verbatim part, so the thresholds are strict: a missed boundary is better than a wrong
// one. Only what people and the model wrote counts: logs and code repeat their words whatever the topic is.
const (
	sideExchanges = 3    // exchanges compared on each side of a gap
	minWords      = 25   // on each side; fewer are not significant
	minPeak       = 0.12 // similarity around a boundary: without cohesion there is no break
	maxRecurring  = 0.1  // share of the words on one side of a boundary that the other side has
	maxConfidence = 0.9  // of a boundary found by words
)

// cohesion finds the start of the newest topic by the words of the messages.
func cohesion(shown []Message) Boundary {
	none := Boundary{Index: -1, By: ByWords}
	starts := exchangeStarts(shown)
	if len(starts) < 4 { // a gap must have other gaps on both sides
		return none
	}
	sides := bags(shown, starts)
	gaps := similarities(sides)
	depths := make([]float64, len(gaps))
	for i := range gaps {
		_, depths[i] = depth(gaps, i)
	}
	cutoff := depthCutoff(depths)
	for i := len(gaps) - 1; i >= 0; i-- {
		peak, deep := depth(gaps, i)
		if peak < minPeak || deep < cutoff || !sides.enough(i+1) || sides.recurring(i+1) > maxRecurring {
			continue
		}
		if c := confidence(gaps[i], peak); c >= maxConfidence/2 {
			return Boundary{
				Index:      starts[i+1],
				Confidence: c,
				Reason:     fmt.Sprintf("the words change to %s", strings.Join(sides.around(i+1, 1).top(3), ", ")),
				By:         ByWords,
			}
		}
	}
	return none
}

// confidence returns the confidence in a boundary. It drops quickly as the similarity at the gap approaches the peak.
func confidence(similarity, peak float64) float64 {
	drop := max(1-similarity/peak, 0)
	return maxConfidence * drop * drop
}

// exchangeStarts returns the indices of the first messages of exchanges. The first message always counts as one.
func exchangeStarts(shown []Message) []int {
	var starts []int
	for i := range shown {
		if i == 0 || shown[i].Role == history.RoleUser {
			starts = append(starts, i)
		}
	}
	return starts
}

// bag maps words to their counts.
type bag map[string]int

func (b bag) add(other bag) {
	for word, n := range other {
		b[word] += n
	}
}

func (b bag) words() int {
	sum := 0
	for _, n := range b {
		sum += n
	}
	return sum
}

// top returns the n most frequent words.
func (b bag) top(n int) []string {
	words := make([]string, 0, len(b))
	for word := range b {
		words = append(words, word)
	}
	slices.SortFunc(words, func(x, y string) int {
		if b[x] != b[y] {
			return b[y] - b[x]
		}
		return strings.Compare(x, y)
	})
	return words[:min(n, len(words))]
}

// exchangeBags are the words of each exchange.
type exchangeBags []bag

func bags(shown []Message, starts []int) exchangeBags {
	all := make(exchangeBags, len(starts))
	for i, start := range starts {
		end := len(shown)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		all[i] = make(bag)
		for k := range shown[start:end] {
			all[i].add(contentWords(clip.Bytes(written(&shown[start+k]), detectChars)))
		}
	}
	return all
}

// around returns the words of the exchanges before (direction -1) or starting at (direction 1) the given index.
func (e exchangeBags) around(exchange, direction int) bag {
	side := e[max(exchange-sideExchanges, 0):exchange]
	if direction > 0 {
		side = e[exchange:min(exchange+sideExchanges, len(e))]
	}
	sum := make(bag)
	for _, b := range side {
		sum.add(b)
	}
	return sum
}

// enough reports whether there are enough words on both sides of the gap before an exchange.
func (e exchangeBags) enough(exchange int) bool {
	return e.around(exchange, -1).words() >= minWords && e.around(exchange, 1).words() >= minWords
}

// recurring returns the share of the different words on the shorter side of the gap before an exchange that the other side
// has too, of all exchanges. Exchanges about one topic can have few words in common, but not all of them.
func (e exchangeBags) recurring(exchange int) float64 {
	before, after, known := make(bag), make(bag), 0
	for i, b := range e {
		if i < exchange {
			before.add(b)
		} else {
			after.add(b)
		}
	}
	for word := range after {
		if before[word] > 0 {
			known++
		}
	}
	return float64(known) / float64(max(min(len(before), len(after)), 1))
}

// similarities returns the cosine similarity of the words on both sides of each gap between exchanges.
func similarities(e exchangeBags) []float64 {
	gaps := make([]float64, len(e)-1)
	for i := range gaps {
		gaps[i] = cosine(e.around(i+1, -1), e.around(i+1, 1))
	}
	return gaps
}

func cosine(a, b bag) float64 {
	dot, squaresA, squaresB := 0, 0, 0
	for word, n := range a {
		dot += n * b[word]
		squaresA += n * n
	}
	for _, n := range b {
		squaresB += n * n
	}
	if dot == 0 {
		return 0
	}
	return float64(dot) / math.Sqrt(float64(squaresA)*float64(squaresB))
}

// depth returns the mean of the peaks on both sides of a gap, and the depth of the gap below them. The last gap has no
// peak on the right; the left one is used for both.
func depth(gaps []float64, i int) (peak, deep float64) {
	left, right := gaps[i], gaps[i]
	for k := i - 1; k >= 0 && gaps[k] >= left; k-- {
		left = gaps[k]
	}
	for k := i + 1; k < len(gaps) && gaps[k] >= right; k++ {
		right = gaps[k]
	}
	if i == len(gaps)-1 {
		right = left
	}
	peak = (left + right) / 2
	return peak, 2 * (peak - gaps[i])
}

// depthCutoff returns the sum of the mean and the standard deviation of values.
func depthCutoff(values []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
		squares += v * v
	}
	n := float64(len(values))
	mean := sum / n
	return mean + math.Sqrt(max(squares/n-mean*mean, 0))
}

// contentWords counts the words of a text without stop words and, roughly, without endings.
func contentWords(text string) bag {
	words := make(bag)
	for word := range digest.Words(text) {
		words[word]++
	}
	return words
}
