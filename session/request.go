package session

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

// snapshot is what a request is built from. Nothing of it changes, so that building can take its time
// outside the mailbox.
type snapshot struct {
	deps      *Deps
	session   string
	view      []history.Viewed
	summary   history.Summary
	omitted   int            // messages that were left out of the view
	shed      []history.Head // of them those that did not fit
	cuts      map[string]history.DocumentCut
	files     []filecontext.Entry
	documents []history.Document // that are shown
	all       []history.Document
	phase     *profile.Phase // nil: the profile has none
	rulesFile bool           // AGENTS.md is read
	system    string
	profile   *profile.Profile
	first     *history.Head // of the user's messages since the last clear; nil for none
	exchanges int           // how many of them there are
	roots     *filecontext.Roots
	model     llm.Model
	thought   llm.ThoughtLevel
	counter   *tokens.Counter
	facts     *facts
	differ    *differ
	gallery   *gallery
	layout    *layout
	drift     float64 // how far the provider's count was above ours at the last request; at least 1
}

// built is a request and what was found out while it was built.
type built struct {
	request    llm.Request
	sizes      []int // tokens of each of its entries, with the framing
	plan       *stability.Plan
	mirror     *stability.Mirror
	cache      string         // name of the cache that it is of
	counted    int            // tokens of the request, uncalibrated
	categories map[string]int // adds up to counted
	documents  map[string]int // tokens by name
	phase      string
	fitting    fitting   // what was left out of it now
	leftOut    []LeftOut // all that it does not hold, and why
	entries    []filecontext.Entry
	refreshed  []filecontext.Change
	sent       []sentFile
	told       map[string]string
	untold     []string   // keys of notes that do not fit
	blobs      []textBlob // rendered pieces and file texts that the stored layout has to be able to find again
	keep       []string   // hashes of those and of the older ones that it still refers to
}

// textBlob is a text and its hash.
type textBlob struct{ hash, text string }

// sentFile is a file that a request holds.
type sentFile struct {
	path, hash string
	whole      bool
}

// reserve is how much of the window is kept for the answer: what the model can write, but at most a
// quarter, since some models can write nearly as much as they can read.
func reserve(m llm.Model) int { return min(m.MaxOutput, m.Window/4) }

// room is what the input may have, in tokens as the provider counts them.
func (s *snapshot) room() int { return s.model.Window - reserve(s.model) }

// calibrated returns counted tokens as the model's provider would report them, as far as that was
// learned of the model and of the last request.
func (s *snapshot) calibrated(n int) int {
	return int(float64(s.deps.Calibrations.Apply(s.model.Name, n)) * s.drift)
}

// build makes the next request: what it holds, made to fit, in the order and with the marks that the
// layout gives it.
func (s *snapshot) build(ctx context.Context, tools []llm.Tool) (built, error) {
	b := built{categories: make(map[string]int), documents: make(map[string]int)}
	if s.phase != nil {
		b.phase = s.phase.ID
	}
	if err := s.seePictures(ctx); err != nil {
		return b, err
	}
	pieces, err := s.collect(ctx, &b, tools)
	if err != nil {
		return b, err
	}
	if pieces, err = s.fit(ctx, &b, pieces); err != nil {
		return b, err
	}
	pieces, revisions, err := s.arrange(ctx, &b, pieces, tools)
	if err != nil {
		return b, err
	}
	b.leftOut = runs(b.leftOut)
	if err := s.render(ctx, &b, pieces, revisions, tools); err != nil {
		return b, err
	}
	for i := range b.plan.Entries {
		e := &b.plan.Entries[i]
		b.categories[categoryOf(e)] += e.Tokens
		if isDocument(e) {
			b.documents[strings.TrimPrefix(e.Key, documentPrefix)] += e.Tokens
		}
	}
	return b, nil
}

// logPlanned tells how a request was laid out that is to be sent, and what the provider is expected to
// have of it.
func (s *snapshot) logPlanned(b *built) {
	s.deps.Log.Debug("request planned", slog.String("session", s.session), slog.Int("tokens", b.counted),
		slog.Int("kept", b.plan.Kept), slog.String("cut", string(b.plan.Cut)), slog.Int("expected", b.plan.Expect),
		slog.Int("expectedBlocks", b.plan.ExpectBlocks), slog.Int("leftOut", len(b.leftOut)))
}

// arrange lays the pieces out, without copies of files where nothing of the request is cached: then leaving them
// out costs nothing.
func (s *snapshot) arrange(ctx context.Context, b *built, pieces []piece, tools []llm.Tool) ([]piece, *revisions, error) {
	revisions, err := s.layOut(ctx, b, pieces, tools)
	if err != nil || b.plan.Expect > 0 || !b.fitting.empty() {
		return pieces, revisions, err
	}
	if pieces, err = s.dedupe(ctx, b, pieces); err != nil || b.fitting.empty() {
		return pieces, revisions, err
	}
	revisions, err = s.layOut(ctx, b, pieces, tools)
	return pieces, revisions, err
}

// layOut plans in which order the pieces are sent and where the marks are. It returns the texts of files that
// rendering the plan needs.
func (s *snapshot) layOut(ctx context.Context, b *built, pieces []piece, tools []llm.Tool) (*revisions, error) {
	revisions, err := s.revisions(ctx, pieces)
	if err != nil {
		return nil, err
	}
	b.categories[categoryOverhead] = 0
	for i := range pieces {
		b.categories[categoryOverhead] += pieces[i].overhead
	}
	set := ""
	if len(tools) > 0 {
		set = s.toolsPiece(tools).Hash
	}
	b.cache = cacheName(s.model, s.thought, set)
	b.mirror = s.deps.Mirrors.of(b.cache, s.deps.Now())
	request := stability.Request{
		Now: s.deps.Now(), Window: s.capacity(s.model.Window),
		Room: max(s.capacity(s.room())-b.categories[categoryOverhead], 1),
		Cache: stability.Cache{
			Mirror: b.mirror, Automatic: !s.model.Marks, Minimum: s.model.MinCacheTokens, Prices: relative(s.model.Price),
		},
		Diff: func(key, from, to string) (string, int, bool) {
			d := s.diff(revisions, key, from, to)
			return d.hash, d.tokens, d.ok
		},
	}
	request.Items = make([]stability.Item, len(pieces))
	for i := range pieces {
		request.Items[i] = pieces[i].Item
	}
	if b.plan, err = s.layout.plan(request, b.cache); err != nil {
		return nil, fmt.Errorf("lay out the request of session %s: %w", s.session, err)
	}
	if s.model.NoCache {
		b.plan.Expect, b.plan.ExpectBlocks = 0, 0
	}
	return revisions, nil
}

// relative returns a model's prices relative to its input's; zero where they are not known.
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

// revisions are the texts of files, as far as a plan can ask for the diff between two of them, and the
// diffs. They belong to one request.
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

// revisions returns the present text of each file, and the texts from which the present one could be
// reached: those that the newest base of the file and the diffs behind it led to. They are read from the
// store, since they may be gone from the disk, unless the diff is known already.
func (s *snapshot) revisions(ctx context.Context, pieces []piece) (*revisions, error) {
	r := &revisions{texts: make(map[string]map[string]string), diffs: make(map[diffKey]fileDiff)}
	now := make(map[string]*piece)
	for i := range pieces {
		if p := &pieces[i]; p.Kind == stability.File {
			r.put(p.Key, p.Rev, p.file.Text)
			now[p.Key] = p
		}
	}
	var wanted []diffKey
	var missing []string
	for key, revs := range s.shownRevisions(now) {
		for _, rev := range revs {
			diff := keyOfDiff(key, rev, now[key].Rev)
			if known, ok := s.differ.lookup(diff); ok {
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
			r.put("file:"+diff.path, diff.from, string(text))
		}
	}
	return r, nil
}

// shownRevisions returns the revisions of the given files that a diff could begin with, by key.
func (s *snapshot) shownRevisions(now map[string]*piece) map[string][]string {
	shown := make(map[string][]string)
	for _, e := range s.layout.entries() {
		p := now[e.Key]
		if p == nil || p.Partial || e.Rev == "" || strings.HasSuffix(e.Rev, numbered) || strings.HasSuffix(p.Rev, numbered) {
			continue
		}
		if e.Kind == stability.Base {
			shown[e.Key] = nil
		}
		shown[e.Key] = append(shown[e.Key], e.Rev)
	}
	return shown
}

func (s *snapshot) blobs(ctx context.Context, hashes []string) (map[string][]byte, error) {
	if len(hashes) == 0 {
		return nil, nil
	}
	found, err := s.deps.Store.Blobs(ctx, hashes)
	if err != nil {
		return nil, fmt.Errorf("read the layout of session %s: %w: %w", s.session, ErrStorage, err)
	}
	return found, nil
}

func keyOfDiff(key, from, to string) diffKey {
	return diffKey{strings.TrimPrefix(key, "file:"), from, to}
}

// diff returns the diff between two revisions of a file; not ok where one of the texts is not known.
func (s *snapshot) diff(r *revisions, key, from, to string) fileDiff {
	diff := keyOfDiff(key, from, to)
	if known, ok := r.diffs[diff]; ok {
		return known
	}
	old, known := r.texts[key][from]
	now, also := r.texts[key][to]
	if !known || !also || strings.HasSuffix(to, numbered) {
		return fileDiff{}
	}
	made := s.differ.diff(diff, old, now, s.counter)
	r.diffs[diff] = made
	return made
}
