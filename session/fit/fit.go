package fit

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
	"strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

// KeepShare is the share of the room that is still used after an eviction, so that not every request evicts. Sliding the
// window at each turn costs 0.70 of no cache, evicting down to 70 % costs 0.53: context.md.
const KeepShare = 0.70

// Request is what has to fit, and how. Nothing of it is changed.
type Request struct {
	Items   []Item              // in the order of the request: the conversation last
	Files   []filecontext.Entry // as the model is told of them
	Told    map[string]string   // availability of files, as the notes among the items tell it
	Untold  []string            // keys of evicted notes
	Omitted int                 // messages that the view omits already

	FailureWords []string // that tell of a failed step
	Budget       *profile.Budget

	Limit, Goal int // counted tokens: what fits, and how far an eviction goes
	History     int // counted tokens of the conversation; 0 for no limit of its own
	Bytes       int // of the body of the request; 0 for no limit

	Counter  *tokens.Counter
	Cache    *RenderCache
	Pictures *content.Gallery
	Read     content.Reader
	Name     func(path string) string // the one name of a file; empty for a part of a file
	Log      *slog.Logger

	Documents Documents
	// Between returns how many tokens the replies between items have at most that belong to no item; nil for none.
	Between func(items []Item) int
	// Notes returns the notes of a request with these other items and this conversation, and the availability of files that
	// they tell. untold are the keys of evicted notes.
	Notes func(others, talk []Item, files []filecontext.Entry, untold []string) (notes []Item, told map[string]string)
}

// Documents shows documents.
type Documents interface {
	// Body returns the text of a document that is shown.
	Body(d *history.Document) string
	// Item returns the first bytes of a document's body as an item.
	Item(d history.Document, keep int) Item
}

// Result is what fits.
type Result struct {
	Items   []Item
	Files   []filecontext.Entry
	Told    map[string]string
	Omitted []Omitted // now, not by earlier requests
	Changes Changes
	Untold  []string // keys of evicted notes
}

// fitter is a request on its way to a result.
type fitter struct {
	Request
	items   []Item
	files   []filecontext.Entry
	told    map[string]string
	omitted []Omitted
	changes Changes
	untold  []string
}

// newFitter returns a fitter with the items of r, which must be cloned before they are changed.
func newFitter(r Request) *fitter {
	return &fitter{Request: r, items: r.Items, files: r.Files, told: r.Told, untold: r.Untold}
}

// size returns the counted tokens of the request.
func (f *fitter) size() int {
	if f.Between == nil {
		return Size(f.items)
	}
	return Size(f.items) + f.Between(f.items)
}

func (f *fitter) result() Result {
	return Result{Items: f.items, Files: f.files, Told: f.told, Omitted: f.omitted, Changes: f.changes, Untold: f.untold}
}

// Fit makes a request fit: each step only if the earlier ones did not suffice. The tools, the system prompt and the newest
// message remain in any case; a prompt is only admitted if these fit. An error is one of reading messages.
func Fit(ctx context.Context, r Request) (Result, error) {
	f := newFitter(r)
	if f.fits() {
		return f.result(), nil
	}
	f.items = slices.Clone(r.Items)
	if share := f.fitBytes(); share < 1 {
		f.Limit = min(f.Limit, int(float64(f.size())*share))
		f.Goal = min(f.Goal, int(float64(f.Limit)*KeepShare))
	}
	for _, step := range []func(context.Context) error{f.fitHistory, f.dedupe, f.evict, f.truncate} {
		if err := step(ctx); err != nil {
			return Result{}, err
		}
		if f.size() <= f.Limit {
			break
		}
	}
	return f.result(), nil
}

// fits reports whether everything fits as it is.
func (f *fitter) fits() bool {
	history := f.History == 0 || !f.fillsGreedily() || historySize(f.items) <= f.History
	return history && (f.Bytes == 0 || f.bytes(f.items) <= f.Bytes) && f.size() <= f.Limit
}

// Dedupe replaces all but the newest copy of each file in the conversation by a notice.
func Dedupe(ctx context.Context, r Request) (Result, error) {
	f := newFitter(r)
	f.items = slices.Clone(r.Items)
	if err := f.dedupe(ctx); err != nil {
		return Result{}, err
	}
	return f.result(), nil
}

// evict removes items by their profile's order until the goal is reached.
func (f *fitter) evict(ctx context.Context) error {
	if err := f.findFailures(ctx); err != nil {
		return err
	}
	rank(f.items, f.Budget)
	if !f.fillsGreedily() {
		f.prune()
		return nil
	}
	f.fill(evictable(f.items, f.Goal), f.Goal, f.Goal)
	if f.size() > f.Limit {
		return f.truncateShares(ctx)
	}
	return nil
}

// prune evicts items, the lowest priority and the oldest of equal ones first, until the goal is reached. In a profile with
// shares the goal is one of messages only: earlier units and other items are evicted only until the request fits. Files
// larger than the goal are truncated afterwards; half of the goal is kept for them.
func (f *fitter) prune() {
	left, gone := f.size(), make(map[int]bool)
	large := 0
	for i := range f.items {
		if oversized(&f.items[i], f.Goal) {
			left -= f.items[i].Size()
			large = f.Goal / 2
		}
	}
	left += large
	shares, shedding := len(f.Budget.Shares) > 0, false
	for _, i := range evictable(f.items, f.Goal) {
		it, most := &f.items[i], f.Goal
		if shares && (it.Kind != stability.Message || !shedding) {
			most = f.Limit
		}
		if left <= most {
			continue
		}
		shedding = shedding || it.Kind == stability.Message
		left -= it.Size()
		gone[i] = true
		f.logEvicted(it, left)
	}
	f.without(gone)
}

func (f *fitter) logEvicted(it *Item, left int) {
	f.Log.Debug("evicted", slog.String("item", it.Key), slog.Int("tokens", it.Size()), slog.Int("score", it.Priority), slog.Int("left", left))
}

// without evicts the items with these indices, and the prompts of the answers among them.
func (f *fitter) without(gone map[int]bool) {
	withPrompts(f.items, gone)
	kept := make([]Item, 0, len(f.items))
	for i := range f.items {
		if gone[i] {
			f.omit(&f.items[i])
		} else {
			kept = append(kept, f.items[i])
		}
	}
	f.settle(kept)
}

// omit notes that an item is evicted, and how that is stored.
func (f *fitter) omit(it *Item) {
	f.omitted = append(f.omitted, Omitted{Key: it.Key, Tokens: it.Size(), Reason: ReasonBudget, Score: it.Priority})
	switch {
	case it.Kind == stability.Message:
		f.changes.Evict = append(f.changes.Evict, it.Messages...)
	case len(it.Shows) > 0:
		f.changes.Evict = append(f.changes.Evict, it.Shows...)
	case it.Kind == stability.Note:
		f.untold = append(f.untold, it.Key)
	case it.File != nil:
		f.changeFile(FileChange{Path: it.File.Path})
	case it.Document != nil:
		f.changes.Documents = append(f.changes.Documents, history.DocumentCut{Name: it.Document.Name, Version: DocumentVersion(it.Document)})
	}
}

// changeFile notes that a file shows less of itself, also for the notes.
func (f *fitter) changeFile(c FileChange) {
	f.changes.Files = slices.DeleteFunc(f.changes.Files, func(old FileChange) bool { return old.Path == c.Path })
	f.changes.Files = append(f.changes.Files, c)
	i := slices.IndexFunc(f.files, func(e filecontext.Entry) bool { return e.Path == c.Path })
	f.files = slices.Clone(f.files) // the request's own
	f.files[i].State, f.files[i].Reason = c.State()
	f.files[i].Range = c.Lines
}

// settle makes items the request, with the notes and the marker of omitted messages that go with them.
func (f *fitter) settle(items []Item) {
	items = withoutIdleHeading(items)
	items = slices.DeleteFunc(items, func(it Item) bool { return it.Kind == stability.Note || it.Key == OmittedKey })
	talk := len(items)
	if i := slices.IndexFunc(items, isMessage); i >= 0 {
		talk = i
	}
	marked := Marked(items[talk:], f.Omitted+len(f.changes.Evict), f.Counter)
	notes, told := f.Notes(items[:talk], marked, f.files, f.untold)
	f.items, f.told = slices.Concat(items[:talk], notes, marked), told
}

// withoutIdleHeading returns the items without the heading of outlines if it has none.
func withoutIdleHeading(items []Item) []Item {
	for i := range items {
		if strings.HasPrefix(items[i].Key, OutlinePrefix) {
			return items
		}
	}
	return slices.DeleteFunc(items, func(it Item) bool { return it.Key == OutlineHeading })
}

// fitBytes omits the oldest pictures if the request is larger than the model takes, down to a share of that. The newest
// message keeps its pictures as long as the others suffice. It returns the share of the items that the limit still allows,
// 1 for all of them.
func (f *fitter) fitBytes() float64 {
	all := f.bytes(f.items)
	if f.Bytes == 0 || all <= f.Bytes {
		return 1
	}
	newest := newestMessage(f.items)
	for i := range f.items {
		goal := int(float64(f.Bytes) * KeepShare)
		if i == newest {
			goal = f.Bytes
		}
		it := &f.items[i]
		all -= f.patchMessages(it, content.WithPatches(it.Messages, f.Pictures.Oldest(it.Messages, all-goal, f.Counter)))
	}
	return min(float64(f.Bytes)/float64(max(all, 1)), 1)
}

// patchMessages gives an item its messages with further patches, notes the patches as edits, and returns the bytes that
// they save.
func (f *fitter) patchMessages(it *Item, now []history.Viewed) (saved int) {
	before := f.bytes([]Item{*it})
	for i := range now {
		if further := now[i].Patches[len(it.Messages[i].Patches):]; len(further) > 0 {
			f.changes.Truncate = append(f.changes.Truncate, further...)
			f.omitted = append(f.omitted, omittedByPatches(now[i].ID, further)...)
		}
	}
	if len(now) == 0 {
		return 0
	}
	*it = it.showing(now)
	return before - f.bytes([]Item{*it})
}

// bytes returns the approximate size of items in the body of a request.
func (f *fitter) bytes(items []Item) int {
	sum := 0
	for i := range items {
		it := &items[i]
		if it.File != nil {
			sum += len(it.File.Text)
		} else {
			sum += len(it.Text)
		}
		for j := range it.Messages {
			sum += f.Pictures.Bytes(&it.Messages[j])
		}
	}
	return sum
}
