package slash

import (
	"context"
	"path/filepath"
	"slices"

	"strata/internal/await"
	"strata/session"
	"strata/session/commands"
	"strata/session/workspace"
)

// below is the path of the command files in a session's folder.
const below = ".strata/commands"

// Folders finds the command files of sessions.
type Folders struct {
	User    string // the user's folder; empty for none
	Guard   *workspace.Guard
	Allowed func(ctx context.Context, folder string) error // an error for a folder in which no session may work
}

// Commands reads the folders and returns the commands of a session, and the skipped files. The error is that of the session or
// of ctx.
func (f *Folders) Commands(ctx context.Context, s *session.Session) (commands.Set, []commands.Skipped, error) {
	info, err := await.Reply(ctx, s.Info)
	if err != nil {
		return commands.Set{}, nil, err
	}
	var user, own []commands.File
	var skipped, more []commands.Skipped
	if f.User != "" {
		folder := commands.Folder{Root: filepath.Dir(f.User), Below: filepath.Base(f.User)}
		if user, skipped, err = folder.Read(ctx); err != nil {
			return commands.Set{}, nil, err
		}
	}
	if !info.Session.Config.IsRemote() && f.Allowed(ctx, info.Session.CWD) == nil {
		folder := commands.Folder{Root: info.Session.CWD, Below: below, Guard: f.Guard}
		if own, more, err = folder.Read(ctx); err != nil {
			return commands.Set{}, nil, err
		}
	}
	set, shadowed := commands.NewSet(user, own)
	return set, slices.Concat(skipped, more, shadowed), nil
}
