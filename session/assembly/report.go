package assembly

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"strata/internal/clip"
	"strata/internal/plural"
	"strata/session/fit"
	"strata/session/outlines"
	"strata/stability"
	"strata/tokens"
)

// Report is a breakdown as text for a terminal.
type Report struct {
	Text string `json:"text"` // several lines
	Line string `json:"line"` // the same in one line
}

// Report returns a breakdown and a budget of the built request as text, under the session's title, for a terminal with so
// many columns; 0: the default.
func (s *State) Report(title string, columns int, b *Built, d *Breakdown, budget *Budget) Report {
	return Report{Text: report(title, width(columns), d, budget, len(s.View), len(b.Files)), Line: reportLine(d, budget, len(s.View))}
}

// The widths of a report in columns.
const (
	defaultWidth = 72
	minWidth     = 40 // narrower terminals wrap its lines
	maxWidth     = 400
)

// width returns the width of a report for a terminal with so many columns, 0 for an unknown number.
func width(columns int) int {
	if columns <= 0 {
		return defaultWidth
	}
	return min(max(columns, minWidth), maxWidth)
}

// compactionDue is what a report says if a compaction is due.
const compactionDue = "compaction is due"

// reportLine returns the most important figures in one line.
func reportLine(d *Breakdown, budget *Budget, messages int) string {
	line := fmt.Sprintf("history %s · %s · window %d %% of %s · session %s, $%.4f · read %.0f %%",
		tokens.Format(budget.HistoryTokens), plural.Of(messages, "message"), budget.PercentUsed, tokens.Format(d.Size),
		tokens.Format(d.Totals.Usage.Context()+d.Totals.Usage.Output), d.Totals.Cost, 100*d.Cache.HitRate)
	if budget.NeedsCompaction {
		line += " · " + compactionDue
	}
	if budget.Warning != "" {
		line += " · " + budget.Warning
	}
	return line
}

// report writes a breakdown and a budget as text.
func report(title string, width int, d *Breakdown, budget *Budget, messages, files int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s  %s of %s tokens (%d %%)\n%s\n", clip.Line(title, width), d.Model, tokens.Format(budget.Used), tokens.Format(d.Size), budget.PercentUsed, windowBar(budget.Used, d.Size, width))
	for _, c := range d.Categories {
		fmt.Fprintf(&b, "  %-10s %8s  %s\n", c.Name, tokens.Format(c.Tokens), bar(c.Tokens, d.Used, width-categoryColumns))
	}
	fmt.Fprintf(&b, "  %-10s %8s\n  %-10s %8s\n\n", "total", tokens.Format(d.Used), "remaining", tokens.Format(budget.Remaining))
	for _, share := range budget.Shares {
		fmt.Fprintf(&b, "  %-10s %8s of %s\n", share.Name, tokens.Format(share.Used), tokens.Format(share.Share))
	}
	if len(budget.Shares) > 0 {
		b.WriteByte('\n')
	}
	for _, t := range d.Tiers {
		if len(t.Items) > 0 {
			reportTier(&b, &t, width)
		}
	}
	fmt.Fprintf(&b, "\n%s, %s\n", plural.Of(messages, "message"), plural.Of(files, "file"))
	fmt.Fprintf(&b, "session: %s, %s in, %s out, %s read, %s written, $%.4f\n", plural.Of(d.Totals.Calls, "call"), tokens.Format(d.Totals.Usage.Input),
		tokens.Format(d.Totals.Usage.Output), tokens.Format(d.Totals.Usage.CacheRead), tokens.Format(d.Totals.Usage.CacheWrite), d.Totals.Cost)
	fmt.Fprintf(&b, "last call: %s read, %s written, hit rate %.0f %%\n", tokens.Format(d.Cache.ReadTokens), tokens.Format(d.Cache.WriteTokens), 100*d.Cache.HitRate)
	if d.Index != nil {
		b.WriteString(reportIndex(d.Index))
	}
	for _, l := range d.Omitted {
		fmt.Fprintf(&b, "left out: %s (%s, %s tokens)\n", l.Key, l.Reason, tokens.Format(l.Tokens))
	}
	if budget.NeedsCompaction {
		fmt.Fprintf(&b, "%s\n", compactionDue)
	}
	if budget.Warning != "" {
		fmt.Fprintf(&b, "warning: %s\n", budget.Warning)
	}
	return b.String()
}

// reportIndex returns how far the index of the workspace is, and what it lacks.
func reportIndex(index *outlines.IndexStatus) string {
	text := fmt.Sprintf("workspace: %s, %d with an outline", plural.Of(index.Files, "file"), index.Outlined)
	switch {
	case index.Problem != "":
		text = "workspace: not indexed: " + index.Problem
	case !index.Complete:
		text += fmt.Sprintf(", %d to be read", index.Pending)
	}
	for _, o := range index.Omissions {
		text += "; " + o
	}
	return text + "\n"
}

// The columns of a line beside its bar or its key.
const (
	categoryColumns = 24
	itemColumns     = 28
)

// reportTier writes a tier with its items. A workspace has hundreds of outlines: they share one line.
func reportTier(b *strings.Builder, t *Tier, width int) {
	fmt.Fprintf(b, "  %-7s %8s  %s cached\n", t.Tier, tokens.Format(t.Tokens), tokens.Format(t.Cached))
	key := width - itemColumns
	outlined, size := 0, 0
	for _, it := range t.Items {
		if it.Kind == string(stability.Outline) {
			size += it.Tokens
			if it.Key != fit.OutlineHeading {
				outlined++
			}
			continue
		}
		next := ""
		if it.NextThreshold > 0 {
			next = fmt.Sprintf("  N %d of %d", it.N, it.NextThreshold)
		}
		fmt.Fprintf(b, "    %-*s %8s%s\n", key, clip.Line(it.Key, key), tokens.Format(it.Tokens), next)
	}
	if size > 0 {
		fmt.Fprintf(b, "    %-*s %8s\n", key, fmt.Sprintf("outlines (%d)", outlined), tokens.Format(size))
	}
}

// windowBar draws the used part of a window on a line of its own, as wide as the report; nothing for an unknown window.
func windowBar(used, window, width int) string {
	if window <= 0 {
		return ""
	}
	width -= len("  ")
	full := bar(used, window, width)
	if full == "" && used > 0 {
		full = bar(1, 1, 1)
	}
	return "  " + full + strings.Repeat("░", width-utf8.RuneCountInString(full)) + "\n"
}

// bar draws a share of a whole.
func bar(part, whole, width int) string {
	if whole <= 0 {
		return ""
	}
	return strings.Repeat("█", max(min(part*width/whole, width), 0))
}
