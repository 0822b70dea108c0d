package fit

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
	"strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

// fitting returns a fitter of items, without notes.
func fitting(items ...Item) *fitter {
	return newFitter(Request{
		Items: items, Budget: &profile.Budget{}, Counter: tokens.For(""), Cache: new(RenderCache), Pictures: new(content.Gallery),
		Log:   slog.New(slog.DiscardHandler),
		Notes: func([]Item, []Item, []filecontext.Entry, []string) ([]Item, map[string]string) { return nil, nil },
	})
}

func keys(items []Item) (all []string) {
	for i := range items {
		all = append(all, items[i].Key)
	}
	slices.Sort(all)
	return all
}

// A file that is larger than all that may stay is truncated afterwards: half of the room is kept for it.
func TestHalfOfTheRoomIsKeptForLargeItems(t *testing.T) {
	large := scored("file:large.go", stability.File, 300, PriorityFile)
	large.File = &filecontext.Entry{}
	for _, tt := range []struct {
		withLarge bool
		want      []string
	}{
		{false, []string{"outline:1", "outline:2", "outline:3", "outline:4"}},
		{true, []string{"file:large.go", "outline:3", "outline:4"}},
	} {
		var items []Item
		if tt.withLarge {
			items = append(items, large)
		}
		for i, key := range []string{"outline:1", "outline:2", "outline:3", "outline:4"} {
			items = append(items, scored(key, stability.Outline, 50, 60+i))
		}
		const room = 200
		f := fitting(items...)
		f.fill(evictable(f.items, room), room, room)
		if diff := cmp.Diff(tt.want, keys(f.items)); diff != "" {
			t.Errorf("with a large file %t: %s", tt.withLarge, diff)
		}
	}
}

// pictured returns a message with a picture of so many bytes as an item.
func pictured(g *content.Gallery, id string, seq int64, bytes int) Item {
	m := history.Message{ID: id, Seq: seq, Role: history.RoleUser, Blocks: []history.Block{
		{Type: history.BlockImage, MIME: "image/png", Data: make([]byte, bytes), Width: 1000, Height: 1000},
	}}
	g.Add(&m)
	return MessageItem([]history.Viewed{{Head: m.Head(content.Bytes(m.Blocks))}})
}

// The older pictures leave until the request is well below the limit of bytes; the newest message loses its own only if
// the request is still above it.
func TestTheNewestMessageKeepsItsPictures(t *testing.T) {
	for _, tt := range []struct {
		limit int
		gone  []string
	}{
		{2_200, nil},
		{1_400, []string{"msg_1"}}, // then 1,328 are left: more than 70 %, but within the limit
		{1_300, []string{"msg_1", "msg_2"}},
	} {
		f := fitting()
		f.items = []Item{pictured(f.Pictures, "msg_1", 1, 600), pictured(f.Pictures, "msg_2", 2, 900)}
		f.Bytes = tt.limit
		share := f.fitBytes()
		var gone []string
		for _, p := range f.changes.Truncate {
			gone = append(gone, p.Message)
		}
		if diff := cmp.Diff(tt.gone, gone); diff != "" || share != 1 {
			t.Errorf("limit of %d bytes, share %g: %s", tt.limit, share, diff)
		}
	}
}

func TestRunsOfOmittedMessages(t *testing.T) {
	omitted := func(key string, count, score int, reason string) Omitted {
		return Omitted{Key: key, Count: count, Tokens: 10, Reason: reason, Score: score}
	}
	all := []Omitted{
		omitted("msg:a", 0, 40, ReasonBudget), omitted("msg:b", 0, 40, ReasonBudget), omitted("msg:c", 3, 40, ReasonBudget), // one run
		omitted("msg:d", 0, 45, ReasonBudget),    // another score
		omitted("msg:e", 0, 45, ReasonDuplicate), // another reason
		omitted("msg:f", 0, 45, ReasonDuplicate),
		omitted("file:a.go", 0, 45, ReasonBudget), // no message
		omitted("msg:g", 0, 45, ReasonBudget),
	}
	want := []Omitted{
		{Key: "msg:a", Count: 5, Tokens: 30, Reason: ReasonBudget, Score: 40},
		all[3], all[4], all[5], all[6], all[7],
	}
	before := slices.Clone(all)
	if diff := cmp.Diff(want, Runs(all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, all); diff != "" {
		t.Errorf("the list was changed: %s", diff)
	}
}

// A copy of a file that is shorter than the notice about it stays.
func TestAShortCopyStays(t *testing.T) {
	head := history.Head{ID: "msg_1", Seq: 1, Role: history.RoleUser, Tokens: 20}
	for saved, want := range map[int]bool{-3: false, 0: false, 1: true} {
		f := fitting(MessageItem([]history.Viewed{{Head: head}}))
		hash := f.items[0].Hash
		f.patch(place{}, strings.Repeat("x", 50), history.Patch{Text: "notice", Saved: saved})
		if got := len(f.changes.Dedupe) == 1; got != want || (f.items[0].Hash != hash) != want || (len(f.omitted) == 1) != want {
			t.Errorf("a patch that saves %d: applied %t", saved, got)
		}
	}
}
