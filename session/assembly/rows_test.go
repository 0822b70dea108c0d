package assembly

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/stability"
)

// Whatever rows change, and whichever changes fail to be stored without anyone being told, the store has the rows after the
// newest change that succeeds. A change has no row that is known to be stored.
func TestStoredRowsFollowTheLayout(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var s storedRows
		store := make(map[int]string)
		var rows [][]byte
		certain := make(map[string]bool) // rows known to be stored
		for range 30 {
			next := make([][]byte, 0, 12)
			keep := len(rows)
			if r.IntN(5) == 0 {
				keep = r.IntN(keep + 1) // a cut
			}
			for n, row := range rows[:keep] {
				if r.IntN(10) == 0 {
					row = fmt.Append(nil, n, " changed ", r.IntN(100))
				}
				next = append(next, row)
			}
			for range r.IntN(4) {
				next = append(next, fmt.Append(nil, len(next), " new ", r.IntN(100)))
			}
			rows = next
			c := s.change([]byte("head"), rows)
			for _, row := range c.Rows {
				if key := fmt.Sprint(row.N, " ", string(row.Bytes)); certain[key] && store[row.N] == string(row.Bytes) {
					t.Fatalf("seed %d: row %s is stored already", seed, key)
				}
			}
			if r.IntN(4) == 0 {
				certain = make(map[string]bool)
				continue // not stored
			}
			for n := range store {
				if n >= c.Len {
					delete(store, n)
				}
			}
			for _, row := range c.Rows {
				store[row.N] = string(row.Bytes)
			}
			var got []string
			for n := range c.Len {
				got = append(got, store[n])
			}
			var want []string
			for _, row := range rows {
				want = append(want, string(row))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: stored rows (-want +got):\n%s", seed, diff)
			}
			if r.IntN(3) > 0 {
				s.confirm()
				for n, row := range rows {
					certain[fmt.Sprint(n, " ", string(row))] = true
				}
			} else {
				certain = make(map[string]bool)
			}
		}
	}
}

// A turn stores the entries that it adds, not those that stay: the rows of a long session do not grow with it.
func TestATurnStoresWhatItAdds(t *testing.T) {
	stored := begun(words(2000))
	s := stateOf(t, stored, stability.Options{})
	sizes := make([]int, 60)
	for n := range sizes {
		replied(&s, stored, fmt.Sprintf("prompt %d", n))
		b, err := s.Build(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var change history.Change
		b.Mirror.Answered(b.Plan, stability.Usage{Write: b.Plan.Tokens, Input: b.Plan.Tokens})
		if err := s.Layout.Answered(&b, &change); err != nil {
			t.Fatal(err)
		}
		s.Layout.Stored()
		for _, blob := range change.Blobs {
			stored.blobs[blob.Hash] = blob.Bytes
		}
		for _, row := range change.Layout.Rows {
			sizes[n] += len(row.Bytes)
		}
		if n > 0 && change.KeepBlobs != nil {
			t.Errorf("turn %d lists all texts: %s", n, strings.Join(change.KeepBlobs, " "))
		}
	}
	if sizes[59] > 2*sizes[5] {
		t.Errorf("bytes of the rows by turn: %v", sizes)
	}
}

// A layout that an earlier version stored, all in the head, is continued byte for byte; the next change stores its rows.
func TestALayoutWithoutRowsIsContinued(t *testing.T) {
	stored := begun(words(2000))
	s := stateOf(t, stored, stability.Options{})
	_, layout, _ := asked(t, &s, stored)
	replied(&s, stored, "go on")
	want, _, _ := asked(t, &s, stored)

	var head map[string]json.RawMessage
	var tracker map[string]json.RawMessage
	for _, err := range []error{json.Unmarshal(layout.Head, &head), json.Unmarshal(head["tracker"], &tracker)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tracker["state"] = slices.Concat([]byte("["), bytes.Join(layout.Rows, []byte(",")), []byte("]"))
	delete(tracker, "rows")
	var err error
	if head["tracker"], err = json.Marshal(tracker); err != nil {
		t.Fatal(err)
	}
	old, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	again := stateOf(t, stored, stability.Options{})
	if again.Layout, err = NewLayout(stability.Options{}, history.Layout{Head: old}, func(cache string) *stability.Mirror { return again.Mirrors.Of(cache, again.Now()) }); err != nil {
		t.Fatal(err)
	}
	again.View = s.View
	b, err := again.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if textOf(&b) != textOf(&want) || b.Plan.Kept != want.Plan.Kept || b.Plan.Kept == 0 {
		t.Errorf("kept %d of %d entries: %s", b.Plan.Kept, want.Plan.Kept, textOf(&b))
	}
	var change history.Change
	if err := again.Layout.Answered(&b, &change); err != nil || len(change.Layout.Rows) != change.Layout.Len || change.Layout.Len != len(b.Plan.Entries) {
		t.Errorf("%d of %d rows, %v", len(change.Layout.Rows), change.Layout.Len, err)
	}
}
