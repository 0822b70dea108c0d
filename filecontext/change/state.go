package change

import (
	"context"

	"strata/filecontext"
)

// Effect is the effect of a change on one path. After a crash, a stored effect shows whether the change was made.
type Effect struct {
	Path   string // as filecontext names it
	File   string // the file itself: its absolute path without links below the root
	Before string // SHA-256 of the bytes, in hex, or filecontext.NoFile
	After  string // likewise
}

// State is whether a change was made.
type State string

// The states of a change.
const (
	Done    State = "done"
	NotDone State = "not_done"
	Unknown State = "unknown" // the files are neither as they were before nor as they are after it, or cannot be read
)

// StateOf compares the files with the effects of a change, and returns whether the change was made. The error is that of ctx.
func StateOf(ctx context.Context, roots *filecontext.Roots, effects []Effect) (State, error) {
	done, notDone := true, true
	for _, e := range effects {
		hash, err := hashAt(ctx, roots, e.Path)
		if ctx.Err() != nil {
			return Unknown, ctx.Err()
		}
		done = done && err == nil && hash == e.After
		notDone = notDone && err == nil && hash == e.Before
	}
	switch {
	case done == notDone:
		return Unknown, nil
	case done:
		return Done, nil
	}
	return NotDone, nil
}

// hashAt returns the hash of the file at a path, or filecontext.NoFile.
func hashAt(ctx context.Context, roots *filecontext.Roots, path string) (string, error) {
	ref, err := roots.Locate(path)
	if err != nil {
		return "", err
	}
	ref.Allow = true // nobody learns more than whether the hash is a known one
	if at, ok := remote(roots, ref); ok {
		v, err := remoteVersion(ctx, at)
		return v.Hash(), err
	}
	hash, err := filecontext.Reach(ctx, roots, ref, func(f *filecontext.Reached) (string, error) {
		s, data, err := readSpot(f)
		if err != nil {
			return "", err
		}
		defer s.close()
		return hashOf(data), nil
	})
	if err != nil && filecontext.ReasonOf(err) == filecontext.ReasonMissing {
		return filecontext.NoFile, nil
	}
	return hash, err
}
