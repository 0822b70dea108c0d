package historystore

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/history"
)

var blobA, blobB, blobC = testBlob("a"), testBlob("b"), testBlob("c")

// storedBlobs checks which of the blobs A, B and C are stored.
func storedBlobs(t *testing.T, s *Store, want ...history.Blob) {
	t.Helper()
	got, err := s.Blobs(ctx, []string{blobA.Hash, blobB.Hash, blobC.Hash, "none"})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, blob := range want {
		all[blob.Hash] = blob.Bytes
	}
	equal(t, "blobs", got, all)
}

func TestBlobsLiveWhileReferredTo(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"),
		history.Change{Session: "sess_a", Layout: &history.LayoutChange{Head: []byte("ab")}, Blobs: []history.Blob{blobA, blobB}},
		history.Change{Session: "sess_b", Layout: &history.LayoutChange{Head: []byte("bc")}, Blobs: []history.Blob{blobB, blobC}})
	storedBlobs(t, s, blobA, blobB, blobC)
	commit(t, s, layOut("sess_a", []string{blobA.Hash}))
	storedBlobs(t, s, blobA, blobB, blobC)
	commit(t, s, layOut("sess_b", []string{blobC.Hash}))
	storedBlobs(t, s, blobA, blobC)
	commit(t, s, layOut("sess_b", nil))
	storedBlobs(t, s, blobA)
}

func TestKeepBlobs(t *testing.T) {
	tests := map[string]struct {
		change history.Change
		want   []history.Blob // referred to by the session after the change; before it, A and B
	}{
		"no list":             {history.Change{Session: "sess_a", Layout: &history.LayoutChange{Head: []byte("x")}}, []history.Blob{blobA, blobB}},
		"no layout":           {history.Change{Session: "sess_a", KeepBlobs: []string{}}, []history.Blob{blobA, blobB}},
		"empty list":          {layOut("sess_a", nil), nil},
		"one of two":          {layOut("sess_a", []string{blobB.Hash}), []history.Blob{blobB}},
		"not stored anywhere": {layOut("sess_a", []string{blobA.Hash, "none", ""}), []history.Blob{blobA}},
		"of another session":  {layOut("sess_a", []string{blobC.Hash}), []history.Blob{blobC}},
		"put and kept":        {layOut("sess_a", []string{blobA.Hash, blobC.Hash}, blobC), []history.Blob{blobA, blobC}},
		"put but not kept":    {layOut("sess_a", []string{blobB.Hash}, blobA), []history.Blob{blobA, blobB}},
		"named twice":         {layOut("sess_a", []string{blobA.Hash, blobA.Hash}, blobA, blobA), []history.Blob{blobA}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, "", Options{})
			commit(t, s, createSession("sess_a"), createSession("sess_c"),
				history.Change{Session: "sess_a", Layout: &history.LayoutChange{Head: []byte("ab")}, Blobs: []history.Blob{blobA, blobB}},
				history.Change{Session: "sess_c", Layout: &history.LayoutChange{Head: []byte("c")}, Blobs: []history.Blob{blobC}}, test.change)
			commit(t, s, layOut("sess_c", nil)) // from now on only sess_a refers to blobs
			storedBlobs(t, s, test.want...)
		})
	}
}

func TestBlobsComeFromTheCache(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), layOut("sess_a", nil, blobA, blobB))
	storedBlobs(t, s, blobA, blobB)
	if _, err := s.writer.tx.conn.ExecContext(ctx, "UPDATE blob SET bytes = x'00'"); err != nil {
		t.Fatal(err)
	}
	storedBlobs(t, s, blobA, blobB)
	s.blobs.Drop([]string{blobA.Hash})
	storedBlobs(t, s, blobB)
	equal(t, "cached blobs", s.blobs.Len(), 1)
}

func TestDamagedBlobIsMissingUntilItIsPutAgain(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"), layOut("sess_a", nil, blobA, blobB))
	if _, err := s.writer.tx.conn.ExecContext(ctx, "UPDATE blob SET bytes = x'00' WHERE hash = ?", blobA.Hash); err != nil {
		t.Fatal(err)
	}
	storedBlobs(t, s, blobB)
	commit(t, s, layOut("sess_b", nil, blobA))
	storedBlobs(t, s, blobA, blobB)
	commit(t, s, layOut("sess_b", nil))
	storedBlobs(t, s, blobA, blobB)
}

func TestBlobCacheIsBounded(t *testing.T) {
	s := openTest(t, "", Options{})
	const size = 1 << 20
	for i := range blobCacheBytes/size + 10 {
		s.blobs.Put(fmt.Sprint(i), make([]byte, size), size, 0)
	}
	if s.blobs.Bytes() > blobCacheBytes || s.blobs.Bytes() < blobCacheBytes-2*size {
		t.Fatalf("cache of %d bytes", s.blobs.Bytes())
	}
}

func TestDeletedBlobsLeaveTheCache(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), layOut("sess_a", nil, blobA, blobB))
	storedBlobs(t, s, blobA, blobB)
	commit(t, s, layOut("sess_a", []string{blobB.Hash}))
	storedBlobs(t, s, blobB)
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Purge(ctx, epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	storedBlobs(t, s)
	equal(t, "cached blobs", s.blobs.Len(), 0)
}

// The cache never contains a blob that is not stored, however reads and deletions interleave.
func TestReadsDoNotReviveDeletedBlobs(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	hashes := []string{blobA.Hash, blobB.Hash, blobC.Hash}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.Blobs(ctx, hashes); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 20 {
		commit(t, s, layOut("sess_a", hashes, blobA, blobB, blobC), layOut("sess_a", nil))
	}
	close(stop)
	readers.Wait()
	equal(t, "cached blobs", s.blobs.Len(), 0)
}

// The blobs of a session are purged in several transactions.
func TestPurgeOfManyBlobs(t *testing.T) {
	commits := 0
	s := openTest(t, "", Options{OnCommit: func(int) { commits++ }})
	ch := layOut("sess_a", nil)
	for i := range 151 {
		ch.Blobs = append(ch.Blobs, testBlob(strings.Repeat("x", i)))
	}
	commit(t, s, createSession("sess_a"), ch)
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	before := commits
	if _, err := s.Purge(ctx, epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	equal(t, "database", dump(t, s), "")
	if n := commits - before; n < 4 {
		t.Errorf("only %d commits", n)
	}
}
