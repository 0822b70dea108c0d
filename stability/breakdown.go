package stability

import "cmp"

// TierView is one tier of a request, for display.
type TierView struct {
	Tier      Tier
	Tokens    int // including unused ones
	Cached    int // expected to be read from the cache
	Threshold int // N at which an item moves up; 0 for L0
	Items     []ItemView
}

// ItemView is one item of a tier, with all of its entries, including unused ones.
type ItemView struct {
	Key    string
	Kind   Kind
	Hash   string // of the file's text for a file, of the rendered bytes otherwise
	Tokens int    // including unused ones
	Dead   int    // unused tokens
	N      int
	Leaves bool // all of it is unused and will be removed at the next rebuild
}

// Breakdown accounts for every token of p by tier and item. It returns all tiers, most stable first, with their items in
// the order of their first entries.
func (p *Plan) Breakdown() []TierView {
	type account struct {
		ItemView
		tier   Tier
		cached int
	}
	index := make(map[string]int, len(p.Entries))
	accounts := make([]account, 0, len(p.Entries))
	sum := 0
	for i := range p.Entries {
		e := &p.Entries[i]
		at, ok := index[e.Key]
		if !ok {
			at = len(accounts)
			index[e.Key] = at
			accounts = append(accounts, account{ItemView: ItemView{Key: e.Key, Leaves: true}})
		}
		a := &accounts[at]
		if sum += e.Tokens; sum <= p.Expect {
			a.cached += e.Tokens
		}
		a.Tokens += e.Tokens
		a.Kind, a.Hash, a.N, a.tier = e.itemKind(), e.Blob, e.N, e.Tier
		if a.Kind == File {
			a.Hash = cmp.Or(e.led.rev, e.Rev)
		}
		if e.Dead {
			a.Dead += e.Tokens
		} else {
			a.Leaves = false
		}
	}
	views := make([]TierView, Active)
	for t := L0; t <= Active; t++ {
		views[t-L0] = TierView{Tier: t, Threshold: t.Threshold()}
	}
	for i := range accounts {
		a := &accounts[i]
		v := &views[a.tier-L0]
		v.Tokens, v.Cached = v.Tokens+a.Tokens, v.Cached+a.cached
		v.Items = append(v.Items, a.ItemView)
	}
	return views
}
