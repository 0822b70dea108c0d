package assembly

import (
	"context"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/session/fit"
	"strata/stability"
)

// The limits of the rules of folders that a request contains.
const (
	maxFolderRules = 32  // documents
	maxTouched     = 200 // folders in which files are looked for
)

// rulesFiles are the files of a folder that become a document, the first one that there is.
var rulesFiles = []string{"AGENTS.md", "CLAUDE.md"}

// rulesIn returns the rules file of a folder as a document, pinned; the empty folder is the session's own. The error is a
// *filecontext.RefusedError, or that of ctx.
func rulesIn(ctx context.Context, roots *filecontext.Roots, folder string) (d history.Document, err error) {
	d = history.Document{Name: rulesName(folder), Priority: fit.PriorityDefault, Pinned: true}
	for _, file := range rulesFiles {
		var ref filecontext.Ref
		if ref, err = roots.Locate(inFolder(folder, file)); err != nil {
			return d, err
		}
		var content filecontext.Content
		if content, err = roots.ReadListed(ctx, ref); err == nil {
			d.Text = content.Text
			if folder != "" {
				d.Path = content.Path
			}
			return d, nil
		}
		if filecontext.ReasonOf(err) != filecontext.ReasonMissing {
			return d, err
		}
	}
	return d, err
}

// inFolder returns the path of a file in a folder, which is never a URI.
func inFolder(folder, file string) string {
	if joined := path.Join(folder, file); filepath.IsAbs(joined) {
		return joined
	}
	return "./" + path.Join(folder, file)
}

// rulesName returns the name of the document with the rules of a folder.
func rulesName(folder string) string {
	if folder == "" {
		return fit.DocumentRules
	}
	return fit.FolderRules + filecontext.Printable(folder)
}

// folderOfRules is the inverse of rulesName for keys of items; ok is false for other items.
func folderOfRules(key string) (folder string, ok bool) {
	folder, ok = strings.CutPrefix(key, fit.DocumentPrefix+fit.FolderRules)
	if unquoted, err := strconv.Unquote(folder); err == nil {
		folder = unquoted
	}
	return folder, ok
}

// touchedFolders returns the folders whose rules concern a session, at most maxTouched: those between the roots and the files
// of the session and the files that tools read, the outer ones first. Folders whose rules the newest request contained, which
// has these entries, come before and stay, also after a restart, so that no document comes and goes.
func touchedFolders(roots *filecontext.Roots, entries []stability.Entry, files []filecontext.Entry, read []string) (folders []string) {
	seen := make(map[string]bool)
	touch := func(folder string) {
		if !seen[folder] && len(folders) < maxTouched {
			seen[folder] = true
			folders = append(folders, folder)
		}
	}
	for i := range entries {
		if folder, ok := folderOfRules(entries[i].Key); ok && !entries[i].Dead {
			touch(folder)
		}
	}
	paths := make([]string, 0, len(files)+len(read))
	for i := range files {
		paths = append(paths, files[i].Path)
	}
	for _, name := range append(paths, read...) {
		for _, folder := range roots.FoldersOf(name) {
			touch(folder)
		}
	}
	return folders
}
