package history

import (
	"fmt"
	"testing"
)

// longLog returns a log of 10,000 messages and 50 edits of all kinds; the older half is compacted.
func longLog() (heads []Head, edits []Edit) {
	const messages, every = 10_000, 200
	var seq int64
	add := func(e Edit) {
		seq++
		e.ID, e.Seq = fmt.Sprint("edit_", seq), seq
		edits = append(edits, e)
	}
	for i := range messages {
		seq++
		heads = append(heads, Head{ID: fmt.Sprint("msg_", i), Seq: seq, Role: []Role{RoleUser, RoleAssistant}[i%2], Tokens: 100, Blocks: 1})
		if i%every != every-1 {
			continue
		}
		switch n := i / every; n % 5 {
		case 0, 1: // the messages since the last compaction
			e := Edit{Kind: EditCompact, Summary: "what was said", SummaryTokens: 20}
			for k := max(i-every*5/2, 0); k < i-20; k++ {
				e.Messages = append(e.Messages, fmt.Sprint("msg_", k))
			}
			add(e)
		case 2:
			e := Edit{Kind: EditDedupe}
			for k := i - 40; k < i; k += 4 {
				e.Patches = append(e.Patches, Patch{Message: fmt.Sprint("msg_", k), Text: "a copy was here", Saved: 50})
			}
			add(e)
		case 3:
			add(Edit{Kind: EditRestore, To: seq - 10})
		default:
			add(Edit{Kind: EditRestore, Undoes: edits[len(edits)-1].ID})
		}
	}
	return heads, edits
}

// Yardstick: below 10 ms for 10,000 messages and 50 edits.
func BenchmarkFold(b *testing.B) {
	heads, edits := longLog()
	if len(heads) != 10_000 || len(edits) != 50 {
		b.Fatal(len(heads), len(edits))
	}
	b.ReportAllocs()
	for b.Loop() {
		if l := NewLog(heads, edits); len(l.View()) == 0 {
			b.Fatal("the view is empty")
		}
	}
}

// Yardstick: below 10 ms, as the session waits for it.
func BenchmarkRestore(b *testing.B) {
	log := NewLog(longLog())
	for b.Loop() {
		l := *log
		l.Apply(Edit{ID: "edit_last", Seq: l.LastSeq() + 1, Kind: EditRestore, To: 5000})
		if len(l.View()) == 0 {
			b.Fatal("the view is empty")
		}
	}
}
