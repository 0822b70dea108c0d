package server

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"strata/history"
	"strata/internal/clip"
	"strata/server/wire"
)

// sessionFolders returns the spellings of the folders of a scope that the stored sessions have, nil for all folders.
func (b *backend) sessionFolders(ctx context.Context, scope wire.FolderScope) ([]string, error) {
	name, dir, choose := "cwd", scope.CWD, b.folders.Same
	if scope.Folder != "" {
		name, dir, choose = "folder", scope.Folder, b.folders.Within
	}
	switch {
	case dir == "":
		return nil, nil
	case scope.CWD != "" && scope.Folder != "":
		return nil, wire.InvalidParams("params.folder: expected either cwd or folder")
	case !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0):
		return nil, wire.InvalidParams("params.%s: must be an absolute path", name)
	}
	all, err := b.store.Folders(ctx)
	if err != nil {
		return nil, err
	}
	return append([]string{filepath.ToSlash(filepath.Clean(dir))}, choose(dir, all)...), nil // also that of files of a client
}

// destination is where a stored session works after it was opened with the folders that a client names.
type destination struct {
	history.Session        // CWD and Roots
	from            string // the folder before; empty if the session stays
}

// destination checks the folders that a client names for a stored session. The session stays in its folder, whatever its
// spelling. It moves if the client says so, or if its folder is gone.
func (b *backend) destination(stored history.Session, params wire.FolderParams, moved bool) (destination, error) {
	if stored.Config.IsRemote() {
		if path.Clean(params.CWD) != stored.CWD || len(params.Further) > 0 {
			return destination{}, wire.InvalidParams("params.cwd: a client has the files of the session, whose folder is %s", clip.Path(stored.CWD))
		}
		return destination{Session: history.Session{CWD: stored.CWD}}, nil
	}
	here, gone := b.folders.Resolve(stored.CWD)
	there, _ := b.folders.Resolve(params.CWD)
	if here == there && gone {
		return b.withoutFolder(stored, params)
	}
	record, err := b.record(params)
	switch {
	case err != nil:
		return destination{}, err
	case here == there:
		record.CWD = stored.CWD
		return destination{Session: record}, nil
	case !moved && !gone:
		return destination{}, wire.InvalidParams("params.cwd: the session belongs to %s; to move it, set params._meta.strata.moved", clip.Path(stored.CWD))
	}
	if len(record.Roots) == 0 {
		record.Roots = b.movedRoots(stored, record.CWD)
	}
	return destination{Session: record, from: stored.CWD}, nil
}

// withoutFolder is destination for a session whose folder is gone and that stays: it works without files.
func (b *backend) withoutFolder(stored history.Session, params wire.FolderParams) (destination, error) {
	stored.Roots = nil
	for _, dir := range params.Further {
		clean, err := b.folders.Check(dir)
		if err != nil {
			return destination{}, wire.InvalidParams("params.additionalDirectories: %s %s", clip.Path(dir), err)
		}
		stored.Roots = append(stored.Roots, clean)
	}
	return destination{Session: stored}, nil
}

// movedRoots returns the further folders of a session that moves: those below its old folder move along. Those that are
// not there are left out.
func (b *backend) movedRoots(stored history.Session, to string) (roots []string) {
	for _, dir := range stored.Roots {
		if rel, err := filepath.Rel(stored.CWD, dir); err == nil && filepath.IsLocal(rel) {
			dir = filepath.Join(to, rel)
		}
		if clean, err := b.folders.Check(dir); err == nil {
			roots = append(roots, clean)
		}
	}
	return roots
}
