package historystore

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/historystore/outlines"
)

// outlineKeys returns the keys of the stored outlines, sorted, and fails if their bytes are not those of testOutlines.
func outlineKeys(t *testing.T, s *Store, n int) []string {
	t.Helper()
	want := testOutlines(n, 0)
	var keys []string
	for key := range want {
		keys = append(keys, key)
	}
	found, err := s.OutlineStore().Outlines(ctx, append(keys, "go:missing"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for key, data := range found {
		if !strings.HasPrefix(string(data), string(want[key])) {
			t.Fatalf("%s has %d bytes", key, len(data))
		}
		got = append(got, key)
	}
	slices.Sort(got)
	return got
}

func testOutlines(n, padding int) map[string][]byte {
	all := make(map[string][]byte)
	for i := range n {
		all[fmt.Sprintf("go:%04d", i)] = []byte(fmt.Sprintf("outline %d\x00\xff", i) + strings.Repeat("x", padding))
	}
	return all
}

func TestOutlinesAreStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	commits := 0
	s := openTest(t, path, Options{OnCommit: func(int) { commits++ }})
	if err := s.OutlineStore().PutOutlines(ctx, testOutlines(1200, 1000)); err != nil {
		t.Fatal(err)
	}
	equal(t, "transactions", commits, 3)
	equal(t, "stored", len(outlineKeys(t, s, 1200)), 1200)
	for _, listing := range []string{"first", "second", ""} {
		if err := s.OutlineStore().PutListing(ctx, "/folder", []byte(listing)); err != nil {
			t.Fatal(err)
		}
		got, err := s.OutlineStore().Listing(ctx, "/folder")
		if err != nil || got == nil || string(got) != listing {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	got, err := s.OutlineStore().Listing(ctx, "/other")
	if got != nil || err != nil {
		t.Fatalf("missing: %q, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path, Options{})
	equal(t, "stored", len(outlineKeys(t, s, 1200)), 1200)
}

// A purge deletes outlines and lists by their last use, and then by size.
func TestPurgeOutlines(t *testing.T) {
	now := epoch
	s := openTest(t, "", Options{Now: func() time.Time { return now }})
	put := func(folder string, outlines map[string][]byte) {
		t.Helper()
		if err := s.OutlineStore().PutListing(ctx, folder, []byte("list")); err != nil {
			t.Fatal(err)
		}
		if err := s.OutlineStore().PutOutlines(ctx, outlines); err != nil {
			t.Fatal(err)
		}
	}
	purge := func(maxBytes int64, want int) {
		t.Helper()
		if n, err := s.OutlineStore().Purge(ctx, now.Add(-outlines.Retention), maxBytes); n != want || err != nil {
			t.Fatalf("purged %d, want %d, %v", n, want, err)
		}
	}
	put("/old", testOutlines(1100, 0))
	put("/used", nil)
	purge(outlines.MaxBytes, 0)

	now = now.Add(outlines.Retention)
	equal(t, "stored", len(outlineKeys(t, s, 10)), 10) // is a use of these
	put("/used", nil)                                  // likewise
	now = now.Add(time.Minute)
	purge(outlines.MaxBytes, 1090)
	equal(t, "stored", len(outlineKeys(t, s, 1100)), 10)
	for folder, want := range map[string]string{"/old": "", "/used": "list"} {
		if got, err := s.OutlineStore().Listing(ctx, folder); string(got) != want || err != nil {
			t.Fatalf("%s: %q, %v", folder, got, err)
		}
	}

	newest := testOutlines(12, 1000)
	for i := range 10 {
		delete(newest, fmt.Sprintf("go:%04d", i))
	}
	put("/used", newest)
	purge(2060, 7) // the two newest have 2,024 bytes, each of the others 11
	equal(t, "stored", outlineKeys(t, s, 12), []string{"go:0000", "go:0001", "go:0002", "go:0010", "go:0011"})
	purge(0, 5)
}
