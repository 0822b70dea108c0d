package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/history"
	"strata/rpc"
	"strata/tokens"
)

// listedEdit is an edit of a session's view as the server lists it.
type listedEdit struct {
	history.Edit
	Ranges  []history.Range `json:"ranges"`
	InForce bool            `json:"inForce"`
}

// edits returns the edits of a session, oldest first. The server returns the newest page first.
func edits(ctx context.Context, client *rpc.Client, id string) (all []json.RawMessage, err error) {
	var pages [][]json.RawMessage
	err = connect.EachPage(ctx, client, "_strata/history/edits", map[string]any{"sessionId": id}, func(page json.RawMessage) error {
		var list struct {
			Edits []json.RawMessage `json:"edits"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return fmt.Errorf("edits of %s: %w", id, err)
		}
		pages = append(pages, list.Edits)
		return nil
	})
	slices.Reverse(pages)
	return slices.Concat(pages...), err
}

func writeEdits(w io.Writer, edits []json.RawMessage) error {
	for _, raw := range edits {
		var e listedEdit
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("edit of a session: %w", err)
		}
		if _, err := io.WriteString(w, e.describe()); err != nil {
			return err
		}
	}
	return nil
}

// describe returns the effect of an edit and whether it is in force.
func (e *listedEdit) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%6d  %s  %s", e.Seq, e.At.Local().Format(time.DateTime), e.Kind)
	if e.Strategy != "" {
		fmt.Fprintf(&b, " by %s", cli.OneLine(e.Strategy))
	}
	if !e.InForce {
		b.WriteString(", not in force")
	}
	line := func(format string, args ...any) { fmt.Fprintf(&b, "\n        "+format, args...) }
	line("%s", e.impact())
	if len(e.Ranges) > 0 {
		line("messages %s", rangeList(e.Ranges))
	}
	for _, d := range e.Documents {
		line("document %s: %d bytes shown", cli.OneLine(d.Name), d.Keep)
	}
	if e.To > 0 {
		line("to position %d", e.To)
	}
	if e.Undoes != "" {
		line("undoes %s", cli.OneLine(e.Undoes))
	}
	if e.Reason != "" {
		line("%s", cli.OneLine(e.Reason))
	}
	if e.Summary != "" {
		line("summary, %s tokens:", tokens.Format(e.SummaryTokens))
		for text := range strings.Lines(cli.Printable(e.Summary)) {
			line("  %s", strings.TrimRight(text, "\n"))
		}
	}
	return b.String() + "\n"
}

// impact returns the effect of an edit on the size of the view.
func (e *listedEdit) impact() string {
	text := fmt.Sprintf("%s -> %s tokens", tokens.Format(e.Before), tokens.Format(e.After))
	if e.Before == 0 && e.After == 0 {
		text = tokens.Format(max(e.SavedTokens, 0)) + " tokens saved"
	}
	if e.SavedChars > 0 {
		text += fmt.Sprintf(", %d characters of copies saved", e.SavedChars)
	}
	return text
}

func rangeList(ranges []history.Range) string {
	parts := make([]string, len(ranges))
	for i, r := range ranges {
		parts[i] = fmt.Sprintf("%d-%d", r.From, r.To)
		if r.From == r.To {
			parts[i] = fmt.Sprint(r.From)
		}
	}
	return strings.Join(parts, ", ")
}
