package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/rpc"
)

// query are the argument and the flags of strata sessions search.
type query struct {
	text   string
	role   string
	folder string
	limit  int
	json   bool
}

func newSearch(p *cli.Process) *cobra.Command {
	var q query
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search the messages of all sessions, newest first",
		Long: "Search the messages of all sessions. A message is found if it contains every word of QUERY; quotation marks in\n" +
			"QUERY keep words together.",
		Args: cli.UsageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, words []string) error {
			q.text = strings.Join(words, " ")
			switch {
			case strings.TrimSpace(q.text) == "":
				return cli.UsageError{Command: cmd, Err: errors.New("the query is empty")}
			case q.limit < 1:
				return cli.UsageError{Command: cmd, Err: fmt.Errorf("--limit: %d is not at least 1", q.limit)}
			}
			return search(cmd.Context(), p, q)
		},
	}
	cmd.Flags().StringVar(&q.role, "role", "", "search only messages of `ROLE`: user, assistant or tool")
	cmd.Flags().StringVar(&q.folder, "cwd", "", "search only sessions in `FOLDER`")
	cmd.Flags().IntVar(&q.limit, "limit", 30, "print at most `N` messages")
	cmd.Flags().BoolVar(&q.json, "json", false, "print one JSON object per message")
	cli.CompleteFlag(cmd, "role", cli.Words("user", "assistant", "tool"))
	cli.CompleteFlag(cmd, "cwd", cli.AnyFolder)
	return cmd
}

// errLimit ends the pages of a search that found more than is wanted.
var errLimit = errors.New("the limit is reached")

func search(ctx context.Context, p *cli.Process, q query) error {
	folder, err := absolute(q.folder)
	if err != nil {
		return err
	}
	client, err := connect.Open(ctx, p, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	params := map[string]any{"query": q.text, "role": q.role, "cwd": folder}
	write := writeLines
	if !q.json {
		write = hitWriter(cli.IsTerminal(p.Stdout))
	}
	behind, err := awaitIndex(ctx, client, params)
	if err != nil {
		return err
	}
	found := 0
	err = connect.EachPage(ctx, client, "_strata/history/search", params, func(page json.RawMessage) error {
		var result struct {
			Hits []json.RawMessage `json:"hits"`
			Next string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(page, &result); err != nil {
			return fmt.Errorf("search: %w", err)
		}
		hits := result.Hits[:min(len(result.Hits), q.limit-found)]
		found += len(hits)
		if err := write(p.Stdout, hits); err != nil {
			return err
		}
		if len(hits) < len(result.Hits) || found == q.limit && result.Next != "" {
			return errLimit
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errLimit):
		return err
	case found == 0:
		fmt.Fprintln(p.Stderr, "No message matches.")
	case err != nil:
		fmt.Fprintf(p.Stderr, "The newest %d messages that match; --limit N shows more.\n", found)
	}
	if behind > 0 {
		fmt.Fprintf(p.Stderr, "Up to %d new messages are not indexed yet; search again later.\n", behind)
	}
	return nil
}

// indexAttempts is the maximum number of searches that wait for the server's index, each for up to 0.2 s.
const indexAttempts = 25

// awaitIndex waits until all messages can be found. It returns the number of those that cannot.
func awaitIndex(ctx context.Context, client *rpc.Client, params map[string]any) (behind int, err error) {
	once := maps.Clone(params)
	once["limit"] = 1
	for range indexAttempts {
		var page struct{ Behind int }
		if err := client.Call(ctx, "_strata/history/search", once, &page); err != nil {
			return 0, err
		}
		if behind = page.Behind; behind == 0 {
			break
		}
	}
	return behind, nil
}

// hitWriter returns a function that prints a line for each message, with the matches in bold on a terminal.
func hitWriter(terminal bool) func(w io.Writer, hits []json.RawMessage) error {
	return func(w io.Writer, hits []json.RawMessage) error { return writeHits(w, hits, terminal) }
}

func writeHits(w io.Writer, hits []json.RawMessage, terminal bool) error {
	for _, raw := range hits {
		var hit struct {
			Session string    `json:"sessionId"`
			Role    string    `json:"role"`
			At      time.Time `json:"at"`
			Snippet string    `json:"snippet"`
			Marks   [][2]int  `json:"marks"`
		}
		if err := json.Unmarshal(raw, &hit); err != nil {
			return fmt.Errorf("search: %w", err)
		}
		text := cli.OneLine(hit.Snippet)
		if terminal {
			text = marked(hit.Snippet, hit.Marks)
		}
		if _, err := fmt.Fprintf(w, "%s  %s  %-9s  %s\n", hit.Session, hit.At.Local().Format(time.DateTime), hit.Role, text); err != nil {
			return err
		}
	}
	return nil
}

const (
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
)

// marked returns a snippet as one printable line with its matches in bold. Ranges that make no sense are ignored.
func marked(snippet string, marks [][2]int) string {
	var line strings.Builder
	at := 0
	for _, m := range marks {
		if m[0] < at || m[1] < m[0] || m[1] > len(snippet) {
			continue
		}
		line.WriteString(cli.OneLine(snippet[at:m[0]]))
		line.WriteString(bold + cli.OneLine(snippet[m[0]:m[1]]) + plain)
		at = m[1]
	}
	line.WriteString(cli.OneLine(snippet[at:]))
	return line.String()
}
