package restoring

import (
	"context"
	"errors"
	"strings"

	"strata/filecontext/change"
	"strata/history"
	"strata/session/changing"
)

// The limits of a response, in bytes.
const (
	maxRows  = 1 << 20 // of everything but diffs
	maxDiffs = 1 << 20 // of all diffs; one has at most history.MaxDiff
	perRow   = 500     // of a row without its paths
	perHunk  = 100
	minDiff  = 1 << 10 // with less room a diff is not made
)

// room is the number of bytes that a response can still contain.
type room struct{ rows, diffs int }

func newRoom() *room { return &room{maxRows, maxDiffs} }

// row reports whether a row with paths of so many bytes fits, and then subtracts its size.
func (r *room) row(paths int) bool {
	if perRow+paths > r.rows {
		return false
	}
	r.rows -= perRow + paths
	return true
}

// diff returns d with the lines that differ in two contents, nil if the contents are not text or not stored. If the limit is
// reached, the diff has no lines.
func (r *room) diff(d history.Diff, contents func() (before, after []byte, err error)) (*history.Diff, error) {
	if r.diffs < minDiff {
		d.Hunks, d.Cut = []history.TextHunk{}, true
		return &d, nil
	}
	before, after, err := contents()
	if errors.Is(err, errNoImage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old, isText := textOf(before)
	text, isToo := textOf(after)
	if !isText || !isToo {
		return nil, nil
	}
	lines := changing.Diff(d.Path, old, text, min(r.diffs, history.MaxDiff))
	d.Hunks, d.Cut = lines.Hunks, lines.Cut
	for _, h := range d.Hunks {
		r.diffs -= len(h.Old) + len(h.New) + perHunk
	}
	return &d, nil
}

// textOf decodes a file to a text with LF line ends; ok is false for other bytes.
func textOf(data []byte) (text string, ok bool) {
	t, err := change.Decode(data)
	return t.Unix(), err == nil && !strings.Contains(t.Unix(), "\x00")
}

// errNoImage is the error for a content that is no longer stored.
var errNoImage = errors.New("the former content is no longer stored")

// image returns a stored content. The error is errNoImage, or one of the store or of ctx.
func image(ctx context.Context, store Store, session, hash string) ([]byte, error) {
	images, err := store.Images(ctx, session, []string{hash})
	if err != nil {
		return nil, err
	}
	if data, ok := images[hash]; ok {
		return data, nil
	}
	return nil, errNoImage
}
