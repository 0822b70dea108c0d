package index

import (
	"cmp"
	"context"
	"math"
	"path"
	"slices"
	"strings"
)

// Bounds of a search.
const (
	DefaultHits = 50
	MaxHits     = 1000

	hitsPerFile = 3    // come before further hits of the same file
	searchBlock = 256  // files searched between two checks of the context
	byPath      = 0.6  // weight of a word that only the path of a symbol matches
	byFile      = 0.35 // weight of a word that only another symbol of the file matches
	testShare   = 0.7  // of the score of a hit in a test
)

// KindFile is the kind of a hit that is a file and not a symbol in it.
const KindFile = "file"

// Hit is a symbol, or a file, that a search found.
type Hit struct {
	Path  string
	Name  string // of the symbol; of a file the last part of its path
	Kind  string // of the symbol, or KindFile
	Line  int    // first line of the symbol, counted from 1; 0 for a file
	Score int    // higher is better
}

// scores are those of the words of a query for one name.
type scores [maxWords]uint16

func (s *scores) best() (best uint16) {
	for _, score := range s {
		best = max(best, score)
	}
	return best
}

// candidate is a hit before the words are weighed: how many files match a word is known only at the end.
type candidate struct {
	file   int
	symbol int // its number; -1 for the file itself
	own    scores
	path   scores
}

// Search returns up to limit symbols and files that match a query, best first. A single word is matched with names:
// equal names come before names that start with it, those before names in which a part starts with it, and those before
// names that only contain its characters in order. Of several words, such as those of a question, rare ones count
// more, and the path and the other symbols of the file count, too. Equal hits are sorted by path and line. A limit of 0
// means DefaultHits. Equal files give equal hits. The error is that of ctx.
func (i *Index) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	words := queryWords(query)
	if len(words) == 0 {
		return nil, ctx.Err()
	}
	if limit <= 0 {
		limit = DefaultHits
	}
	s := search{words: words, files: i.now().files, memo: make(map[string]scores)}
	for at := range s.files {
		if at%searchBlock == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.look(at)
	}
	return s.hits(min(limit, MaxHits)), ctx.Err()
}

type search struct {
	words      []string
	files      []*record
	memo       map[string]scores // of names, most of which occur often
	candidates []candidate
	inFile     map[int]scores // best ones of a file, of files with candidates
	matching   [maxWords]int  // files with a part that matches the word
}

// maxMemo bounds the remembered names.
const maxMemo = 100_000

func (s *search) score(text string) scores {
	if known, ok := s.memo[text]; ok {
		return known
	}
	var out scores
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(s.words, func(word string) bool { return mayMatch(word, lower) }) {
		return out
	}
	n := newName(text)
	for w, word := range s.words {
		out[w] = uint16(n.match(word))
	}
	if len(s.memo) < maxMemo {
		s.memo[text] = out
	}
	return out
}

// look adds the candidates of a file.
func (s *search) look(at int) {
	f := s.files[at]
	base := path.Base(f.path)
	own := s.score(strings.TrimSuffix(base, path.Ext(base)))
	whole := s.score(base)
	all := own
	raise(&own, whole, exact)
	raise(&all, whole, exact)
	for folder := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSuffix(f.path, base), "/"), "/") {
		raise(&all, s.score(folder), part+classStep-1) // a folder has many files
	}
	first := len(s.candidates)
	if all.best() > 0 {
		s.candidates = append(s.candidates, candidate{at, -1, own, all})
	}
	best := all
	d := decoder{rest: f.outline}
	if f.outline != "" {
		d.text() // the language
		for n := range d.count(minSymbol) {
			symbol := d.symbol()
			found := s.score(symbol.Name)
			if found.best() > 0 {
				s.candidates = append(s.candidates, candidate{at, n, found, all})
				raise(&best, found, exact+classStep)
			}
		}
	}
	if len(s.candidates) == first {
		return
	}
	if s.inFile == nil {
		s.inFile = make(map[int]scores)
	}
	s.inFile[at] = best
	for w := range s.words {
		if best[w] >= contained {
			s.matching[w]++
		}
	}
}

// raise raises scores to others, of which at most limit counts.
func raise(s *scores, others scores, limit uint16) {
	for w := range s {
		s[w] = max(s[w], min(others[w], limit))
	}
}

// weights returns how much each word counts, 1 in total.
func (s *search) weights() [maxWords]float64 {
	var out [maxWords]float64
	sum := 0.0
	for w := range s.words {
		rare := math.Log(1 + float64(len(s.files)+1)/float64(s.matching[w]+1))
		out[w] = rare * rare
		sum += out[w]
	}
	for w := range s.words {
		out[w] /= sum
	}
	return out
}

// total returns the score of a candidate. The words of a question need not match to a character in a name.
func (s *search) total(c *candidate, weights *[maxWords]float64) int {
	switch {
	case len(s.words) > 1:
	case c.symbol < 0: // a file in a folder with the name
		return int(max(c.own[0], min(c.path[0], contained-1)))
	default:
		return int(c.own[0])
	}
	inFile := s.inFile[c.file]
	sum := 0.0
	for w := range s.words {
		best := max(answer(c.own[w]), byPath*answer(c.path[w]), byFile*answer(inFile[w]))
		if c.symbol < 0 {
			best = max(best, 0.9*answer(c.path[w]))
		}
		sum += weights[w] * best
	}
	if s.isTest(c.file) {
		sum *= testShare
	}
	return int(math.Round(1000 * sum))
}

// answer returns how well a word of a question matches, at most 1. The words of a question are rarely written like those
// in a name, and scattered characters match nearly anything.
func answer(score uint16) float64 {
	short := 0.1 * float64(score%classStep) / classStep
	switch {
	case score >= exact:
		return 0.9 + short
	case score >= part:
		return 0.8 + short
	case score >= stem:
		return 0.7 + short
	case score >= contained:
		return 0.2 + short
	}
	return 0
}

// isTest reports whether a file is a test or data of a test, by its path, and the query does not ask for tests.
func (s *search) isTest(file int) bool {
	is := func(word string) bool {
		return word == "test" || word == "tests" || word == "testing" || word == "testdata" || word == "spec"
	}
	return !slices.ContainsFunc(s.words, is) && slices.ContainsFunc(parts(s.files[file].path), is)
}

// ranked is a candidate with its score.
type ranked struct {
	candidate *candidate
	score     int
}

func (s *search) hits(limit int) []Hit {
	weights := s.weights()
	var all []ranked
	for n := range s.candidates {
		c := &s.candidates[n]
		if score := s.total(c, &weights); score > 0 {
			all = append(all, ranked{c, score})
		}
	}
	// Files are sorted by path, and symbols by line.
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(b.score-a.score, a.candidate.file-b.candidate.file, a.candidate.symbol-b.candidate.symbol)
	})
	all = all[:min(len(all), 20*MaxHits)]
	var out []Hit
	for _, r := range spread(all, limit) {
		out = append(out, s.hit(r))
	}
	return out
}

// spread returns the first hits, of which further ones of the same file come last, so that one file does not hide the
// others.
func spread(all []ranked, limit int) []ranked {
	var out, more []ranked
	count := make(map[int]int)
	for _, r := range all {
		if len(out) == limit {
			return out
		}
		if count[r.candidate.file]++; count[r.candidate.file] <= hitsPerFile {
			out = append(out, r)
		} else if len(more) < limit {
			more = append(more, r)
		}
	}
	return append(out, more[:min(len(more), limit-len(out))]...)
}

func (s *search) hit(r ranked) Hit {
	f := s.files[r.candidate.file]
	h := Hit{Path: f.path, Name: path.Base(f.path), Kind: KindFile, Score: r.score}
	if r.candidate.symbol < 0 {
		return h
	}
	d := decoder{rest: f.outline}
	d.text()
	for n := range d.count(minSymbol) {
		symbol := d.symbol()
		if n == r.candidate.symbol {
			h.Name, h.Kind, h.Line = symbol.Name, symbol.Kind, symbol.Line
			break
		}
	}
	return h
}
