package tools

import (
	"context"

	"strata/filecontext/change"
	"strata/history"
)

// Prepared is a call that changes files, before it does. Its caller asks for approval and stores what undoes the change.
type Prepared struct {
	Refusal *Result // why the call cannot be made; the other fields are zero then

	Change
	Diffs []history.Diff // what the call would change, to be shown for approval

	// Make makes the change, unless something has changed since: then the result says so, and nothing is changed. It may be
	// called once. The result says what was made. The error is that of ctx: the change was not made, and never will be.
	Make func(ctx context.Context) (Result, error)
}

// Change is what a call does to a file.
type Change struct {
	Effects []change.Effect // of a move two: at the old path and at the new one
	Names   []string        // of all files concerned, relative to their roots, with slashes: also where links lead
	Mode    uint32          // permission bits of the file, as Unix has them; 0 for a new one

	Image []byte // bytes of the file before the change; nil for a new file
	Next  []byte // bytes of the file after it; nil for a deleted one
}

// Made is what became of a Change.
type Made struct {
	State change.State
	// Of a change that an editor has made: what became of the file. Otherwise nil, and it is what was prepared.
	Effects []change.Effect
	Image   []byte // bytes of the file before the change, if they are not those that were prepared
	Next    []byte
}

// Refuse returns a call that cannot be made.
func Refuse(why Result) *Prepared { return &Prepared{Refusal: &why} }

// Prepare checks a call that can change something, and does nothing yet. The texts of its results have at most limit bytes. The
// error is that of ctx.
func (c *Call) Prepare(ctx context.Context, limit int) (*Prepared, error) {
	limit = min(limit, MaxResult)
	p, err := c.Tool.Prepare(ctx, Input{CallID: c.ID, Args: c.Args, Limit: limit})
	switch {
	case err != nil:
		return nil, err
	case p.Refusal != nil:
		return Refuse(Cut(*p.Refusal, limit)), nil
	}
	bounded := *p
	bounded.Make = func(ctx context.Context) (Result, error) {
		r, err := p.Make(ctx)
		if err != nil {
			return Result{}, err
		}
		return Cut(r, limit), nil
	}
	return &bounded, nil
}
