package tokens

import "unicode/utf8"

// The library's time is quadratic in the length of a pre-token (100 KB of one letter take seconds), so a text is
// split into chunks before it is tokenized.
const (
	softChunk = 1 << 10  // bytes after which a chunk ends at the next line break that does not affect the count
	hardChunk = 64 << 10 // maximum bytes of a chunk: bounds the memory of a count
	maxRun    = 256      // maximum bytes of consecutive runes of one class: bounds a pre-token, and thereby the time
	seamSize  = 32       // bytes examined on each side of a forced split to correct the count: merges rarely span more
)

// nextChunk returns the length in bytes of the first chunk of text, and whether the split was forced.
// text must not be empty.
//
// A split after a newline is exact if the next rune is neither space nor slash: no pre-token of the encodings spans it.
// A forced split can change the count.
func nextChunk(text string) (end int, forced bool) {
	var s scan
	if end, forced = s.split(text); end == 0 {
		return len(text), false
	}
	return end, forced
}

// scan is the state of the search for the end of a chunk. The zero value has examined nothing.
type scan struct {
	examined int // bytes at the start of the chunk
	newline  bool
	runs     runs
}

// split returns the length in bytes of the first chunk of text, and whether the split was forced; 0 if the chunk does not
// end within text. It examines only the bytes after those that were examined before, which text starts with again.
func (s *scan) split(text string) (end int, forced bool) {
	for i, c := range text[s.examined:] {
		switch i += s.examined; {
		case s.newline && i >= softChunk && c != '/' && classOf(c)&blank == 0:
			return i, false
		case i >= hardChunk, s.runs.exceededBy(c):
			return i, true
		}
		s.newline = c == '\n'
	}
	s.examined = len(text)
	return 0, false
}

// wholeRunes returns the length of text without a rune at its end that is only begun.
func wholeRunes(text string) int {
	for i := len(text) - 1; i >= max(len(text)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRuneInString(text[i:]) {
				break
			}
			return i
		}
	}
	return len(text)
}

// seamStart returns the start of the seamSize bytes before cut, moved to a rune boundary.
func seamStart(text string, cut int) int {
	i := max(cut-seamSize, 0)
	for i < cut && !utf8.RuneStart(text[i]) {
		i++
	}
	return i
}

// seamEnd returns the end of the seamSize bytes after cut, moved to a rune boundary.
func seamEnd(text string, cut int) int {
	i := min(cut+seamSize, len(text))
	for i < len(text) && i > cut && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// runs holds the lengths in bytes of the runs of each class that end at the current rune. A rune can be in several
// classes, because several parts of an encoding's pattern can match it; each part matches runes of one class.
// Digits are in no class: their pre-tokens have at most three.
type runs struct {
	word, symbol, tail, blank int
}

// exceededBy adds c and reports whether one of the runs is now longer than maxRun.
func (r *runs) exceededBy(c rune) bool {
	k := classOf(c)
	word := extend(&r.word, c, k&(letter|mark) != 0)
	symbols := extend(&r.symbol, c, k&(symbol|mark) != 0)
	tail := extend(&r.tail, c, k == newline || c == '/') // the runes that may end a pre-token of symbols
	blanks := extend(&r.blank, c, k&blank != 0)
	return word || symbols || tail || blanks
}

func extend(run *int, c rune, in bool) bool {
	if !in {
		*run = 0
		return false
	}
	*run += utf8.RuneLen(c)
	return *run > maxRun
}
