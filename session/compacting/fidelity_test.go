package compacting

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/session/profile"
)

// plantedFact is a fact of a session in testdata/fidelity.
type plantedFact struct {
	ID   string   `json:"id"`
	Kind string   `json:"kind"`
	Must []string `json:"must"` // expressions that all match near each other if a text contains the fact
}

// superseded is the kind of decisions that were taken back. They are not counted as facts.
const superseded = "superseded"

// factDistance is the maximum distance of the matches for one fact, in bytes.
const factDistance = 300

// in reports whether a text contains the fact.
func (f *plantedFact) in(text string) bool {
	return slices.ContainsFunc(regexp.MustCompile(f.Must[0]).FindAllStringIndex(text, -1), func(at []int) bool {
		near := text[max(at[0]-factDistance, 0):min(at[0]+factDistance, len(text))]
		return !slices.ContainsFunc(f.Must[1:], func(must string) bool { return !regexp.MustCompile(must).MatchString(near) })
	})
}

// factSession is a session of testdata/fidelity.
type factSession struct {
	Name     string        `json:"name"`
	Messages []factMessage `json:"messages"`
	Facts    []plantedFact `json:"facts"`
}

type factMessage struct {
	Role    history.Role    `json:"role"`
	Content json.RawMessage `json:"content"` // a string or blocks
}

func (m *factMessage) blocks(t *testing.T) []history.Block {
	t.Helper()
	var words string
	if json.Unmarshal(m.Content, &words) == nil {
		return []history.Block{text(words)}
	}
	var blocks []history.Block
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		t.Fatal(err)
	}
	return blocks
}

// parts returns the messages in three parts, each of which begins with a user message.
func (s *factSession) parts() [3][]factMessage {
	var cuts [4]int
	for i := 1; i <= 2; i++ {
		at := len(s.Messages) * i / 3
		for s.Messages[at].Role != history.RoleUser {
			at++
		}
		cuts[i] = at
	}
	cuts[3] = len(s.Messages)
	return [3][]factMessage{s.Messages[:cuts[1]], s.Messages[cuts[1]:cuts[2]], s.Messages[cuts[2]:]}
}

// kept returns how many facts of each kind a text contains, and of all kinds under "".
func (s *factSession) kept(view string) map[string]int {
	kept := make(map[string]int)
	for i := range s.Facts {
		if f := &s.Facts[i]; f.in(view) {
			kept[f.Kind]++
			if f.Kind != superseded {
				kept[""]++
			}
		}
	}
	return kept
}

// all returns the number of facts of a kind, or of all kinds for "".
func (s *factSession) all(kind string) int {
	n := 0
	for i := range s.Facts {
		if k := s.Facts[i].Kind; k == kind || kind == "" && k != superseded {
			n++
		}
	}
	return n
}

// factSessions returns the sessions of a folder of testdata/fidelity.
func factSessions(t *testing.T, noise string) []factSession {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "fidelity", noise, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	sessions := make([]factSession, len(names))
	for i, name := range names {
		encoded, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &sessions[i]); err != nil {
			t.Fatal(err)
		}
	}
	return sessions
}

// fidelity is the result of compacting a session three times with one strategy.
type fidelity struct {
	before, tokens int
	kept           map[string]int // facts in the view by kind; under "" all of them
	stale          int            // superseded decisions in a view without a reversal
	last           int            // facts in the newest messages with as many tokens as the view
	dropped        int            // messages that left without a summary
}

// compactThrice appends a session in three parts, with a compaction after each, and measures the next request.
func (s *factSession) compactThrice(t *testing.T, c *fidelityCase) fidelity {
	t.Helper()
	st := newStage(t, c.profile, 128_000)
	if c.adjust != nil {
		c.adjust(&st.profile)
	}
	var out fidelity
	for _, part := range s.parts() {
		for i := range part {
			st.say(part[i].Role, part[i].blocks(t)...)
		}
		job := st.job(true)
		done := job.run(t.Context())
		if done.Result == compaction.NothingToDo {
			continue
		}
		if done.Result != compaction.Compacted {
			t.Fatalf("%s: %+v", s.Name, done)
		}
		if done.Summary == "" {
			out.dropped += len(done.Plan.Drop)
		}
		st.apply(history.Edit{
			Kind: history.EditCompact, At: time.Unix(0, 0), Messages: done.Plan.Drop, Patches: job.copies.patches,
			Summary: done.Summary, SummaryTokens: done.SummaryTokens, Strategy: st.profile.Compaction.Strategy,
		})
	}
	said := st.messages
	st.ask("Where do we stand?")
	state := st.state()
	b, err := state.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var view strings.Builder
	for _, m := range b.Assembled().Messages[1:] { // without the system prompt
		out.tokens += m.Tokens
		view.WriteString(wordsIn(m.Content))
	}
	out.kept = s.kept(view.String())
	if out.kept["reversal"] == 0 {
		out.stale = out.kept[superseded]
	}
	st.messages = said
	for i := range said {
		out.before += said[i].Tokens
	}
	out.last = s.kept(st.newest(out.tokens))[""]
	return out
}

// newest returns the text of the newest messages with so many tokens. Of the oldest of them the text's end counts.
func (st *stage) newest(room int) string {
	var texts []string
	for _, m := range slices.Backward(st.messages) {
		words := wordsIn(m.Blocks)
		if m.Tokens > room {
			texts = append(texts, words[len(words)-len(words)*room/m.Tokens:])
			break
		}
		room -= m.Tokens
		texts = append(texts, words)
	}
	slices.Reverse(texts)
	return strings.Join(texts, "\n")
}

// wordsIn returns the text, arguments and results of blocks, each in lines of its own.
func wordsIn(blocks []history.Block) string {
	var out strings.Builder
	for _, b := range blocks {
		out.WriteString(b.Text + b.Args + "\n")
		for _, part := range b.Content {
			out.WriteString(part.Text + "\n")
		}
	}
	return out.String()
}

// fidelityCase is a strategy with its profile.
type fidelityCase struct {
	strategy, profile string
	adjust            func(*profile.Profile)
	least             map[string]int // percent of the facts that are kept, by noise
}

// fidelityCases are all strategies, with limits that are about five points below the figures in docs/benchmarks.md.
var fidelityCases = []fidelityCase{
	{strategy: compaction.Topic, profile: "chat", least: map[string]int{"noisy": 76, "quiet": 90}},
	{strategy: compaction.Prune, profile: "steps", least: map[string]int{"noisy": 50, "quiet": 50}},
	{strategy: compaction.Rolling, profile: "loop", least: map[string]int{"noisy": 90, "quiet": 90}},
	{strategy: compaction.Middle, profile: "task", least: map[string]int{"noisy": 76, "quiet": 77}},
	{
		strategy: compaction.Window, profile: "phased", least: map[string]int{"noisy": 78, "quiet": 96},
		adjust: func(p *profile.Profile) { p.Budget.ContextWindow, p.Budget.ReservedOutput = 9_000, 1_000 },
	},
}

// leastConstraints is the percentage of the user's constraints that each strategy keeps.
const leastConstraints = 75

var factKinds = []string{"decision", "reversal", "constraint", "path", "error", "name", "number", "why", "question", "next"}

// TestFidelity counts the facts that are in view after three compactions without a model, and prints them as a table. It
// compares them to the newest messages of the same size, for each session.
func TestFidelity(t *testing.T) {
	out := t.Output()
	fmt.Fprintf(out, "%-8s %-6s %5s %7s %7s %6s %6s", "", "", "kept", "last N", "before", "after", "stale")
	for _, kind := range factKinds {
		fmt.Fprintf(out, " %10s", kind)
	}
	fmt.Fprintln(out)
	for i := range fidelityCases {
		for _, noise := range []string{"noisy", "quiet"} {
			fidelityCases[i].measure(t, noise)
		}
	}
}

// measure prints a row of the table.
func (c *fidelityCase) measure(t *testing.T, noise string) {
	t.Helper()
	sum := fidelity{kept: make(map[string]int)}
	all := make(map[string]int)
	var bySession strings.Builder
	for _, s := range factSessions(t, noise) {
		r := s.compactThrice(t, c)
		if r.dropped > 0 {
			t.Errorf("%s, %s, %s: %d messages left without a summary", c.strategy, noise, s.Name, r.dropped)
		}
		if r.kept[""] < r.last {
			t.Errorf("%s, %s, %s: %d facts kept, the newest messages have %d", c.strategy, noise, s.Name, r.kept[""], r.last)
		}
		fmt.Fprintf(&bySession, "  %s %d of %d", s.Name, r.kept[""], s.all(""))
		sum.tokens, sum.before, sum.last, sum.stale = sum.tokens+r.tokens, sum.before+r.before, sum.last+r.last, sum.stale+r.stale
		for _, kind := range append([]string{""}, factKinds...) {
			sum.kept[kind] += r.kept[kind]
			all[kind] += s.all(kind)
		}
	}
	percent := func(kind string) int { return 100 * sum.kept[kind] / all[kind] }
	fmt.Fprintf(t.Output(), "%-8s %-6s %3d %% %5d %% %7d %6d %6d", c.strategy, noise, percent(""), 100*sum.last/all[""], sum.before, sum.tokens, sum.stale)
	for _, kind := range factKinds {
		fmt.Fprintf(t.Output(), " %8d %%", percent(kind))
	}
	fmt.Fprintln(t.Output(), bySession.String())
	if got := percent(""); got < c.least[noise] {
		t.Errorf("%s, %s: %d %% of the facts are kept, at least %d %% should be", c.strategy, noise, got, c.least[noise])
	}
	if got := percent("constraint"); got < leastConstraints {
		t.Errorf("%s, %s: %d %% of the constraints are kept, at least %d %% should be", c.strategy, noise, got, leastConstraints)
	}
}
