package fit

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
	"strata/stability"
)

// told returns a desk with a conversation of these texts only, the user's first.
func told(texts ...string) *desk {
	d := newDesk(rand.New(rand.NewPCG(1, 2)), false)
	d.request.Notes = func([]Item, []Item, []filecontext.Entry, []string) ([]Item, map[string]string) { return nil, nil }
	d.request.Files = nil
	clear(d.messages)
	var heads []history.Head
	for i, text := range texts {
		m := history.Message{ID: string(rune('a' + i)), Seq: int64(i + 1), Role: history.RoleAssistant, Blocks: []history.Block{{Type: history.BlockText, Text: text}}}
		if i%2 == 0 {
			m.Role = history.RoleUser
		}
		m.Tokens = content.Tokens(context.Background(), d.request.Counter, m.Blocks)
		d.messages[m.Seq] = m
		heads = append(heads, m.Head(content.Bytes(m.Blocks)))
	}
	d.request.Items = Conversation(history.NewLog(heads, nil).View())
	return d
}

// The user's first message is shortened to the goal if something worth showing remains then, otherwise only as far as the
// limit demands, and leaves if nothing worth showing remains even so.
func TestTheFirstMessageIsShortenedAsTheLastResort(t *testing.T) {
	texts := []string{strings.Repeat("word ", 300), strings.Repeat("reply ", 50)}
	all := told(texts...).request.Items
	size, first := Size(all), all[0].Tokens
	for name, tt := range map[string]struct {
		limit, goal int
		least, most int // tokens of the result
		left        int // items
	}{
		"to the goal":   {size - 50, size - 100, size - 120, size - 100, 2},
		"to the limit":  {size - 50, size - first + leastShown - 1, size - 70, size - 50, 2},
		"it leaves":     {all[1].Size() + 1, all[1].Size(), all[1].Size(), all[1].Size(), 1},
		"nothing to do": {size, size - 100, size, size, 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := told(texts...)
			d.request.Limit, d.request.Goal = tt.limit, tt.goal
			result, err := Fit(t.Context(), d.request)
			if err != nil {
				t.Fatal(err)
			}
			if n := Size(result.Items); n < tt.least || n > tt.most || len(result.Items) != tt.left {
				t.Errorf("%d items of %d tokens, want %d of %d to %d", len(result.Items), n, tt.left, tt.least, tt.most)
			}
		})
	}
}

// An item is shortened to the goal unless less than a quarter of what the limit allows would remain.
func TestAnItemIsShortenedToTheGoalOrToTheLimit(t *testing.T) {
	it := Item{Item: stability.Item{Tokens: 100}}
	for goal, want := range map[int]int{260: 60, 220: 20, 219: 80, 0: 80} {
		if got := wanted(&it, 300, goal, 280); got != want {
			t.Errorf("with a goal of %d: %d tokens, want %d", goal, got, want)
		}
	}
}

func TestWhatHasToStayWholeIsShortenedLast(t *testing.T) {
	whole, part := scored("doc:whole", stability.Document, 100, 10), scored("doc:part", stability.Document, 50, 90)
	whole.Whole = true
	for _, items := range [][]Item{{whole, part}, {part, whole}} {
		if i := largest(items); items[i].Key != "doc:part" {
			t.Errorf("of %q %s is shortened first", keys(items), items[i].Key)
		}
	}
	if i := largest([]Item{whole}); i != 0 {
		t.Error("what has to stay whole is not shortened although nothing else is left")
	}
}

// A file that is larger than the goal is shortened afterwards: half of the goal is kept for it.
func TestEvictionKeepsHalfOfTheGoalForALargeFile(t *testing.T) {
	large := scored("file:large.go", stability.File, 300, PriorityFile)
	large.File = &filecontext.Entry{}
	var items []Item
	for i, key := range []string{"outline:1", "outline:2", "outline:3", "outline:4"} {
		items = append(items, scored(key, stability.Outline, 50, 60+i))
	}
	for _, tt := range []struct {
		items []Item
		want  []string
	}{
		{items, []string{"outline:1", "outline:2", "outline:3", "outline:4"}},
		{append([]Item{large}, items...), []string{"file:large.go", "outline:3", "outline:4"}},
	} {
		f := fitting(tt.items...)
		f.Goal = 200
		f.prune()
		if diff := cmp.Diff(tt.want, keys(f.items)); diff != "" {
			t.Error(diff)
		}
	}
}

// What an evicted item shows leaves the view with it, and the marker counts it.
func TestEvictedMessagesAreCountedByTheMarker(t *testing.T) {
	viewed := func(id string) history.Viewed {
		return history.Viewed{Head: history.Head{ID: id, Role: history.RoleUser, Tokens: 10}}
	}
	iteration := scored("iteration:a", stability.Document, 20, 40)
	iteration.Shows = []history.Viewed{viewed("a"), viewed("b")}
	f := fitting(append([]Item{iteration}, Conversation([]history.Viewed{viewed("c"), viewed("d"), viewed("e")})...)...)
	f.Omitted = 3
	f.without(map[int]bool{0: true, 2: true})
	var gone strings.Builder
	for _, v := range f.changes.Evict {
		gone.WriteString(v.ID)
	}
	if gone.String() != "abd" {
		t.Errorf("%q leave the view", gone.String())
	}
	if len(f.items) != 3 || f.items[1].Text != "[6 earlier messages omitted]" {
		t.Errorf("%+v", f.items)
	}
}

// A file that is shortened twice has one change, the last, and the request that is given stays as it is.
func TestAFileHasOneChange(t *testing.T) {
	f := fitting()
	given := []filecontext.Entry{{Content: filecontext.Content{Path: "a"}, State: filecontext.Full}, {Content: filecontext.Content{Path: "b"}, State: filecontext.Full}}
	f.files = given
	f.changeFile(FileChange{Path: "a", Lines: filecontext.Range{Start: 1, End: 9}})
	f.changeFile(FileChange{Path: "b"})
	f.changeFile(FileChange{Path: "a", Lines: filecontext.Range{Start: 1, End: 4}})
	want := []FileChange{{Path: "b"}, {Path: "a", Lines: filecontext.Range{Start: 1, End: 4}}}
	if diff := cmp.Diff(want, f.changes.Files); diff != "" {
		t.Error(diff)
	}
	if a, b := f.files[0], f.files[1]; a.State != filecontext.Partial || a.Range.End != 4 || b.State != filecontext.SummaryOnly || b.Reason != ReasonBudget {
		t.Errorf("the files are told as %s %v and %s", a.State, a.Range, b.State)
	}
	if given[0].State != filecontext.Full || given[1].State != filecontext.Full {
		t.Error("the files that were given are changed")
	}
}

// Only the profile's own limit of the history shortens it for its own sake.
func TestAHistoryWithoutALimitIsLeftAlone(t *testing.T) {
	d := told("hello", "hello yourself", "go on")
	d.request.Budget.CodeShare, d.request.Budget.HistoryShare = 70, 30
	d.request.Read = func(context.Context, []int64) ([]history.Message, error) { return nil, context.Canceled }
	f := newFitter(d.request)
	if err := f.fitHistory(t.Context()); err != nil || !f.changes.Empty() {
		t.Errorf("%+v, %v", f.changes, err)
	}
}
