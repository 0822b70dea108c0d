package tools

import (
	"context"

	"strata/filecontext/change"
	"strata/history"
)

// Prepared is a call that can change something, before it does. Its caller asks for approval and stores what undoes the change.
type Prepared struct {
	Refusal *Result // why the call cannot be made; the other fields are zero then

	Diffs   []history.Diff  // what the call would change, to be shown for approval
	Effects []change.Effect // on files; they tell after a crash whether the change was made
	Image   []byte          // bytes of the file before the change; nil for a new file

	// Make makes the change, unless something has changed since: then the result says so, and nothing is changed. It may be
	// called once. The result's Made has what became of the files. The error is that of ctx; then the effects tell whether the
	// change was made.
	Make func(ctx context.Context) (Result, error)
}

// Made is what a prepared call did to files, which is not always what it planned: an editor may format what it writes.
type Made struct {
	State   change.State    // Unknown: neither the files before nor the change are there
	Effects []change.Effect // those of the Prepared, with the hashes that the files have after the call
	Image   []byte          // bytes of the file after the call; nil if there is none, or if the state is not Done
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
