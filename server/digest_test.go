package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/internal/upstream"
	"strata/session/profile"
)

var (
	omittedLine = regexp.MustCompile(`\[(\d+) earlier messages omitted\]`)
	summaryLine = regexp.MustCompile(`# Background: summary of (\d+) earlier messages`)
)

// counted returns the numbers that a request contains, each once.
func counted(t *testing.T, req *upstream.Request, line *regexp.Regexp) int {
	t.Helper()
	found := line.FindAllStringSubmatch(string(req.Body), -1)
	if len(found) == 0 {
		return 0
	}
	n, err := strconv.Atoi(found[0][1])
	if err != nil || len(found) > 1 {
		t.Errorf("the request contains the numbers %v", found)
	}
	return n
}

// After many compactions, the text that replaces the removed messages contains their number, and a digest does not
// exceed its budget.
func TestWhatStandsForTheMiddleIsBounded(t *testing.T) {
	t.Parallel()
	const budget = 200
	for _, strategy := range []string{compaction.Window, compaction.Middle} {
		for _, digest := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, digest %v", strategy, digest), func(t *testing.T) {
				ts, s := startCompacting(t, 100_000, upstream.Options{}, withCompaction(t, func(p *profile.Profile) {
					p.Compaction.Enabled, p.Compaction.Strategy, p.Compaction.SummaryBudgetTokens = false, strategy, 0
					if p.Budget.HistoryTokens = 1500; digest {
						p.Compaction.SummaryBudgetTokens = budget
					}
				}))
				e := ts.editor()
				sid := e.NewSession(ts.work)
				for round := range 8 {
					ts.talk(e, sid, 6)
					compactNow(ts, e, sid, "", "compacted")
					mustPrompt(t, e, sid, fmt.Sprint("What now, ", round))
					l := ts.stored(sid)
					log := history.NewLog(l.Heads, l.Edits)
					gone := len(l.Heads) - len(log.View())
					omitted, summarised := counted(t, ts.upstream.Last(), omittedLine), counted(t, ts.upstream.Last(), summaryLine)
					if omitted+summarised != gone || digest != (summarised > 0) {
						t.Fatalf("round %d: %d messages were removed, the request reports %d omitted and %d summarized", round, gone, omitted, summarised)
					}
					if log.Summary().Tokens > budget {
						t.Errorf("round %d: a digest of %d tokens, %d are allowed", round, log.Summary().Tokens, budget)
					}
					if first := log.View()[0]; first.Seq != 1 {
						t.Errorf("round %d: the first message is not kept, but %d", round, first.Seq)
					}
					if sent := string(ts.upstream.Last().Body); strategy == compaction.Window && log.Tokens() > 1500+budget || !strings.Contains(sent, "Question 5 about") {
						t.Errorf("round %d: %d tokens are in view", round, log.Tokens())
					}
				}
				if s.times() > 0 {
					t.Errorf("a model was called %d times", s.times())
				}
			})
		}
	}
}
