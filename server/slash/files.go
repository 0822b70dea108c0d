package slash

import (
	"context"
	"fmt"
	"strings"

	"strata/internal/await"
	"strata/internal/plural"
	"strata/session"
	"strata/session/commands"
	"strata/session/workspace"
)

// maxPaths is the maximum number of paths of one command.
const maxPaths = 100

func (r *Runner) files(ctx context.Context, _ commands.Call) (string, error) {
	files, err := await.Reply(ctx, r.Session.Workspace().Files)
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "The context has no files. " + usage(commands.Add), nil
	}
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "- `%s`: %s, %s\n", f.Path, f.State, plural.Of(f.Tokens, "token"))
	}
	return text.String(), nil
}

func (r *Runner) add(ctx context.Context, call commands.Call) (string, error) {
	return eachPath(call, func(path string) (string, error) {
		added, err := await.Reply(ctx, func(reply func(workspace.FileInfo, error)) {
			r.Session.Workspace().AddFile(workspace.FileRequest{Path: path}, reply)
		})
		return fmt.Sprintf("Added `%s` (%s).", added.Path, plural.Of(added.Tokens, "token")), err
	})
}

func (r *Runner) drop(ctx context.Context, call commands.Call) (string, error) {
	return eachPath(call, func(path string) (string, error) {
		removed, err := await.Reply(ctx, func(reply func(bool, error)) { r.Session.Workspace().RemoveFile(path, reply) })
		if err == nil && !removed {
			err = &workspace.UnknownFileError{Path: path}
		}
		return fmt.Sprintf("Removed `%s`.", path), err
	})
}

// eachPath calls do for each path of a command and returns the lines as text. An error that Shown recognizes is a line;
// eachPath returns at the first other error.
func eachPath(call commands.Call, do func(path string) (string, error)) (string, error) {
	paths, err := commands.Words(call.Arguments)
	if err != nil {
		return "", fmt.Errorf("%w: %w", session.ErrInvalid, err)
	}
	paths = append(paths, call.Links...)
	switch {
	case len(paths) == 0:
		return usage(call.Name), nil
	case len(paths) > maxPaths:
		return "", fmt.Errorf("%w: %d paths exceeds the limit of %d", session.ErrInvalid, len(paths), maxPaths)
	}
	var lines []string
	for _, path := range paths {
		line, err := do(path)
		if fault, ok := Shown(err); ok {
			line, err = fault, nil
		}
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return list(lines), nil
}

// list returns lines as a list. A single line is not a list.
func list(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return "- " + strings.Join(lines, "\n- ") + "\n"
}
