package stability

// TierView is one tier of a request, for display.
type TierView struct {
	Tier      Tier
	Tokens    int // dead ones included
	Cached    int // of them expected to be read from the cache
	Threshold int // N at which an item leaves upward; 0 for L0
	Items     []ItemView
}

// ItemView is one item of a tier: all entries that show it, and what is left of it from earlier.
type ItemView struct {
	Key    string
	Kind   Kind
	Hash   string // of the file's text for a file, of the rendered bytes otherwise
	Tokens int    // dead ones included
	Dead   int    // of them needed no more
	N      int
	Leaves bool // no longer needed: all of it leaves at the next cut
}

// Breakdown accounts for every token of p by tier and item. The tiers come most stable first, all of them, and the items in
// the order in which they first appear.
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
			a.Hash = e.Rev
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
