package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"strata/history"
	"strata/rpc"
)

func newSessions(p *process) *cobra.Command {
	return group("sessions", "List, read, delete, export and import sessions",
		newSessionsList(p), newSessionsShow(p),
		newSessionsEach(p, "rm", "Delete sessions; they can be brought back for a while", "session/delete"),
		newSessionsEach(p, "undelete", "Bring deleted sessions back", "_strata/session/undelete"),
		newSessionsExport(p), newSessionsImport(p))
}

// sessionLine is what a list says of a session.
type sessionLine struct {
	ID        string    `json:"sessionId"`
	CWD       string    `json:"cwd"`
	Title     string    `json:"title"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// details are what _strata/session/info says of a session, as far as the command line shows it.
type details struct {
	Session   sessionLine    `json:"session"`
	CreatedAt time.Time      `json:"createdAt"`
	State     string         `json:"state"`
	Epoch     string         `json:"epoch"`
	Seq       uint64         `json:"seq"`
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

func newSessionsList(p *process) *cobra.Command {
	var folder string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List sessions, the one used last first",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.listSessions(cmd.Context(), folder, asJSON)
		},
	}
	cmd.Flags().StringVar(&folder, "cwd", "", "only those that work in this `FOLDER`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each session")
	return cmd
}

func (p *process) listSessions(ctx context.Context, folder string, asJSON bool) error {
	params := map[string]any{}
	if folder != "" {
		path, err := filepath.Abs(folder)
		if err != nil {
			return fmt.Errorf("--cwd %s: %w", folder, err)
		}
		params["cwd"] = path
	}
	client, err := p.connect(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return eachPage(ctx, client, "session/list", params, func(page json.RawMessage) error {
		var list struct {
			Sessions []json.RawMessage `json:"sessions"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return fmt.Errorf("list of sessions: %w", err)
		}
		if asJSON {
			return writeLines(p.stdout, list.Sessions)
		}
		return writeSessions(p.stdout, list.Sessions)
	})
}

func writeSessions(w io.Writer, sessions []json.RawMessage) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, raw := range sessions {
		var s sessionLine
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("session in a list: %w", err)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.ID, s.UpdatedAt.Local().Format(time.DateTime), oneLine(s.CWD), oneLine(s.Title))
	}
	return table.Flush()
}

// oneLine makes of a text what neither breaks a table nor touches the terminal.
func oneLine(s string) string {
	clean := []rune(printable(s))
	for i, r := range clean {
		if r == '\n' || r == '\t' {
			clean[i] = ' '
		}
	}
	return string(clean)
}

func writeLines(w io.Writer, values []json.RawMessage) error {
	for _, v := range values {
		if _, err := fmt.Fprintf(w, "%s\n", v); err != nil {
			return err
		}
	}
	return nil
}

func newSessionsShow(p *process) *cobra.Command {
	var asJSON, onlyEdits bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print a session and its transcript",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.showSession(cmd.Context(), args[0], asJSON, onlyEdits)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for the session, and one for each message or edit")
	cmd.Flags().BoolVar(&onlyEdits, "edits", false, "print what was done to its history instead: compactions, restores and the like")
	return cmd
}

func (p *process) showSession(ctx context.Context, id string, asJSON, onlyEdits bool) error {
	client, err := p.connect(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	info, err := sessionInfo(ctx, client, id)
	if err != nil {
		return err
	}
	list, show := transcript, writeMessages
	if onlyEdits {
		list, show = edits, writeEdits
	}
	all, err := list(ctx, client, id)
	if err != nil {
		return err
	}
	if asJSON {
		show = writeLines
		fmt.Fprintf(p.stdout, "%s\n", info.raw)
	} else {
		info.write(p.stdout)
	}
	return show(p.stdout, all)
}

// transcript gives the messages of a session, oldest first. The server gives the newest page first.
func transcript(ctx context.Context, client *rpc.Client, id string) (all []json.RawMessage, err error) {
	var pages [][]json.RawMessage
	err = eachPage(ctx, client, "_strata/history/list", map[string]any{"sessionId": id}, func(page json.RawMessage) error {
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
	fmt.Fprintf(w, "%s  %s\n", d.Session.ID, oneLine(d.Session.Title))
	fmt.Fprintf(w, "folder %s, model %s, %s\n", oneLine(d.Session.CWD), d.Config.Model, d.State)
	fmt.Fprintf(w, "begun %s, %d messages, %d in view with %d tokens\n",
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
		_, err := fmt.Fprintf(w, "\n--- %s, %s%s\n%s\n", m.Role, m.At.Local().Format(time.DateTime), status, printable(m.PlainText()))
		if err != nil {
			return err
		}
	}
	return nil
}

// newSessionsEach makes a command that calls a method for each session named.
func newSessionsEach(p *process, name, short, method string) *cobra.Command {
	return &cobra.Command{
		Use:   name + " ID...",
		Short: short,
		Args:  usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			client, err := p.connect(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer client.Close()
			for _, id := range ids {
				if err := client.Call(cmd.Context(), method, map[string]any{"sessionId": id}, nil); err != nil {
					return fmt.Errorf("%s %s: %w", name, id, err)
				}
			}
			return nil
		},
	}
}
