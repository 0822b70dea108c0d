package filecontext

import (
	"context"
	"errors"
	"path/filepath"

	"strata/internal/patience"
)

// onDisk does work on a file that may never return, and must not use anything that its caller changes. The error is that of
// the work, that of ctx, or a *RefusedError for a file of a disk that does not respond.
func onDisk[T any](ctx context.Context, r *Roots, ref Ref, do func() (T, error)) (T, error) {
	value, err := patience.Do(ctx, r.limits.Patience, ref.place.path, filepath.Join(ref.place.path, ref.name), do)
	if errors.Is(err, patience.ErrNoResponse) || errors.Is(err, patience.ErrTooMany) {
		err = refuse(ref.Path, ReasonUnreadable, err.Error())
	}
	return value, err
}
