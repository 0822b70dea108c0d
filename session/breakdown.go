package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"strata/history"
	"strata/stability"
	"strata/tokens"
)

// Budget is how a session stands to its model's window. All numbers are tokens as the provider counts
// them, as far as that was learned.
type Budget struct {
	HistoryTokens    int    `json:"historyTokens"`
	MaxHistoryTokens int    `json:"maxHistoryTokens"` // a sixteenth of the window; reported, not enforced
	MaxInputTokens   int    `json:"maxInputTokens"`   // the window
	Known            bool   `json:"known"`            // false: the window is the default for a model that nobody described
	ReservedOutput   int    `json:"reservedOutput"`
	Used             int    `json:"used"` // what the next request would hold
	Remaining        int    `json:"remaining"`
	PercentUsed      int    `json:"percentUsed"` // of the window, rounded down; above 100 it is over
	NeedsCompaction  bool   `json:"needsCompaction"`
	Calibrated       bool   `json:"calibrated"` // the provider's own counts were learned from
	Warning          string `json:"warning,omitempty"`

	Shares []Share `json:"shares,omitempty"` // where the profile has some
}

// The shares of the room, which is the window less what is reserved for the answer, at which a budget warns, in percent.
const (
	warnNear = 75
	warnFull = 90
)

// Breakdown accounts for every token of the next request. Used is the sum of the categories, and the
// tiers and the overhead come to the same.
type Breakdown struct {
	Model      string         `json:"model"`
	Used       int            `json:"used"` // counted tokens
	Size       int            `json:"size"` // the window
	Categories []Category     `json:"categories"`
	Shares     []Share        `json:"shares,omitempty"` // where the profile has some
	Tiers      []Tier         `json:"tiers"`
	Overhead   int            `json:"overhead"` // of it: the framing of messages, which belongs to no item
	Changes    []TierChange   `json:"changes"`
	Cache      CacheFigures   `json:"cache"`
	Totals     history.Totals `json:"totals"`
	LeftOut    []LeftOut      `json:"leftOut"`
	Layout     string         `json:"layout"`
	Cut        string         `json:"cut,omitempty"` // why the next request does not simply continue the last
	Dead       int            `json:"dead"`          // tokens that are needed no more and leave at the next cut
}

// Category is the share of one kind of content.
type Category struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// Tier is one tier of a request.
type Tier struct {
	Tier      string     `json:"tier"`
	Tokens    int        `json:"tokens"`
	Cached    int        `json:"cached"`    // of them expected to be read from the cache
	Threshold int        `json:"threshold"` // N at which an item leaves upward; 0 for L0
	Items     []TierItem `json:"items"`
}

// TierItem is one item of a tier.
type TierItem struct {
	Key           string `json:"key"`
	Kind          string `json:"kind"`
	Tokens        int    `json:"tokens"`
	N             int    `json:"n"`
	NextThreshold int    `json:"nextThreshold"`
	Hash          string `json:"hash"`
	Dead          int    `json:"dead,omitempty"`   // tokens of it that are needed no more
	Leaves        bool   `json:"leaves,omitempty"` // all of it leaves at the next cut
}

// CacheFigures are what the newest reported call read and wrote.
type CacheFigures struct {
	ReadTokens  int     `json:"readTokens"`
	WriteTokens int     `json:"writeTokens"`
	HitRate     float64 `json:"hitRate"` // share of the input that was read
	Expected    int     `json:"expected"`
}

// account builds the next request without sending it and calls use with it in a goroutine of the
// session. Nothing of the session changes.
func (s *Session) account(use func(snapshot, built), fail func(error)) {
	s.post(func() {
		s.renewModel()
		snap := s.context.snapshot(s.model, s.thought())
		s.spawn(func() {
			b, err := snap.build(s.ctx, nil)
			if err != nil {
				fail(err)
				return
			}
			use(snap, b)
		})
	}, fail)
}

// Budget tells how the session stands to its model's window.
func (s *Session) Budget(reply func(Budget, error)) {
	s.account(func(snap snapshot, b built) { reply(snap.budget(&b), nil) }, func(err error) { reply(Budget{}, err) })
}

func (s *snapshot) budget(b *built) Budget {
	used := s.calibrated(b.counted)
	budget := Budget{
		HistoryTokens:    s.calibrated(b.categories[categoryHistory]),
		MaxHistoryTokens: s.model.Window / 16,
		MaxInputTokens:   s.model.Window,
		Known:            s.model.Known,
		ReservedOutput:   reserve(s.model),
		Used:             used,
		Remaining:        max(s.room()-used, 0),
		Calibrated:       s.deps.Calibrations.Known(s.model.Name),
	}
	for _, share := range s.shares(b) {
		share.Used = s.calibrated(share.Used)
		budget.Shares = append(budget.Shares, share)
	}
	if s.model.Window > 0 {
		budget.PercentUsed = used * 100 / s.model.Window
	}
	budget.Warning = warningAt(used, s.room())
	return budget
}

// warningAt says in words how full a room is, from a share on that matters.
func warningAt(used, room int) string {
	switch {
	case room <= 0: // of a window that nobody knows
		return ""
	case used > room:
		return "over the limit"
	case used*100 >= room*warnFull:
		return "the window is nearly full"
	case used*100 >= room*warnNear:
		return "the window is filling up"
	}
	return ""
}

// Breakdown tells what the next request would hold.
func (s *Session) Breakdown(reply func(Breakdown, error)) {
	fail := func(err error) { reply(Breakdown{}, err) }
	s.post(func() {
		totals, last := s.context.Totals(), s.context.last
		s.account(func(snap snapshot, b built) {
			d := snap.breakdown(&b)
			d.Totals, d.Cache = totals, cacheFigures(last)
			reply(d, nil)
		}, fail)
	}, fail)
}

func cacheFigures(call history.Call) CacheFigures {
	f := CacheFigures{ReadTokens: call.Usage.CacheRead, WriteTokens: call.Usage.CacheWrite, Expected: call.Expected}
	if input := call.Usage.Context(); input > 0 {
		f.HitRate = float64(call.Usage.CacheRead) / float64(input)
	}
	return f
}

func (s *snapshot) breakdown(b *built) Breakdown {
	d := Breakdown{
		Model: s.model.Name, Used: b.counted, Size: s.model.Window, Overhead: b.categories[categoryOverhead],
		Categories: categoriesOf(b), Shares: s.shares(b), Tiers: tiersOf(b.plan), Changes: wireChanges(b.plan.Changes()),
		LeftOut: b.leftOut, Layout: cmp.Or(s.layout.options.Layout, stability.LayoutLog), Cut: string(b.plan.Cut), Dead: b.plan.Dead,
	}
	if d.LeftOut == nil {
		d.LeftOut = []LeftOut{}
	}
	return d
}

// categoriesOf returns the shares by size.
func categoriesOf(b *built) []Category {
	categories := make([]Category, 0, len(b.categories))
	for name, n := range b.categories {
		if n > 0 {
			categories = append(categories, Category{Name: name, Tokens: n})
		}
	}
	slices.SortFunc(categories, func(a, b Category) int {
		if a.Tokens != b.Tokens {
			return b.Tokens - a.Tokens
		}
		return strings.Compare(a.Name, b.Name)
	})
	return categories
}

// categoryOf returns the category of an entry. What the layout keeps although nothing needs it counts like
// what is needed, and what is said of a file in diffs is part of the files.
func categoryOf(e *stability.Entry) string {
	if e.Kind == stability.Document && !isDocument(e) {
		return categoryHistory
	}
	switch e.Kind {
	case stability.Tools:
		return categoryTools
	case stability.System:
		return categorySystem
	case stability.Document:
		return categoryDocuments
	case stability.Outline:
		return categoryOutlines
	case stability.Base, stability.Diff:
		return categoryFiles
	case stability.Note:
		return categoryNotes
	default:
		return categoryHistory
	}
}

func tiersOf(p *stability.Plan) []Tier {
	views := p.Breakdown()
	tiers := make([]Tier, len(views))
	for i, v := range views {
		tiers[i] = Tier{Tier: v.Tier.String(), Tokens: v.Tokens, Cached: v.Cached, Threshold: v.Threshold, Items: make([]TierItem, len(v.Items))}
		for j, it := range v.Items {
			tiers[i].Items[j] = TierItem{
				Key: it.Key, Kind: string(it.Kind), Tokens: it.Tokens, N: it.N, NextThreshold: v.Threshold, Hash: it.Hash,
				Dead: it.Dead, Leaves: it.Leaves,
			}
		}
	}
	return tiers
}

// Report is a breakdown as text for a terminal.
type Report struct {
	Text string `json:"text"` // several lines
	Line string `json:"line"` // the same in one
}

// Report tells what the next request would hold as text.
func (s *Session) Report(reply func(Report, error)) {
	fail := func(err error) { reply(Report{}, err) }
	s.post(func() {
		totals, last, title := s.context.Totals(), s.context.last, s.record.Title
		s.account(func(snap snapshot, b built) {
			d, budget := snap.breakdown(&b), snap.budget(&b)
			d.Totals, d.Cache = totals, cacheFigures(last)
			reply(Report{
				Text: report(title, &d, &budget, len(snap.view), len(b.entries)),
				Line: reportLine(&d, &budget, len(snap.view)),
			}, nil)
		}, fail)
	}, fail)
}

// reportLine writes the figures that matter most in one line.
func reportLine(d *Breakdown, budget *Budget, messages int) string {
	line := fmt.Sprintf("history %s · %d messages · window %d %% of %s · session %s, $%.4f · read %.0f %%",
		tokens.Format(budget.HistoryTokens), messages, budget.PercentUsed, tokens.Format(d.Size),
		tokens.Format(d.Totals.Usage.Context()+d.Totals.Usage.Output), d.Totals.Cost, 100*d.Cache.HitRate)
	if budget.NeedsCompaction {
		line += " · compaction is due"
	}
	if budget.Warning != "" {
		line += " · " + budget.Warning
	}
	return line
}

// reportWidth is the width of a report in columns.
const reportWidth = 72

// report writes a breakdown and a budget as text.
func report(title string, d *Breakdown, budget *Budget, messages, files int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s  %s of %s tokens (%d %%)\n\n", title, d.Model, tokens.Format(budget.Used), tokens.Format(d.Size), budget.PercentUsed)
	for _, c := range d.Categories {
		fmt.Fprintf(&b, "  %-10s %8s  %s\n", c.Name, tokens.Format(c.Tokens), bar(c.Tokens, d.Used, reportWidth-24))
	}
	fmt.Fprintf(&b, "  %-10s %8s\n  %-10s %8s\n\n", "total", tokens.Format(d.Used), "remaining", tokens.Format(budget.Remaining))
	for _, share := range budget.Shares {
		fmt.Fprintf(&b, "  %-10s %8s of %s\n", share.Name, tokens.Format(share.Used), tokens.Format(share.Share))
	}
	if len(budget.Shares) > 0 {
		b.WriteByte('\n')
	}
	for _, t := range d.Tiers {
		if len(t.Items) > 0 {
			reportTier(&b, &t)
		}
	}
	fmt.Fprintf(&b, "\n%d messages, %d files\n", messages, files)
	fmt.Fprintf(&b, "session: %d calls, %s in, %s out, %s read, %s written, $%.4f\n", d.Totals.Calls, tokens.Format(d.Totals.Usage.Input),
		tokens.Format(d.Totals.Usage.Output), tokens.Format(d.Totals.Usage.CacheRead), tokens.Format(d.Totals.Usage.CacheWrite), d.Totals.Cost)
	fmt.Fprintf(&b, "last call: %s read, %s written, hit rate %.0f %%\n", tokens.Format(d.Cache.ReadTokens), tokens.Format(d.Cache.WriteTokens), 100*d.Cache.HitRate)
	for _, l := range d.LeftOut {
		fmt.Fprintf(&b, "left out: %s (%s, %s tokens)\n", l.Key, l.Reason, tokens.Format(l.Tokens))
	}
	if budget.Warning != "" {
		fmt.Fprintf(&b, "warning: %s\n", budget.Warning)
	}
	return b.String()
}

func reportTier(b *strings.Builder, t *Tier) {
	fmt.Fprintf(b, "  %-7s %8s  %s cached\n", t.Tier, tokens.Format(t.Tokens), tokens.Format(t.Cached))
	for _, it := range t.Items {
		next := ""
		if it.NextThreshold > 0 {
			next = fmt.Sprintf("  N %d of %d", it.N, it.NextThreshold)
		}
		fmt.Fprintf(b, "    %-44s %8s%s\n", it.Key, tokens.Format(it.Tokens), next)
	}
}

// bar draws a share of a whole.
func bar(part, whole, width int) string {
	if whole <= 0 {
		return ""
	}
	return strings.Repeat("█", min(part*width/whole, width))
}
