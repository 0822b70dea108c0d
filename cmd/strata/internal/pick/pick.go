// Package pick finds the sessions that users name on the command line: by an ID, by the beginning of an ID, or as the
// newest session of a folder. It also completes session IDs in shells.
//
// It must never change a session.
package pick

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/rpc"
)

// Session IDs are idPrefix and 26 characters, which begin with the time of the session's creation.
const (
	idPrefix = "sess_"
	idLength = len(idPrefix) + 26
)

const (
	minPrefix     = 4 // characters after idPrefix: a shorter one would name a session by accident
	maxCandidates = 10
	maxCompleted  = 200
)

// Listed is a session in the server's list.
type Listed struct {
	ID        string    `json:"sessionId"`
	CWD       string    `json:"cwd"`
	Title     string    `json:"title"`
	UpdatedAt time.Time `json:"updatedAt"`
	Meta      struct {
		Strata struct {
			Workspace string `json:"workspace"` // empty if the files are on a disk of the server
		} `json:"strata"`
	} `json:"_meta"`
}

// Used returns the time at which the session was last used, in local time.
func (l *Listed) Used() string { return l.UpdatedAt.Local().Format(time.DateTime) }

// EachPage calls take with each page of the list of sessions, most recently used first. folder limits the list to a
// folder; empty: all.
func EachPage(ctx context.Context, client *rpc.Client, folder string, take func(raw []json.RawMessage, sessions []Listed) error) error {
	params := map[string]any{}
	if folder != "" {
		params["cwd"] = folder
	}
	return connect.EachPage(ctx, client, "session/list", params, func(page json.RawMessage) error {
		var raw struct {
			Sessions []json.RawMessage `json:"sessions"`
		}
		var list struct {
			Sessions []Listed `json:"sessions"`
		}
		if err := json.Unmarshal(page, &raw); err != nil {
			return fmt.Errorf("list of sessions: %w", err)
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return fmt.Errorf("list of sessions: %w", err)
		}
		return take(raw.Sessions, list.Sessions)
	})
}

// Session returns the ID of the session that a user names by its ID or by the beginning of its ID, with or without
// "sess_", in any letter case. It does not check whether a complete ID exists.
func Session(ctx context.Context, client *rpc.Client, name string) (string, error) {
	if len(name) >= idLength {
		return name, nil
	}
	prefix := normalized(name)
	if len(prefix) < len(idPrefix)+minPrefix {
		return "", fmt.Errorf("session %q: write at least %d characters of the ID", cli.OneLine(name), minPrefix)
	}
	var found []Listed
	err := EachPage(ctx, client, "", func(_ []json.RawMessage, sessions []Listed) error {
		for _, s := range sessions {
			if strings.HasPrefix(s.ID, prefix) {
				found = append(found, s)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return only(name, found)
}

// only returns the ID of the only session that was found for a name.
func only(name string, found []Listed) (string, error) {
	switch len(found) {
	case 0:
		return "", fmt.Errorf("session %q: no ID begins with it; `strata sessions ls` lists the sessions", cli.OneLine(name))
	case 1:
		return found[0].ID, nil
	}
	return "", ambiguous(name, found)
}

// Sessions returns the IDs of several sessions that a user names; an error for one is an error for all.
func Sessions(ctx context.Context, client *rpc.Client, names []string) ([]string, error) {
	ids := make([]string, len(names))
	for i, name := range names {
		var err error
		if ids[i], err = Session(ctx, client, name); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func normalized(name string) string {
	if len(name) >= len(idPrefix) && strings.EqualFold(name[:len(idPrefix)], idPrefix) {
		name = name[len(idPrefix):]
	}
	return idPrefix + strings.ToUpper(name)
}

// ambiguous returns the error for the beginning of several IDs, with the newest of these sessions.
func ambiguous(name string, found []Listed) error {
	var list strings.Builder
	for i, s := range found {
		if i == maxCandidates {
			fmt.Fprintf(&list, "\n  and %d more", len(found)-i)
			break
		}
		fmt.Fprintf(&list, "\n  %s  %s  %s", s.ID, s.Used(), cli.OneLine(s.Title))
	}
	return fmt.Errorf("session %q: %d IDs begin with it; write more of the ID:%s", cli.OneLine(name), len(found), &list)
}

// Newest returns the session of a folder on disk that was used last. Sessions whose files a client has are not of this folder,
// whatever its name.
func Newest(ctx context.Context, client *rpc.Client, folder string) (newest Listed, err error) {
	err = EachPage(ctx, client, folder, func(_ []json.RawMessage, sessions []Listed) error {
		if i := slices.IndexFunc(sessions, onDisk); i >= 0 {
			newest = sessions[i]
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return newest, nil
	case err != nil:
		return Listed{}, err
	}
	return Listed{}, fmt.Errorf("no session in %s yet", folder)
}

func onDisk(l Listed) bool { return l.Meta.Strata.Workspace == "" }

// Complete returns the function that completes the session IDs of a flag, or of the arguments of a command that takes at
// most so many, with the titles as descriptions. It offers the sessions of a running server and never starts one.
func Complete(p *cli.Process, atMost int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if len(args) >= atMost {
			return nil, directive
		}
		var offered []cobra.Completion
		err := connect.WithRunning(cmd.Context(), p, func(ctx context.Context, client *rpc.Client) error {
			return EachPage(ctx, client, "", func(_ []json.RawMessage, sessions []Listed) error {
				for _, s := range sessions {
					if len(offered) == maxCompleted {
						return errEnough
					}
					if strings.HasPrefix(s.ID, typed) {
						offered = append(offered, cobra.CompletionWithDesc(s.ID, cli.OneLine(s.Title)))
					}
				}
				return nil
			})
		})
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
		}
		return offered, directive
	}
}

// errEnough ends a list that is long enough.
var errEnough = errors.New("enough sessions")
