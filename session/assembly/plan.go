package assembly

import (
	"context"
	"fmt"
	"strings"

	"strata/llm"
	"strata/session/fit"
	"strata/session/reads"
	"strata/stability"
)

// planned is the order of a request's entries with its cache marks.
type planned struct {
	*stability.Plan
	mirror    *stability.Mirror
	cache     string // name
	overhead  int    // tokens of framing
	revisions *revisions
}

// plan lays out what fits. If nothing of the request is cached copies of files are removed too: then that costs nothing.
func (s *State) plan(ctx context.Context, c *collected, fitted fit.Result) (planned, fit.Result, error) {
	p, err := s.layOut(ctx, fitted.Items, c.clusters)
	if err != nil || p.Expect > 0 || !fitted.Changes.Empty() {
		return p, fitted, err
	}
	request := s.fitting(c)
	request.Items, request.Files, request.Told, request.Untold = fitted.Items, fitted.Files, fitted.Told, fitted.Untold
	deduped, err := fit.Dedupe(ctx, request)
	if err != nil || deduped.Changes.Empty() {
		return p, fitted, err
	}
	deduped.Omitted = append(fitted.Omitted, deduped.Omitted...)
	p, err = s.layOut(ctx, deduped.Items, c.clusters)
	return p, deduped, err
}

// layOut plans the order of items and the cache marks. clusters are keys of outlines.
func (s *State) layOut(ctx context.Context, items []fit.Item, clusters [][]string) (planned, error) {
	p, set := planned{}, ""
	plain := make([]stability.Item, len(items))
	disk := disks(items)
	told := make(map[string]string) // version by key, to which the newest message leads that has a change of the file
	for i := range items {
		p.overhead += items[i].Overhead
		if plain[i] = items[i].Item; items[i].Kind == stability.Tools {
			set = items[i].Hash
		}
		plain[i].Moves = movesIn(s.Reads, &items[i], disk)
		for _, m := range plain[i].Moves {
			told[m.Key] = m.To
		}
	}
	revisions, err := s.revisions(ctx, items, told)
	if err != nil {
		return planned{}, err
	}
	p.revisions = revisions
	p.cache = cacheName(s.Model, s.Thought, set)
	p.mirror = s.Mirrors.Of(p.cache, s.Now())
	request := stability.Request{
		Now: s.Now(), Items: plain, Clusters: clusters, Window: s.Capacity(s.Model.Window), Room: max(s.Capacity(s.Room())-p.overhead-s.separators(items), 1),
		Cache: stability.Cache{
			Mirror: p.mirror, Automatic: !s.Model.Marks, Minimum: s.Model.MinCacheTokens, Prices: relative(s.Model.Price),
		},
		Diff: func(key, from, to string) (string, int, bool) {
			d := s.diff(revisions, key, from, to)
			return d.hash, d.tokens, d.ok
		},
	}
	if p.Plan, err = s.Layout.plan(request, p.cache); err != nil {
		return planned{}, fmt.Errorf("lay out the request: %w", err)
	}
	if s.Model.NoCache {
		p.Expect, p.ExpectBlocks = 0, 0
	}
	return p, nil
}

// relative returns a model's prices relative to the price of its input; zero if they are not known.
func relative(p llm.Price) stability.Prices {
	if p.Input <= 0 || p.CacheRead <= 0 {
		return stability.Prices{}
	}
	prices := stability.Prices{Read: p.CacheRead / p.Input, Write: 1, WriteLong: 1}
	if p.CacheWrite > 0 {
		prices.Write, prices.WriteLong = p.CacheWrite/p.Input, 2
	}
	return prices
}

// revisions are the texts of files between which a plan can ask for a diff, and the diffs. They belong to one request.
type revisions struct {
	texts map[string]map[string]string // by key and revision
	diffs map[diffKey]fileDiff
}

func (r *revisions) put(key, rev, text string) {
	if r.texts[key] == nil {
		r.texts[key] = make(map[string]string, 2)
	}
	r.texts[key][rev] = text
}

// revisions returns the present text of each file, and the texts from which a diff could lead to it: those of the newest
// base of the file and of the diffs after that. They are read from the store, since they may be gone from the disk, unless
// the diff is known already, or messages tell the present text: told are the versions to which they lead, by key.
func (s *State) revisions(ctx context.Context, items []fit.Item, told map[string]string) (*revisions, error) {
	r := &revisions{texts: make(map[string]map[string]string), diffs: make(map[diffKey]fileDiff)}
	now := make(map[string]*fit.Item)
	for i := range items {
		if p := &items[i]; p.Kind == stability.File {
			r.put(p.Key, p.Rev, p.File.Text)
			now[p.Key] = p
		}
	}
	var wanted []diffKey
	var missing []string
	for key, revs := range s.shownRevisions(now, told) {
		for _, rev := range revs {
			diff := keyOfDiff(key, rev, now[key].Rev)
			if known, ok := s.Diffs.lookup(diff); ok {
				r.diffs[diff] = known
			} else if rev != now[key].Rev {
				wanted, missing = append(wanted, diff), append(missing, rev)
			}
		}
	}
	found, err := s.blobs(ctx, missing)
	if err != nil {
		return nil, err
	}
	for _, diff := range wanted {
		if text, ok := found[diff.from]; ok {
			r.put(fit.FilePrefix+diff.path, diff.from, string(text))
		}
	}
	return r, nil
}

// shownRevisions returns the revisions of the given files that a diff could begin with, by key. None begins with those of an entry
// from which messages lead to the present text.
func (s *State) shownRevisions(now map[string]*fit.Item, told map[string]string) map[string][]string {
	shown := make(map[string][]string)
	entries := s.Layout.entries()
	for i := range entries {
		e := &entries[i]
		if e.Rev == "" {
			continue
		}
		p := now[e.Key]
		if p == nil || p.Partial || strings.HasSuffix(e.Rev, fit.NoDiff) || strings.HasSuffix(p.Rev, fit.NoDiff) {
			continue
		}
		if e.Kind == stability.Base {
			shown[e.Key] = nil
		}
		if e.Led() != p.Rev || told[e.Key] != p.Version {
			shown[e.Key] = append(shown[e.Key], revisionsOf(e)...)
		}
	}
	return shown
}

// revisionsOf returns the revisions of a file with which a diff after an entry can begin: those of the entry, and of the text to
// which messages led from it. An entry of anything else has none.
func revisionsOf(e *stability.Entry) (revs []string) {
	for _, rev := range []string{e.Rev, e.Led()} {
		if rev != "" {
			revs = append(revs, rev)
		}
	}
	return revs
}

// disks returns the hashes of the files among items, by key.
func disks(items []fit.Item) map[string]string {
	all := make(map[string]string)
	for i := range items {
		if it := &items[i]; it.File != nil {
			all[it.Key] = it.File.Hash
		}
	}
	return all
}

// movesIn returns the changes of files that an item tells. disk are the hashes of the files now, by key: a text that an editor has
// not saved yet is not what the request has to show of its file.
func movesIn(known *reads.Reads, it *fit.Item, disk map[string]string) (moves []stability.Move) {
	if it.Kind != stability.Message || !it.Open {
		return nil
	}
	for _, m := range known.Moves(it.Messages) {
		key := fit.FilePrefix + m.Path
		if m.Disk == "" || m.Disk != disk[key] {
			moves = append(moves, stability.Move{Key: key, From: m.From, To: m.To})
		}
	}
	return moves
}

func (s *State) blobs(ctx context.Context, hashes []string) (map[string][]byte, error) {
	if len(hashes) == 0 {
		return nil, nil
	}
	found, err := s.Store.Blobs(ctx, hashes)
	if err != nil {
		return nil, fmt.Errorf("read the layout: %w: %w", ErrStorage, err)
	}
	return found, nil
}

func keyOfDiff(key, from, to string) diffKey {
	return diffKey{strings.TrimPrefix(key, fit.FilePrefix), from, to}
}

// diff returns the diff between two revisions of a file; not ok if one of the texts is not known.
func (s *State) diff(r *revisions, key, from, to string) fileDiff {
	diff := keyOfDiff(key, from, to)
	if known, ok := r.diffs[diff]; ok {
		return known
	}
	old, known := r.texts[key][from]
	now, also := r.texts[key][to]
	if !known || !also || strings.HasSuffix(to, fit.NoDiff) {
		return fileDiff{}
	}
	made := s.Diffs.diff(diff, old, now, s.Counter)
	r.diffs[diff] = made
	return made
}
