package filecontext

import (
	"context"
	"os"
)

// stamped is the stamp of a file, or why there is none.
type stamped struct {
	stamp stamp
	err   error
}

// stamps returns the stamps of the files of entries, by path. The files of a root are looked at together, which costs a part of
// a look at each. If its disk does not respond, these files are missing in the result: then each is looked at alone.
func (r *Roots) stamps(ctx context.Context, entries []Entry) map[string]stamped {
	places := make(map[*place][]Ref)
	for i := range entries {
		if ref, err := r.Locate(entries[i].Path); err == nil {
			ref.Allow = entries[i].Allowed
			places[ref.place] = append(places[ref.place], ref)
		}
	}
	if r.remote != nil {
		return r.remote.stamps(ctx, places[r.remote.place])
	}
	found := make(map[string]stamped, len(entries))
	for _, refs := range places {
		all, err := onDisk(ctx, r, refs[0], func() ([]stamped, error) { return r.stampsNow(refs) })
		if err != nil {
			continue
		}
		for i := range all {
			found[refs[i].Path] = all[i]
		}
	}
	return found
}

// stampsNow returns the stamps of files of one root.
func (r *Roots) stampsNow(refs []Ref) ([]stamped, error) {
	folder, err := openRoot(refs[0])
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	all := make([]stamped, len(refs))
	for i := range refs {
		all[i].stamp, all[i].err = r.stampIn(folder, refs[i])
	}
	return all, nil
}

// stampIn returns the stamp of a regular file of an open root.
func (r *Roots) stampIn(folder *os.Root, ref Ref) (stamp, error) {
	info, err := regular(folder, ref)
	if err != nil {
		return stamp{}, err
	}
	return newStamp(info, r.now()), nil
}

// stamps returns the stamps of files, by path. They are missing in the result if there is no list.
func (s *remote) stamps(ctx context.Context, refs []Ref) map[string]stamped {
	found := make(map[string]stamped, len(refs))
	all, err := s.source.List(ctx)
	for _, ref := range refs {
		if err != nil {
			found[ref.Path] = stamped{err: refuseAt(ref, err)}
			continue
		}
		now, err := statIn(all, ref)
		found[ref.Path] = stamped{now, err}
	}
	return found
}
