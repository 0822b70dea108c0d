package restoring

import (
	"context"
	"errors"
	"slices"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
	"strata/internal/failpoint"
	"strata/session/saving"
)

// maxHeld limits the bytes of images that are kept in memory because the store may drop them for newer ones.
const maxHeld = 64 << 20

// fault is the reason why a file could not be restored.
type fault struct {
	reason history.ConflictReason
	detail string
}

// applying is a plan that is being carried out.
type applying struct {
	*Files
	plan    *history.RestorePlan
	changes []history.FileChange
	held    map[string][]byte // by hash
	room    int               // bytes that held may still get

	made   []*history.FileRestore
	faults map[string]fault // by path
	broken map[int]bool     // groups with a fault
	stays  map[int]bool     // of these, those that are not taken back: a file may have been removed, and the other one has its text
}

// apply carries out a plan: it stores the replaced contents, writes files, then removes files. Files that moves link are all
// restored, or none. It returns the files that could not be restored. An error is one of the store or of ctx, and ends apply.
func (f *Files) apply(ctx context.Context, plan *history.RestorePlan, changes []history.FileChange) (map[string]fault, error) {
	a := &applying{
		Files: f, plan: plan, changes: changes, held: make(map[string][]byte), room: maxHeld,
		faults: make(map[string]fault), broken: make(map[int]bool), stays: make(map[int]bool),
	}
	if err := a.keep(ctx); err != nil {
		return nil, err
	}
	for _, removes := range []bool{false, true} {
		for i := range plan.Files {
			r := &plan.Files[i]
			if r.Outcome != history.FileRestored || a.broken[r.Group] || removes != (r.Put.Hash == "") {
				continue
			}
			if err := a.restore(ctx, r); err != nil {
				return nil, err
			}
		}
	}
	return a.faults, a.takeBack(ctx)
}

// restore restores one file, or records its fault. The error is one of the store or of ctx.
func (a *applying) restore(ctx context.Context, r *history.FileRestore) error {
	failpoint.Hit("restore.file")
	switch err := a.put(ctx, r.Path, r.Now, r.Put); {
	case err == nil:
		a.made = append(a.made, r)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		var cannot *fileError
		if !errors.As(err, &cannot) {
			return err
		}
		a.faults[r.Path], a.broken[r.Group] = cannot.fault(), true
		a.stays[r.Group] = cannot.unknown
	}
	return nil
}

// takeBack undoes the restore of files in broken groups.
func (a *applying) takeBack(ctx context.Context) error {
	for _, r := range slices.Backward(a.made) {
		if !a.broken[r.Group] || a.stays[r.Group] {
			continue
		}
		err := a.put(ctx, r.Path, r.Put, r.Now)
		var cannot *fileError
		switch {
		case errors.As(err, &cannot):
			a.faults[r.Path] = cannot.fault()
		case err != nil:
			return err
		}
	}
	return nil
}

// fileError is the error of a change of a file, as opposed to one of the store.
type fileError struct {
	err     error
	unknown bool // whether the file was changed
}

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

func (e *fileError) fault() fault {
	switch {
	case errors.Is(e.err, errNoImage):
		return fault{reason: history.ConflictNoImage}
	case errors.Is(e.err, change.ErrChanged):
		return fault{reason: history.ConflictChanged}
	}
	return fault{history.ConflictFailed, e.err.Error()}
}

// put replaces a version of a file by another version. The error is a *fileError, or one of the store or of ctx.
func (a *applying) put(ctx context.Context, path string, now, put history.FileVersion) error {
	v := change.Version{}
	if put.Hash != "" {
		data, err := a.bytes(ctx, put.Hash)
		if err != nil {
			return err
		}
		v = change.Version{Exists: true, Bytes: data, Mode: put.Mode}
	}
	hash := now.Hash
	if hash == "" {
		hash = filecontext.NoFile
	}
	plan, err := change.Files{Roots: a.Roots}.Put(ctx, path, hash, v)
	state := change.NotDone
	if err == nil {
		if err = plan.Make(ctx); err != nil {
			state = plan.State(ctx)
		}
	}
	switch {
	case err == nil, state == change.Done && ctx.Err() == nil: // the response of a client can come too late
		return nil
	case ctx.Err() != nil:
		return err
	}
	return &fileError{err, state == change.Unknown}
}

// bytes returns the bytes with a hash. The error is a *fileError, or one of the store or of ctx.
func (a *applying) bytes(ctx context.Context, hash string) ([]byte, error) {
	if data, ok := a.held[hash]; ok {
		return data, nil
	}
	data, err := image(ctx, a.Store, a.Session, hash)
	if errors.Is(err, errNoImage) {
		return nil, &fileError{err: err}
	}
	return data, err
}

// keep stores the contents that the restore replaces, and those that exist only in other files, unless they are stored.
func (a *applying) keep(ctx context.Context) error {
	stored := make(map[string]bool)
	for i := range a.changes {
		c := &a.changes[i]
		stored[c.Before] = stored[c.Before] || c.HasBefore
		stored[c.After] = stored[c.After] || c.HasAfter
	}
	for i := range a.plan.Files {
		r := &a.plan.Files[i]
		if r.Outcome != history.FileRestored {
			continue
		}
		if err := a.keepOf(ctx, r, stored); err != nil {
			return err
		}
	}
	failpoint.Hit("restore.kept")
	return nil
}

// keepOf is keep for one file. If a content no longer exists, the file is not restored.
func (a *applying) keepOf(ctx context.Context, r *history.FileRestore, stored map[string]bool) error {
	for hash, path := range map[string]string{r.Now.Hash: r.Path, r.Put.Hash: r.From} {
		if hash == "" || path == "" || stored[hash] {
			continue
		}
		if len(a.held) == 0 {
			a.hold(ctx)
		}
		v, err := change.Files{Roots: a.Roots}.Look(ctx, path)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || v.Hash() != hash:
			a.faults[r.Path], a.broken[r.Group] = fault{reason: history.ConflictChanged}, true
			return nil
		}
		if err := a.store(ctx, history.Blob{Hash: hash, Bytes: v.Bytes}); err != nil {
			return err
		}
		stored[hash] = true
	}
	return nil
}

// hold keeps images in memory that are needed to restore files, because the store may drop them when it stores new ones. An
// image that exceeds maxHeld or cannot be read is read again when it is needed.
func (a *applying) hold(ctx context.Context) {
	for i := range a.plan.Files {
		r := &a.plan.Files[i]
		if r.Outcome != history.FileRestored || r.Put.Hash == "" || r.From != "" {
			continue
		}
		if data, err := a.bytes(ctx, r.Put.Hash); err == nil {
			a.holdOne(r.Put.Hash, data)
		}
	}
}

func (a *applying) holdOne(hash string, data []byte) {
	if _, ok := a.held[hash]; !ok && len(data) <= a.room {
		a.held[hash] = data
		a.room -= len(data)
	}
}

// store stores an image, together with a change that refers to it.
func (a *applying) store(ctx context.Context, image history.Blob) error {
	i := slices.IndexFunc(a.changes, func(c history.FileChange) bool { return c.Before == image.Hash || c.After == image.Hash })
	if i < 0 {
		return nil
	}
	a.holdOne(image.Hash, image.Bytes)
	return saving.Commit(ctx, a.Saver, history.Change{
		Session: a.Session, PutFileChanges: a.changes[i : i+1], FileImages: []history.Blob{image},
	})
}
