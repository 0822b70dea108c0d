package compaction

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// planted is a fact in a conversation, with the text that must be kept.
type planted struct{ kind, sentence, mark string }

// phrases are sentences for facts; %s is the text that must be kept. With byUser, only users say them.
var phrases = []struct {
	kind, sentence string
	byUser         bool
}{
	{"decision", "We decided to give the importer %s instead of a fixed delay.", false},
	{"path", "The change goes into %s and nowhere else.", false},
	{"error", "The run ended with error: %s after the second batch.", false},
	{"question", "Should the nightly job also cover %s?", true},
	{"decision", "Use %s for everything that the workers share.", true},
	{"path", "Have a look at %s, please.", true},
	{"error", "TestImport fails since the rows come back as %s.", false},
	{"question", "It is still open whether support for %s can go.", false},
	{"decision", "After comparing both I am going with %s, which keeps the order of the records.", false},
	{"path", "I added two cases to %s:42.", false},
	{"error", "The registry refused the upload: %s.", false},
	{"question", "Do you know what happens to %s when a worker dies?", true},
	{"decision", "Never write %s to the log.", true},
	{"path", "`%s` holds the old names.", false},
	{"error", "I could not build it because of %s.", false},
	{"question", "Next step: find out who calls %s.", false},
}

// marksOf are the texts by which facts of a kind are recognized.
var marksOf = map[string][]string{
	"decision": {"retry budget R%d", "the shared pool P%d", "ordered mode O%d", "secret field S%d"},
	"path":     {"internal/importer/stage%d/reader.go", "docs/notes-%d.md", "cmd/load/flags%d_test.go", "web/src/names%d.ts"},
	"error":    {"checksum mismatch in block B%d", "nil rows N%d", "status 50%d from the mirror", "missing symbol load%d"},
	"question": {"tenant T%d", "format F%d", "lease L%d", "hook H%d"},
}

func plant(n int) (fact planted, byUser bool) {
	p := phrases[n%len(phrases)]
	marks := marksOf[p.kind]
	mark := fmt.Sprintf(marks[n/4%len(marks)], n)
	return planted{p.kind, fmt.Sprintf(p.sentence, mark), mark}, p.byUser
}

const filler = `the importer reads each record from its queue and hands it to a parser which splits fields and checks types before
a writer stores rows in batches while progress is logged for every batch and memory stays flat since buffers return to a shared list
an error handler must always see what cannot be parsed and workers follow one another so that order of records stays as it was in source files and a report lists totals for each table`

// gardener writes conversations with facts in them.
type gardener struct {
	random *rand.Rand
	words  []string
	facts  []planted
	ids    int
}

func (g *gardener) prose(sentences int) string {
	var out strings.Builder
	for range sentences {
		for i := range 12 {
			word := g.words[g.random.IntN(len(g.words))]
			if i == 0 {
				word = strings.ToUpper(word[:1]) + word[1:]
			}
			out.WriteString(word + " ")
		}
		out.WriteString("as before. ")
	}
	return out.String()
}

// exchange appends an exchange with or without a fact.
func (g *gardener) exchange(h *History, withFact bool) {
	ask, answer := g.prose(1), g.prose(4)+"\n"
	if withFact {
		fact, byUser := plant(len(g.facts))
		g.facts = append(g.facts, fact)
		if byUser {
			ask += fact.sentence
		} else {
			answer += fact.sentence + " "
		}
	}
	batch := batchOf("ok\n"+g.prose(6), fmt.Sprintf("step %d: error: retrying\n%s", g.ids, g.prose(2)))
	for _, m := range append(append([]Message{{Role: "user", Text: ask}}, batch...), Message{Role: "assistant", Text: answer + g.prose(10)}) {
		g.ids++
		m.ID, m.Tokens = fmt.Sprintf("m%d", g.ids), len(m.Text)/5 // counting would take most of the test's time
		h.Messages = append(h.Messages, m)
	}
}

// TestFidelity compacts a conversation three times with each strategy, without a model, and counts how many of the
// planted facts are still in view.
func TestFidelity(t *testing.T) {
	const each = 12 // facts before each compaction
	for _, c := range []struct {
		name      string
		numbers   Numbers
		exchanges int // before each compaction
	}{
		{Topic, Numbers{TriggerTokens: 24_000, VerbatimWindowTokens: 4_000, SummaryBudgetTokens: 500, MinVerbatimExchanges: 2, MinConfidence: 0.5}, 70},
		{Rolling, Numbers{RawWindowSize: 5, SummarizeEvery: 10, SummaryBudgetTokens: 2_000}, 16},
		{Prune, Numbers{SummaryThreshold: 5, MaxSteps: 20, KeepFirst: 3, KeepLast: 10, SummaryBudgetTokens: 500}, 16},
		{Middle, Numbers{TriggerTokens: 20_000, RoomTokens: 22_000, SummaryBudgetTokens: 500}, 70},
		{Middle + " quarter", Numbers{TriggerTokens: 20_000, MiddleMode: KeepQuarter, SummaryBudgetTokens: 500}, 70},
		{Window, Numbers{TriggerTokens: 20_000, RoomTokens: 10_000, SummaryBudgetTokens: 500}, 70},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &gardener{random: rand.New(rand.NewPCG(1, 2)), words: strings.Fields(filler)}
			name, _, _ := strings.Cut(c.name, " ")
			compactor := New(named(t, name), c.numbers, NewSummarizer(nil, counter, Limits{}))
			var h History
			for round := range 3 {
				for i := range c.exchanges {
					every := c.exchanges / each
					g.exchange(&h, i%every == 0 && i/every < each)
				}
				o := compactor.Compact(context.Background(), h)
				if o.Result != Compacted || o.By == "" {
					t.Fatalf("compaction %d: %s, %v", round+1, o.Result, o.Err)
				}
				h = applied(h, o)
				t.Logf("compaction %d: %d to %d tokens, summary %d", round+1, o.Before, o.After, o.SummaryTokens)
			}
			if share := inView(t, c.name, &h, g.facts); share < 0.7 {
				t.Errorf("%.0f %% of the facts are in view\n%s", 100*share, h.Summary)
			}
		})
	}
}

// inView returns the share of facts that are in the summary or a message, and logs it by kind.
func inView(t *testing.T, strategy string, h *History, facts []planted) float64 {
	view := h.Summary
	for _, m := range h.Messages {
		view += "\n" + m.Text
	}
	all, seen := make(map[string]int), make(map[string]int)
	found := 0
	for _, f := range facts {
		all[f.kind]++
		if strings.Contains(view, f.mark) {
			seen[f.kind]++
			found++
		}
	}
	share := float64(found) / float64(len(facts))
	t.Logf("%s, in view: %.0f %% of %d facts (decisions %d/%d, paths %d/%d, errors %d/%d, questions %d/%d)", strategy, 100*share, len(facts),
		seen["decision"], all["decision"], seen["path"], all["path"], seen["error"], all["error"], seen["question"], all["question"])
	return share
}
