package assembly

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"strata/history"
	"strata/session/fit"
	"strata/session/outlines"
	"strata/stability"
)

// Layout is what a session remembers of the answered requests: the tracker, and the availability of files as the notes
// told it. Plans are made on the session's goroutines, answers are noted on its mailbox: hence the lock, which is a leaf.
type Layout struct {
	options stability.Options

	mu      sync.RWMutex
	tracker *stability.Tracker
	told    map[string]string // availability by path, as the notes of the newest answered request told it
	cache   string            // name of the cache of that request
	rows    storedRows
	unsure  []history.Blob // texts of which it is not known whether they are stored

	abbreviated []string // prefixes in the outlines of that request
}

// storedLayout is the stored form of a layout.
type storedLayout struct {
	Tracker json.RawMessage   `json:"tracker"`
	Told    map[string]string `json:"told,omitempty"`
	Cache   string            `json:"cache,omitempty"`

	Abbreviated []string `json:"abbreviated,omitempty"` // prefixes in outlines
}

// NewLayout restores a stored layout. A layout that cannot be used is forgotten, which costs only a cache; the error says
// so. mirror returns the mirror of the cache with a name: only the cache of the stored request learns from it.
func NewLayout(options stability.Options, stored history.Layout, mirror func(cache string) *stability.Mirror) (*Layout, error) {
	fresh, err := stability.New(options)
	if err != nil {
		return nil, fmt.Errorf("stability: %w", err)
	}
	l := &Layout{options: options, tracker: fresh, told: make(map[string]string)}
	if len(stored.Head) == 0 {
		return l, nil
	}
	var s storedLayout
	if err := json.Unmarshal(stored.Head, &s); err != nil {
		return l, fmt.Errorf("stored layout: %w", err)
	}
	tracker, err := stability.Restore(options, stability.Stored{Head: s.Tracker, Rows: stored.Rows}, mirror(s.Cache))
	if err != nil {
		if errors.Is(err, stability.ErrLayout) {
			err = nil
		}
		return l, err
	}
	l.tracker, l.cache, l.abbreviated, l.rows.rows = tracker, s.Cache, s.Abbreviated, stored.Rows
	if s.Told != nil {
		l.told = s.Told
	}
	return l, nil
}

// name returns the name of the kind of layout.
func (l *Layout) name() string { return cmp.Or(l.options.Layout, stability.LayoutLog) }

// plan lays out a request that goes to the cache with the given name.
func (l *Layout) plan(req stability.Request, cache string) (*stability.Plan, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	req.Cache.Cold = l.cache != cache
	return l.tracker.Plan(req)
}

// Lifetime returns the setting of the lifetime of cached prefixes.
func (l *Layout) Lifetime() string { return l.options.Lifetime }

// entries returns the entries of the request answered last; they must not be changed.
func (l *Layout) entries() []stability.Entry {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.tracker.Entries()
}

// Answered notes that the provider has read a request, and adds to a change what is to be stored: what has changed of the
// layout, those texts that it refers to and that are not stored yet, and, if entries have left, the hashes of all of them.
// Stored must be called once the change is.
func (l *Layout) Answered(b *Built, change *history.Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.tracker.Entries()
	stored := make(map[string]bool) // hashes
	for i := range before {
		if e := &before[i]; e.Kind != stability.Message { // messages are stored as such
			stored[e.Blob], stored[e.Rev], stored[e.Led()] = true, true, true
		}
	}
	if err := l.tracker.Commit(b.Plan); err != nil {
		return err
	}
	l.told, l.cache, l.abbreviated = b.told, b.cache, b.prefixes
	tracker, err := l.tracker.State(b.Mirror)
	if err != nil {
		return err
	}
	head, err := json.Marshal(storedLayout{Tracker: tracker.Head, Told: b.told, Cache: b.cache, Abbreviated: b.prefixes})
	if err != nil {
		return err
	}
	change.Layout = l.rows.change(head, tracker.Rows)
	if b.Plan.Kept < len(before) || len(before) == 0 {
		change.KeepBlobs = append([]string{}, b.keep...)
	}
	for _, blob := range b.blobs {
		if !stored[blob.hash] {
			stored[blob.hash] = true
			l.unsure = append(l.unsure, history.Blob{Hash: blob.hash, Bytes: []byte(blob.text)})
		}
	}
	change.Blobs = append(change.Blobs, l.unsure...)
	return nil
}

// Resend makes the next change contain all rows: the store may have other ones than those that were loaded.
func (l *Layout) Resend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = storedRows{}
}

// Stored notes that what the last Answered returned is stored.
func (l *Layout) Stored() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows.confirm()
	l.unsure = nil
}

// Beside returns the counted tokens of the last request other than the working history.
func (l *Layout) Beside() int {
	sum := 0
	entries := l.entries()
	for i := range entries {
		if e := &entries[i]; e.Kind != stability.Message && !e.Dead && fit.Category(e.Kind, e.Key) != fit.CategoryHistory {
			sum += e.Tokens
		}
	}
	return sum
}

// Outlined returns what the newest answered request showed of the workspace, by key: outlines, their heading, and the
// tree.
func (l *Layout) Outlined() []outlines.Shown {
	var all []outlines.Shown
	entries := l.entries()
	for i := range entries {
		if e := &entries[i]; !e.Dead && (e.Kind == stability.Outline || e.Key == fit.DocumentPrefix+fit.DocumentStructure) {
			all = append(all, outlines.Shown{Key: e.Key, Kind: e.Kind, Hash: e.Blob, Tokens: e.Tokens})
		}
	}
	slices.SortFunc(all, func(a, b outlines.Shown) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// prefixes returns those that the outlines of that request abbreviate; the slice must not be changed.
func (l *Layout) prefixes() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.abbreviated
}

// lastTold returns the availability of files as the notes told it; the map must not be changed.
func (l *Layout) lastTold() map[string]string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.told
}
