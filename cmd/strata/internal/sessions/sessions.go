// Package sessions is `strata sessions`: it lists, prints, deletes, exports and imports sessions of the running server.
//
// It must never open the database.
package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/pick"
	"strata/history"
	"strata/rpc"
)

// Command returns `strata sessions`.
func Command(p *cli.Process) *cobra.Command {
	return cli.Group("sessions", "List, search, print, delete, export and import sessions",
		newList(p), newSearch(p), newShow(p), newDelete(p), newUndelete(p), newExport(p), newImport(p))
}

// details are the part of _strata/session/info that is printed.
type details struct {
	Session   pick.Listed    `json:"session"`
	CreatedAt time.Time      `json:"createdAt"`
	State     string         `json:"state"`
	Config    history.Config `json:"config"`
	Messages  int            `json:"messages"`
	InView    int            `json:"inView"`
	Tokens    int            `json:"historyTokens"`

	raw json.RawMessage
}

func sessionInfo(ctx context.Context, client *rpc.Client, id string) (details, error) {
	var d details
	if err := client.Call(ctx, "_strata/session/info", map[string]any{"sessionId": id}, &d.raw); err != nil {
		return d, err
	}
	return d, json.Unmarshal(d.raw, &d)
}

func newList(p *cli.Process) *cobra.Command {
	var folder string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List sessions, most recently used first",
		Args:    cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd.Context(), p, folder, asJSON)
		},
	}
	cmd.Flags().StringVar(&folder, "cwd", "", "list only sessions in `FOLDER`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per session")
	cli.CompleteFlag(cmd, "cwd", cli.AnyFolder)
	return cmd
}

func list(ctx context.Context, p *cli.Process, folder string, asJSON bool) error {
	folder, err := absolute(folder)
	if err != nil {
		return err
	}
	client, err := connect.Open(ctx, p, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return pick.EachPage(ctx, client, folder, func(raw []json.RawMessage, sessions []pick.Listed) error {
		if asJSON {
			return writeLines(p.Stdout, raw)
		}
		return writeSessions(p.Stdout, sessions)
	})
}

// absolute returns the absolute path of the folder that --cwd names; empty if it names none.
func absolute(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	path, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("--cwd %s: %w", folder, err)
	}
	return path, nil
}

func writeSessions(w io.Writer, sessions []pick.Listed) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range sessions {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.ID, s.Used(), cli.OneLine(s.CWD), cli.OneLine(s.Title))
	}
	return table.Flush()
}

func writeLines(w io.Writer, values []json.RawMessage) error {
	for _, v := range values {
		if _, err := fmt.Fprintf(w, "%s\n", v); err != nil {
			return err
		}
	}
	return nil
}

func newShow(p *cli.Process) *cobra.Command {
	var asJSON, onlyEdits bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print a session and its transcript",
		Args:  cli.UsageArgs(cobra.ExactArgs(1)),

		ValidArgsFunction: pick.Complete(p, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), p, args[0], asJSON, onlyEdits)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for the session, and one per message or edit")
	cmd.Flags().BoolVar(&onlyEdits, "edits", false, "print the edits of its history instead: compactions, restores and the like")
	return cmd
}

func show(ctx context.Context, p *cli.Process, name string, asJSON, onlyEdits bool) error {
	client, err := connect.Open(ctx, p, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	id, err := pick.Session(ctx, client, name)
	if err != nil {
		return err
	}
	info, err := sessionInfo(ctx, client, id)
	if err != nil {
		return err
	}
	read, write := transcript, writeMessages
	if onlyEdits {
		read, write = edits, writeEdits
	}
	all, err := read(ctx, client, id)
	if err != nil {
		return err
	}
	if asJSON {
		write = writeLines
		fmt.Fprintf(p.Stdout, "%s\n", info.raw)
	} else {
		info.write(p.Stdout)
	}
	return write(p.Stdout, all)
}

// transcript returns the messages of a session, oldest first. The server returns the newest page first.
func transcript(ctx context.Context, client *rpc.Client, id string) (all []json.RawMessage, err error) {
	var pages [][]json.RawMessage
	err = connect.EachPage(ctx, client, "_strata/history/list", map[string]any{"sessionId": id}, func(page json.RawMessage) error {
		var list struct {
			Messages []json.RawMessage `json:"messages"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return fmt.Errorf("transcript of %s: %w", id, err)
		}
		pages = append(pages, list.Messages)
		return nil
	})
	slices.Reverse(pages)
	return slices.Concat(pages...), err
}

func (d details) write(w io.Writer) {
	fmt.Fprintf(w, "%s  %s\n", d.Session.ID, cli.OneLine(d.Session.Title))
	fmt.Fprintf(w, "folder %s, model %s, %s\n", cli.OneLine(d.Session.CWD), d.Config.Model, d.State)
	fmt.Fprintf(w, "created %s, %d messages, %d in view with %d tokens\n",
		d.CreatedAt.Local().Format(time.DateTime), d.Messages, d.InView, d.Tokens)
}

func writeMessages(w io.Writer, messages []json.RawMessage) error {
	for _, raw := range messages {
		var m history.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("message in a transcript: %w", err)
		}
		status := ""
		if m.Status != "" && m.Status != history.StatusComplete {
			status = ", " + string(m.Status)
		}
		_, err := fmt.Fprintf(w, "\n--- %s, %s%s\n%s\n", m.Role, m.At.Local().Format(time.DateTime), status, cli.Printable(textOf(&m)))
		if err != nil {
			return err
		}
	}
	return nil
}

// textOf returns the text of a message, with a line for each of its calls.
func textOf(m *history.Message) string {
	var parts []string
	if text := m.PlainText(); text != "" {
		parts = append(parts, text)
	}
	for i := range m.Blocks {
		if b := &m.Blocks[i]; b.Type == history.BlockToolCall {
			parts = append(parts, cli.OneLine(fmt.Sprintf("[%s %s]", b.Name, b.Args)))
		}
	}
	return strings.Join(parts, "\n")
}

func newDelete(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:     "rm ID...",
		Aliases: []string{"delete"},
		Short:   "Delete sessions; undelete restores them until retention expires",
		Args:    cli.UsageArgs(cobra.MinimumNArgs(1)),

		ValidArgsFunction: pick.Complete(p, math.MaxInt),
		RunE: func(cmd *cobra.Command, names []string) error {
			return each(cmd, p, "session/delete", names, pick.Sessions)
		},
	}
}

func newUndelete(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "undelete ID...",
		Short: "Restore deleted sessions; the IDs must be complete",
		Args:  cli.UsageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			complete := func(context.Context, *rpc.Client, []string) ([]string, error) { return ids, nil }
			return each(cmd, p, "_strata/session/undelete", ids, complete)
		},
	}
}

// each calls a method for each named session, after resolve has found all of them.
func each(cmd *cobra.Command, p *cli.Process, method string, names []string, resolve func(context.Context, *rpc.Client, []string) ([]string, error)) error {
	client, err := connect.Open(cmd.Context(), p, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	ids, err := resolve(cmd.Context(), client, names)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := client.Call(cmd.Context(), method, map[string]any{"sessionId": id}, nil); err != nil {
			return fmt.Errorf("%s %s: %w", cmd.Name(), id, err)
		}
	}
	return nil
}
