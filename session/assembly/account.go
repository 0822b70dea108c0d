package assembly

import (
	"slices"
	"strings"

	"strata/history"
	"strata/session/fit"
	"strata/session/outlines"
	"strata/stability"
)

// Budget is how the next request uses the model's window. All numbers are tokens as the provider counts them, as far as
// that was learned.
type Budget struct {
	HistoryTokens    int    `json:"historyTokens"`
	MaxHistoryTokens int    `json:"maxHistoryTokens"` // a sixteenth of the window; reported, not enforced
	MaxInputTokens   int    `json:"maxInputTokens"`   // the window
	Known            bool   `json:"known"`            // false: the window is the default for an unlisted model
	ReservedOutput   int    `json:"reservedOutput"`
	Used             int    `json:"used"` // by the next request
	Remaining        int    `json:"remaining"`
	PercentUsed      int    `json:"percentUsed"` // of the window, rounded down; above 100 the request is too large
	NeedsCompaction  bool   `json:"needsCompaction"`
	Calibrated       bool   `json:"calibrated"` // the provider's counts were learned
	Warning          string `json:"warning,omitempty"`

	Shares []Share `json:"shares,omitempty"` // if the profile has shares
}

// The shares of the room, which is the window less the reserve for the reply, at which a budget warns, in percent.
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
	Shares     []Share        `json:"shares,omitempty"` // if the profile has shares
	Tiers      []Tier         `json:"tiers"`
	Overhead   int            `json:"overhead"` // of it: the framing of messages, which belongs to no item
	Changes    []TierChange   `json:"changes"`
	Cache      CacheFigures   `json:"cache"`
	Totals     history.Totals `json:"totals"`
	Omitted    []fit.Omitted  `json:"leftOut"`
	Layout     string         `json:"layout"`
	Cut        string         `json:"cut,omitempty"` // why the next request does not only continue the last one
	Dead       int            `json:"dead"`          // tokens that are unused and leave with the next rebuild

	Index *outlines.IndexStatus `json:"index,omitempty"` // of the workspace; missing without one
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
	Threshold int        `json:"threshold"` // N at which an item moves up; 0 for L0
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
	Dead          int    `json:"dead,omitempty"`   // unused tokens of it
	Leaves        bool   `json:"leaves,omitempty"` // all of it leaves with the next rebuild
}

// CacheFigures are what the newest reported call read from and wrote to the cache.
type CacheFigures struct {
	ReadTokens  int     `json:"readTokens"`
	WriteTokens int     `json:"writeTokens"`
	HitRate     float64 `json:"hitRate"` // share of the input that was read
	Expected    int     `json:"expected"`
}

// History returns the tokens of the working history as the provider counts them: the number that triggers compare.
func (s *State) History() int { return s.Calibrated(s.HistoryTokens) }

// Budget returns how a built request of the state uses the window. Whether a compaction is due its caller has to fill in.
func (s *State) Budget(b *Built) Budget {
	used := s.Calibrated(b.Counted)
	budget := Budget{
		HistoryTokens:    s.History(),
		MaxHistoryTokens: s.Model.Window / 16,
		MaxInputTokens:   s.Model.Window,
		Known:            s.Model.Known,
		ReservedOutput:   Reserve(&s.Model),
		Used:             used,
		Remaining:        max(s.Room()-used, 0),
		Calibrated:       s.Calibrations.Known(s.Model.Name),
	}
	for _, share := range s.shares(b) {
		share.Used = s.Calibrated(share.Used)
		budget.Shares = append(budget.Shares, share)
	}
	if s.Model.Window > 0 {
		budget.PercentUsed = used * 100 / s.Model.Window
	}
	budget.Warning = warningAt(used, s.Room())
	return budget
}

// warningAt returns a warning about how full a room is, from the shares on that matter.
func warningAt(used, room int) string {
	switch {
	case room <= 0: // the window is unknown
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

// Breakdown accounts for a built request of the state. totals and last are those of the session's calls.
func (s *State) Breakdown(b *Built, totals history.Totals, last *history.Call) Breakdown {
	d := Breakdown{
		Model: s.Model.Name, Used: b.Counted, Size: s.Model.Window, Overhead: b.Categories[fit.CategoryOverhead],
		Categories: categoriesOf(b), Shares: s.shares(b), Tiers: tiersOf(b.Plan), Changes: TierChanges(b.Plan), Cache: cacheFigures(last), Totals: totals,
		Omitted: b.Omitted, Layout: b.Layout, Cut: string(b.Plan.Cut), Dead: b.Plan.Dead, Index: b.Index,
	}
	if d.Omitted == nil {
		d.Omitted = []fit.Omitted{}
	}
	return d
}

// TierChange is one item's move. An empty tier is where the item is before it comes and after it has gone.
type TierChange struct {
	Key    string `json:"key"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// TiersChanged is the data of an event: what moved between tiers with the last reply, or with the request that is sent.
type TiersChanged struct {
	Changes []TierChange `json:"changes"`
}

// LeftOuts is the data of an event: everything that a request omits.
type LeftOuts struct {
	LeftOut []fit.Omitted `json:"leftOut"`
}

// TierChanges returns the moves between tiers of a plan.
func TierChanges(p *stability.Plan) []TierChange {
	changes := p.Changes()
	out := make([]TierChange, len(changes))
	for i, c := range changes {
		out[i] = TierChange{Key: c.Key, From: c.From.String(), To: c.To.String(), Reason: c.Reason}
	}
	return out
}

func cacheFigures(call *history.Call) CacheFigures {
	f := CacheFigures{ReadTokens: call.Usage.CacheRead, WriteTokens: call.Usage.CacheWrite, Expected: call.Expected}
	if input := call.Usage.Context(); input > 0 {
		f.HitRate = float64(call.Usage.CacheRead) / float64(input)
	}
	return f
}

// categoriesOf returns the categories by size.
func categoriesOf(b *Built) []Category {
	categories := make([]Category, 0, len(b.Categories))
	for name, n := range b.Categories {
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
