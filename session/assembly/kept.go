package assembly

import (
	"strata/history"
	"strata/session/fit"
)

// KeptFor returns the request as it is kept with the calls that sent it. reply is the id of the message that it led to, empty
// for none, and seq the newest sequence number of the session when it was built.
func (b *Built) KeptFor(calls []history.Call, reply string, seq int64) (kept []history.Request) {
	if b.Plan == nil || len(calls) == 0 {
		return nil
	}
	r := history.Request{
		Message: reply, Seq: seq, Layout: b.Layout, Cut: string(b.Plan.Cut), Tokens: b.Counted, Overhead: b.Counted - b.Plan.Tokens,
		Expected: b.Plan.Expect, Items: b.keptItems(), Omitted: make([]history.RequestOmission, len(b.Omitted)),
	}
	for i, o := range b.Omitted {
		r.Omitted[i] = history.RequestOmission(o)
	}
	for i := range calls {
		r.Call, r.At = calls[i].ID, calls[i].At
		kept = append(kept, r)
	}
	return kept
}

func (b *Built) keptItems() []history.RequestItem {
	files := make(map[string]string, len(b.Files)) // reasons by key
	for i := range b.Files {
		files[fit.FilePrefix+b.Files[i].Path] = b.Files[i].Reason
	}
	moved := make(map[string]string)
	for _, c := range b.Plan.Changes() {
		if c.Reason != reasonNew {
			moved[c.Key] = c.Reason
		}
	}
	items := make([]history.RequestItem, len(b.Plan.Entries))
	for i := range items {
		e := &b.Plan.Entries[i]
		items[i] = history.RequestItem{
			Key: e.Key, Kind: string(e.Kind), Hash: e.Blob, Tokens: e.Tokens, Tier: e.Tier.String(), N: e.N,
			Mark: e.Mark, Dead: e.Dead, Reason: files[e.Key], Moved: moved[e.Key],
		}
	}
	return items
}

// reasonNew is the reason of the plan for an item that the request before did not have.
const reasonNew = "new"
