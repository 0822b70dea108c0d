package restoring

import (
	"context"
	"slices"

	"strata/history"
)

// Change is a file change with its diff, for review.
type Change struct {
	history.FileChange
	Diff *history.Diff `json:"diff,omitempty"` // nil for a move, and if the contents are not text or not stored
}

// Page is a page of changes: newest turn first, and the changes of a turn oldest first.
type Page struct {
	Changes []Change
	Omitted int   // changes that exceed the limits
	Older   int64 // number of the page of older turns, 0 for none
}

// MaxTurns is the maximum number of turns on a page.
const MaxTurns = 50

// Changes returns the changes of a turn. The error is one of the store or of ctx.
func Changes(ctx context.Context, store Store, session, turn string) (Page, error) {
	changes, err := store.List(ctx, session, history.FileChangeQuery{Turn: turn})
	if err != nil {
		return Page{}, err
	}
	return page(ctx, store, session, changes, 0)
}

// Latest returns the changes of the newest turns that changed files; before is Older of the page with newer turns, or 0. The
// error is one of the store or of ctx.
func Latest(ctx context.Context, store Store, session string, before int64, turns int) (Page, error) {
	changes, older, err := store.ByTurn(ctx, session, before, min(turns, MaxTurns))
	if err != nil {
		return Page{}, err
	}
	return page(ctx, store, session, slices.Concat(changes...), older)
}

func page(ctx context.Context, store Store, session string, changes []history.FileChange, older int64) (Page, error) {
	p, room := Page{Changes: make([]Change, 0, len(changes)), Older: older}, newRoom()
	for i := range changes {
		c := Change{FileChange: changes[i]}
		if !room.row(len(c.Path) + len(c.To)) {
			p.Omitted++
			continue
		}
		if c.Kind != history.FileMoved {
			var err error
			if c.Diff, err = c.diff(ctx, store, session, room); err != nil {
				return Page{}, err
			}
		}
		p.Changes = append(p.Changes, c)
	}
	return p, nil
}

func (c *Change) diff(ctx context.Context, store Store, session string, room *room) (*history.Diff, error) {
	d := history.Diff{Path: c.Path, Created: c.Before == "", Deleted: c.After == ""}
	return room.diff(d, func() (before, after []byte, err error) {
		if c.Before != "" {
			before, err = image(ctx, store, session, c.Before)
		}
		if c.After != "" && err == nil {
			after, err = image(ctx, store, session, c.After)
		}
		return before, after, err
	})
}
