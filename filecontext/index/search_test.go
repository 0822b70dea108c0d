package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"strata/filecontext/outline"
)

// found returns "path:line name" of the hits.
func found(t *testing.T, h *Handle, query string, limit int) []string {
	t.Helper()
	hits, err := h.Search(t.Context(), query, limit)
	must(t, err)
	var out []string
	for n, hit := range hits {
		out = append(out, fmt.Sprintf("%s:%d %s", hit.Path, hit.Line, hit.Name))
		if hit.Score <= 0 || n > 0 && hit.Score > hits[n-1].Score {
			t.Errorf("%s: hit %d of %v", query, n, hits)
		}
	}
	return out
}

func TestSearchOrdersByKindOfMatch(t *testing.T) {
	h := acquire(t, registry(t, Options{}), workspace(t, map[string]string{
		"a.go": "func scOatteRredPeEnx\nfunc ReopenAll\nfunc fileOpener\nfunc FileOpen\nfunc OpenFile\nfunc Open\nfunc other",
		"b.go": "method Store.Open\nfunc open",
	}))
	got := found(t, h, "open", 20)
	want := []string{"a.go:6 Open", "b.go:2 open", "b.go:1 Store.Open", "a.go:5 OpenFile", "a.go:4 FileOpen", "a.go:3 fileOpener", "a.go:2 ReopenAll", "a.go:1 scOatteRredPeEnx"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	order := make(map[string]int)
	hits, err := h.Search(t.Context(), "open", 20)
	must(t, err)
	for _, hit := range hits {
		order[hit.Name] = hit.Score
	}
	names := []string{"Open", "OpenFile", "FileOpen", "fileOpener", "ReopenAll", "scOatteRredPeEnx"}
	for n, name := range names[1:] {
		if order[name] >= order[names[n]] {
			t.Errorf("%s has %d, %s has %d", names[n], order[names[n]], name, order[name])
		}
	}
}

// Questions ignore words without meaning, match names and paths, and prefer rare words and files that are no tests.
func TestSearchAnswersAQuestion(t *testing.T) {
	files := map[string]string{
		"session/mailbox/mailbox.go":      "type Mailbox\nmethod Mailbox.Post",
		"session/mailbox/mailbox_test.go": "func TestMailbox\nfunc TestMailboxOrder",
		"session/where.go":                "func isThe\nfunc where",
		"store/purge.go":                  "func Purge\nfunc purgeSessions",
	}
	for n := range 20 {
		files[fmt.Sprintf("session/s%d.go", n)] = fmt.Sprintf("type Session%d", n)
	}
	h := acquire(t, registry(t, Options{}), workspace(t, files))
	for query, want := range map[string]string{
		"where is the mailbox?":             "session/mailbox/mailbox.go:0 mailbox.go",
		"How are sessions purged":           "store/purge.go:2 purgeSessions",
		"which tests has the mailbox order": "session/mailbox/mailbox_test.go:2 TestMailboxOrder",
		"where":                             "session/where.go:0 where.go",
		"WHERE IS THE":                      "session/where.go:1 isThe",
	} {
		if got := found(t, h, query, 5); len(got) == 0 || got[0] != want {
			t.Errorf("%s: got %q, want %q first", query, got, want)
		}
	}
	for _, query := range []string{"", " ?!", "\xff", "zzzzqqqq", strings.Repeat("q", 5000)} {
		if got := found(t, h, query, 5); len(got) != 0 {
			t.Errorf("%q: got %q", query, got)
		}
	}
}

// One file with many hits leaves room for others; equal hits are sorted by path and line; a limit holds.
func TestSearchSpreadsItsHits(t *testing.T) {
	h := acquire(t, registry(t, Options{}), workspace(t, map[string]string{
		"c.go": "func handle", "b.go": "func handle", "a.go": strings.Repeat("func handle\n", 6),
	}))
	want := []string{"a.go:1 handle", "a.go:2 handle", "a.go:3 handle", "b.go:1 handle", "c.go:1 handle", "a.go:4 handle", "a.go:5 handle"}
	if got := found(t, h, "handle", 7); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := found(t, h, "handle", 2); !slices.Equal(got, want[:2]) {
		t.Errorf("got %q", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Search(ended, "handle", 5); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestParts(t *testing.T) {
	for name, want := range map[string]string{
		"HTTPServer_v2": "http server v2", "Store.OpenFile": "store open file", "über_Größe": "über größe", "ID": "id", "": "", "__": "", "a1B": "a1 b",
	} {
		equal(t, name, strings.Join(parts(name), " "), want)
	}
}

func FuzzWords(f *testing.F) {
	f.Add("where is HTTPServer?", "mailbox.go")
	f.Fuzz(func(t *testing.T, query, text string) {
		n := newName(text)
		for _, word := range queryWords(query) {
			if score := n.match(word); score < 0 || score >= exact+classStep || score > 0 && !mayMatch(word, n.lower) {
				t.Errorf("%q in %q: %d", word, text, score)
			}
			if !utf8.ValidString(query) {
				continue
			}
			if own := newName(word); own.match(word) < exact {
				t.Errorf("%q does not match itself", word)
			}
		}
	})
}

func sample() *outline.Outline {
	return &outline.Outline{Language: "go", Partial: true, Uses: []string{"A", "B", "ü"},
		Imports: []outline.Import{{Path: "fmt", Line: 3}, {Path: "pkg", Names: []string{"a", "b"}, Line: 4}},
		Symbols: []outline.Symbol{{Kind: "type", Name: "T", Signature: "type T struct", Line: 5, EndLine: 9}, {Kind: "odd", Name: "x", Line: 7, EndLine: 7, Depth: 2}}}
}

func TestOutlineEncoding(t *testing.T) {
	want := fmt.Sprintf("%+v", sample())
	stored := seal(7, "", encode(sample()))
	reason, encoded, err := unseal(7, stored)
	must(t, err)
	o, err := decode(encoded)
	must(t, err)
	if got := fmt.Sprintf("%+v", o); got != want || reason != "" {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, _, err := unseal(8, stored); err == nil {
		t.Error("another version was taken")
	}
	if reason, encoded, err = unseal(7, seal(7, ReasonFailed, "")); reason != ReasonFailed || encoded != "" || err != nil {
		t.Errorf("got %q, %q, %v", reason, encoded, err)
	}
	for n := range stored {
		damaged := slices.Clone(stored)
		damaged[n] ^= 0x10
		if _, _, err := unseal(7, damaged); err == nil {
			t.Errorf("damage of byte %d was not noticed", n)
		}
	}
	for n := range encoded {
		if _, err := decode(encoded[:n]); err == nil {
			t.Errorf("%d of %d bytes were taken", n, len(encoded))
		}
	}
}

// Bytes that are no outline or list are refused or give one that is encoded equally.
func FuzzDecode(f *testing.F) {
	f.Add(encode(sample()))
	f.Add("")
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, data string) {
		if o, err := decode(data); err == nil {
			again, err := decode(encode(o))
			if err != nil || fmt.Sprint(again) != fmt.Sprint(o) {
				t.Errorf("%q: %v, %v", data, o, err)
			}
		}
		_ = decodeListing([]byte(data))
		_, _, _ = unseal(1, []byte(data))
	})
}
