package historystore

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/history"
	"strata/historystore/cache"
)

func BenchmarkCommitBegin(b *testing.B) {
	s := openTest(b, "", Options{})
	commit(b, s, createSession("sess_a"))
	for n := int64(0); b.Loop(); n++ {
		commit(b, s, beginTurn("sess_a", n))
	}
}

func BenchmarkCommitEnd(b *testing.B) {
	s := openTest(b, "", Options{})
	commit(b, s, createSession("sess_a"))
	for n := int64(0); b.Loop(); n++ {
		b.StopTimer()
		commit(b, s, beginTurn("sess_a", n))
		end := endTurn("sess_a", n)
		end.Messages[0].Blocks[0].Text = strings.Repeat("a typical answer of four kilobytes ", 120)
		b.StartTimer()
		commit(b, s, end)
	}
}

// BenchmarkCommitLayout stores a layout of 60 blobs, of which two are new, and drops two.
func BenchmarkCommitLayout(b *testing.B) {
	s := openTest(b, "", Options{})
	hashes := storeLayout(b, s, "sess_a", 60)
	for n := 0; b.Loop(); n++ {
		ch := layOut("sess_a", nil, blobOf("new", 2*n), blobOf("new", 2*n+1))
		hashes = append(hashes[2:], ch.Blobs[0].Hash, ch.Blobs[1].Hash)
		ch.KeepBlobs = hashes
		commit(b, s, ch)
	}
}

func BenchmarkCommitPartial(b *testing.B) {
	s := openTest(b, "", Options{})
	commit(b, s, createSession("sess_a"))
	commit(b, s, beginTurn("sess_a", 0))
	for n := 0; b.Loop(); n++ {
		commit(b, s, savePartial("sess_a", 0, n, strings.Repeat("piece ", 40)))
	}
}

func BenchmarkLoad400(b *testing.B)           { benchmarkLoad(b, 400, true) }
func BenchmarkLoad10000(b *testing.B)         { benchmarkLoad(b, 10_000, true) }
func BenchmarkLoad10000Unpacked(b *testing.B) { benchmarkLoad(b, 10_000, false) }

// benchmarkLoad loads a session with messages of 4 KB each, half of them prompts and half replies with usage.
func benchmarkLoad(b *testing.B, messages int, packed bool) {
	path := filepath.Join(b.TempDir(), "strata.db")
	s := openTest(b, path, asked)
	fillSession(b, s, "sess_a", messages, 4<<10)
	if packed {
		packAll(b, s)
	}
	b.ReportAllocs()
	for b.Loop() {
		l, err := s.Load(context.Background(), "sess_a")
		if err != nil || len(l.Heads) != messages {
			b.Fatal(len(l.Heads), err)
		}
	}
}

// BenchmarkLoadContext loads a session of 400 messages with 100 edits of 20 patches, 40 documents of 4 KB and a layout of 64 KB.
func BenchmarkLoadContext(b *testing.B) {
	s := openTest(b, "", Options{})
	fillSession(b, s, "sess_a", 400, 4<<10)
	ch := history.Change{Session: "sess_a", Layout: &history.LayoutChange{Head: make([]byte, 64<<10)}}
	for i := range int64(100) {
		edit := compactEdit("sess_a", 1000+i, "msg_1", "msg_2").Edits[0]
		edit.Patches = slices.Repeat(edit.Patches, 20)
		ch.Edits = append(ch.Edits, edit)
	}
	for i := range 40 {
		ch.PutDocuments = append(ch.PutDocuments, document(fmt.Sprint("document ", i), strings.Repeat("rule ", 800)))
	}
	commit(b, s, ch)
	for b.Loop() {
		if l := load(b, s, "sess_a"); len(l.Edits) != 100 || len(l.Documents) != 40 {
			b.Fatal(len(l.Edits), len(l.Documents))
		}
	}
}

func BenchmarkMessagesCold(b *testing.B) {
	s := openTest(b, "", Options{CacheBytes: 1})
	fillSession(b, s, "sess_a", 400, 4<<10)
	benchmarkMessages(b, s)
}

func BenchmarkMessagesCached(b *testing.B) {
	s := openTest(b, "", Options{})
	fillSession(b, s, "sess_a", 400, 4<<10)
	benchmarkMessages(b, s)
}

func benchmarkMessages(b *testing.B, s *Store) {
	seqs := make([]int64, 400)
	for i := range seqs {
		seqs[i] = int64(i + 1)
	}
	for b.Loop() {
		if _, err := s.Messages(context.Background(), "sess_a", seqs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBlobsCold(b *testing.B) {
	s := openTest(b, "", Options{})
	s.blobs = cache.New[string, []byte](0)
	benchmarkBlobs(b, s)
}

func BenchmarkBlobsCached(b *testing.B) { benchmarkBlobs(b, openTest(b, "", Options{})) }

// benchmarkBlobs reads the 60 blobs of a layout, of 8 KB each.
func benchmarkBlobs(b *testing.B, s *Store) {
	hashes := storeLayout(b, s, "sess_a", 60)
	for b.Loop() {
		found, err := s.Blobs(context.Background(), hashes)
		if err != nil || len(found) != len(hashes) {
			b.Fatal(len(found), err)
		}
	}
}

// storeLayout creates a session whose layout refers to n blobs of 8 KB each, and returns their hashes.
func storeLayout(t testing.TB, s *Store, id string, n int) (hashes []string) {
	t.Helper()
	commit(t, s, createSession(id))
	ch := history.Change{Session: id, Layout: &history.LayoutChange{Head: []byte("layout")}}
	for i := range n {
		blob := blobOf(id, i)
		ch.Blobs, hashes = append(ch.Blobs, blob), append(hashes, blob.Hash)
	}
	commit(t, s, ch)
	return hashes
}

// blobOf returns a blob of 8 KB.
func blobOf(id string, n int) history.Blob {
	line := fmt.Sprintf("piece %d of %s\n", n, id)
	return testBlob(strings.Repeat(line, (8<<10)/len(line)))
}

func BenchmarkSearch(b *testing.B) {
	s := openTest(b, "", Options{})
	fillSession(b, s, "sess_a", 10_000, 1<<10)
	for b.Loop() {
		found, err := s.Search(context.Background(), SearchQuery{Query: "word", Limit: 20})
		if err != nil || len(found.Hits) != 20 {
			b.Fatal(len(found.Hits), err)
		}
	}
}

// fillSession creates a session with messages of the given size and one model call for every second message.
func fillSession(t testing.TB, s *Store, id string, messages, size int) {
	t.Helper()
	commit(t, s, createSession(id))
	for seq := int64(1); seq <= int64(messages); {
		ch := history.Change{Session: id}
		for len(ch.Messages) < 500 && seq <= int64(messages) {
			role := history.RoleUser
			if seq%2 == 0 {
				role = history.RoleAssistant
				ch.Calls = append(ch.Calls, history.Call{ID: fmt.Sprintf("call_%d", seq), Purpose: history.PurposeTurn, Model: "a/b", At: epoch})
			}
			text := strings.Repeat(fmt.Sprintf("word%d is one of many. ", seq), size/22)
			ch.Messages = append(ch.Messages, textMessage(seq, role, text))
			seq++
		}
		commit(t, s, ch)
	}
}
