package tokens

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/dlclark/regexp2"
	"github.com/pkoukk/tiktoken-go"
)

// A reference splits and counts texts in the way of the library.
type reference struct {
	*tokenizer // ours
	encoding   string
	library    *tiktoken.Tiktoken
	pattern    *regexp2.Regexp
}

var builtReferences = map[string]func() (*reference, error){
	O200k:  sync.OnceValues(func() (*reference, error) { return buildReference(O200k) }),
	CL100k: sync.OnceValues(func() (*reference, error) { return buildReference(CL100k) }),
}

// loaders guards the library's process-wide loader.
var loaders sync.Mutex

// loaded is a loader that returns itself as the table, for any name.
type loaded map[string]int

func (l loaded) LoadTiktokenBpe(string) (map[string]int, error) { return l, nil }

// buildReference reads the pattern from the library's private fields, so a different pattern in another version of the
// library makes tests fail. It fills the table afterwards, as buildTokenizer does.
func buildReference(encoding string) (*reference, error) {
	loaders.Lock()
	defer loaders.Unlock()
	ours, err := For(encoding).tokenizer()
	if err != nil {
		return nil, err
	}
	ranks := loaded{}
	tiktoken.SetBpeLoader(ranks)
	library, err := tiktoken.GetEncoding(encoding)
	if err != nil {
		return nil, err
	}
	maps.Copy(ranks, ours.ranks)
	pattern := reflect.ValueOf(library).Elem().FieldByName("pbeEncoding").Elem().FieldByName("PatStr").String()
	expression, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return nil, err
	}
	return &reference{ours, encoding, library, expression}, nil
}

func referenceOf(t testing.TB, encoding string) *reference {
	t.Helper()
	r, err := builtReferences[encoding]()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func references(t testing.TB) []*reference {
	t.Helper()
	return []*reference{referenceOf(t, O200k), referenceOf(t, CL100k)}
}

// split returns the matches of the pattern in text.
func (r *reference) split(t testing.TB, text string) []string {
	t.Helper()
	var all []string
	m, err := r.pattern.FindStringMatch(text)
	for ; m != nil; m, err = r.pattern.FindNextMatch(m) {
		all = append(all, m.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// pretokens returns the pre-tokens that the tokenizer finds in text.
func (r *reference) pretokens(t testing.TB, text string) []string {
	t.Helper()
	var all []string
	for text = valid(text); text != ""; {
		end := r.pretoken(text)
		if end <= 0 || end > len(text) {
			t.Fatalf("%s: pre-token of %d bytes at the start of %q", r.encoding, end, clip(text))
		}
		all = append(all, text[:end])
		text = text[end:]
	}
	return all
}

// checkSplit compares the pre-tokens of text with the matches of the pattern.
func (r *reference) checkSplit(t testing.TB, text string) {
	t.Helper()
	got, want := r.pretokens(t, text), r.split(t, text)
	if slices.Equal(got, want) {
		return
	}
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	got, want = got[same:], want[same:]
	t.Fatalf("%s: pre-tokens %q, want %q, in %q", r.encoding, got[:min(3, len(got))], want[:min(3, len(want))], clip(text))
}

// check compares pre-tokens as checkSplit does, and the count with the library's count of the whole text.
func (r *reference) check(t testing.TB, text string) {
	t.Helper()
	r.checkSplit(t, text)
	if got, want := r.count(text), len(r.library.EncodeOrdinary(text)); got != want {
		t.Fatalf("%s: %d tokens, want %d, in %q", r.encoding, got, want, clip(text))
	}
}

func clip(text string) string { return text[:min(len(text), 100)] }
