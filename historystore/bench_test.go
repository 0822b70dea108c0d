package historystore

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"strata/history"
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

func BenchmarkCommitPartial(b *testing.B) {
	s := openTest(b, "", Options{})
	commit(b, s, createSession("sess_a"))
	commit(b, s, beginTurn("sess_a", 0))
	for n := 0; b.Loop(); n++ {
		commit(b, s, savePartial("sess_a", 0, n, strings.Repeat("piece ", 40)))
	}
}

func BenchmarkLoad400(b *testing.B)   { benchmarkLoad(b, 400) }
func BenchmarkLoad10000(b *testing.B) { benchmarkLoad(b, 10_000) }

// benchmarkLoad loads a session of so many messages, half of them prompts and half answers with usage, of 4 KB each.
func benchmarkLoad(b *testing.B, messages int) {
	path := filepath.Join(b.TempDir(), "strata.db")
	s := openTest(b, path, Options{})
	fillSession(b, s, "sess_a", messages, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		l, err := s.Load(context.Background(), "sess_a")
		if err != nil || len(l.Heads) != messages {
			b.Fatal(len(l.Heads), err)
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

func BenchmarkSearch(b *testing.B) {
	s := openTest(b, "", Options{})
	fillSession(b, s, "sess_a", 10_000, 1<<10)
	for b.Loop() {
		hits, _, err := s.Search(context.Background(), SearchQuery{Query: "word", Limit: 20})
		if err != nil || len(hits) != 20 {
			b.Fatal(len(hits), err)
		}
	}
}

// fillSession creates a session with so many messages of the given size and one model call for each second one.
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
