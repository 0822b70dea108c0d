package historystore

import (
	"fmt"
	"testing"

	"strata/history"
)

func TestMessagesComeFromTheCache(t *testing.T) {
	s := openTest(t, "", Options{CacheBytes: 10_000})
	commit(t, s, createSession("sess_a"))
	for seq := int64(1); seq <= 50; seq++ {
		commit(t, s, appendText("sess_a", seq, fmt.Sprint("text ", seq)))
	}
	for range 2 {
		for seq := int64(1); seq <= 50; seq++ {
			got, err := s.Messages(ctx, "sess_a", []int64{seq, max(1, seq-1)})
			if err != nil || got[0].Seq != seq {
				t.Fatal(got, err)
			}
		}
	}
	if s.messages.Bytes() > 10_000 || s.messages.Bytes() == 0 {
		t.Fatalf("cache of %d bytes", s.messages.Bytes())
	}
}

// The messages stored by a turn are in the next request. Those of an import may never be read.
func TestFreshMessagesNeedNoQuery(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	for _, tt := range []struct {
		messages int
		cached   int
	}{{1, 1}, {freshMessages, 1 + freshMessages}, {freshMessages + 1, 1 + freshMessages}} {
		ch := history.Change{Session: "sess_a"}
		for range tt.messages {
			seq := int64(len(load(t, s, "sess_a").Heads) + len(ch.Messages) + 1)
			ch.Messages = append(ch.Messages, textMessage(seq, history.RoleUser, fmt.Sprint("text ", seq)))
		}
		commit(t, s, ch)
		equal(t, "cached", s.messages.Len(), tt.cached)
	}
	fresh, err := s.Messages(ctx, "sess_a", []int64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	s.messages.Drop([]messageKey{{"sess_a", 1}, {"sess_a", 2}})
	read, err := s.Messages(ctx, "sess_a", []int64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "fresh messages", fresh, read)
}
