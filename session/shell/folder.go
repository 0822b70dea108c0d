package shell

import (
	"context"
	"fmt"
	"path/filepath"

	"strata/filecontext"
	"strata/internal/shellword"
)

// place returns the folder of the command by its name: it need not exist. The error is a *filecontext.RefusedError.
func (in input) place(roots *filecontext.Roots) (filecontext.Ref, error) {
	if in.Cwd == "" {
		return roots.Locate(workspaceFolder)
	}
	return roots.Locate(in.Cwd)
}

// workspaceFolder is the path of the session's first folder.
const workspaceFolder = "."

// ruled returns the command line for approval rules. For a folder other than the session's first one, it begins with a change
// to this folder, so that no rule for the line alone covers the command there.
func (in input) ruled(roots *filecontext.Roots) string {
	folder := in.Cwd
	if ref, err := in.place(roots); err == nil {
		folder = ref.Path
	}
	if folder == workspaceFolder {
		return in.Command
	}
	return "cd " + shellword.Posix(folder) + " && " + in.Command
}

// folder returns the folder of the command without links. It exists, and is inside the roots. The error follows
// "cwd", or is that of ctx.
func (in input) folder(ctx context.Context, roots *filecontext.Roots) (string, error) {
	ref, err := in.place(roots)
	if err != nil {
		return "", err
	}
	ref.Allow = ref.Path == workspaceFolder // whatever its name, the session is in it
	if roots.IsRemote() {
		return ref.Absolute(), nil // only the client can look at it
	}
	return filecontext.Reach(ctx, roots, ref, func(at *filecontext.Reached) (string, error) {
		info, err := at.Folder.Stat(at.Name)
		switch {
		case err != nil:
			return "", at.RefuseOS(err)
		case !info.IsDir():
			return "", fmt.Errorf("%s is not a folder", filecontext.Printable(ref.Path))
		}
		if err := at.Check(nil); err != nil {
			return "", err
		}
		if err := at.Check(info); err != nil {
			return "", err
		}
		real, err := filepath.EvalSymlinks(ref.Absolute())
		if err != nil {
			return "", at.RefuseOS(err)
		}
		return real, nil
	})
}
