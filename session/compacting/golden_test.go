package compacting

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/compaction"
	"strata/history"
	"strata/internal/clip"
	"strata/session/documents"
	"strata/session/profile"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	goldenFolder  = "testdata/golden"
	goldenSession = goldenFolder + "/session.json"
)

// goldenMessage is a message of the session in testdata.
type goldenMessage struct {
	Role   history.Role    `json:"role"`
	Blocks []history.Block `json:"blocks"`
	Meta   json.RawMessage `json:"meta,omitempty"`
}

// goldenPrompt is the next prompt, in the requests before and after the compaction.
const goldenPrompt = "Go on with what is left."

// goldenWords are the vocabulary of the session.
var goldenWords = strings.Fields(`the parser reads a list before each element is checked against its type and returns a value with the
	line where it began so that whoever calls it can go on behind the next comma while tests name every case that was found`)

// goldenText returns n words, the same for the same seed.
func goldenText(seed, n int) string {
	out := make([]string, n)
	for i := range out {
		seed = (seed*1103515245 + 12345) & 0x7fffffff
		out[i] = goldenWords[seed/65536%len(goldenWords)]
	}
	return strings.Join(out, " ")
}

// makeGoldenSession returns the session of 60 messages in testdata: 29 exchanges on three topics. Two of them have a
// tool call with its result; one result is an error, and both contain the same file.
func makeGoldenSession() []goldenMessage {
	text := func(role history.Role, words string) goldenMessage {
		return goldenMessage{Role: role, Blocks: []history.Block{{Type: history.BlockText, Text: words}}}
	}
	var messages []goldenMessage
	for i := 1; len(messages) < 60; i++ {
		topic := []string{"lexer", "parser", "printer"}[(i-1)/10]
		messages = append(messages, text(history.RoleUser, fmt.Sprintf("Prompt %d: what about the %s? %s.", i, topic, goldenText(i, 60))))
		if i == 8 || i == 21 {
			call := fmt.Sprint("call_", i)
			messages = append(messages,
				goldenMessage{Role: history.RoleAssistant, Blocks: []history.Block{{Type: history.BlockToolCall, CallID: call, Name: "read", Args: `{"path": "lexer.go"}`}}},
				goldenMessage{Role: history.RoleTool, Blocks: []history.Block{{
					Type: history.BlockToolResult, CallID: call, IsError: i == 8,
					Content: []history.Block{{Type: history.BlockText, Text: "--- FULL CONTENT: lexer.go ---\n" + goldenText(8, 300)}},
				}}})
		}
		if len(messages) == 60 {
			break
		}
		answer := text(history.RoleAssistant, fmt.Sprintf("Answer %d: we decided to keep %s_%d in pkg/%s/file%d.go. %s. <progress>step %d of the %s</progress>",
			i, topic, i, topic, i, goldenText(1000+i, 160), i, topic))
		answer.Meta = json.RawMessage(fmt.Sprintf(`{"fileChanges":["pkg/%s/file%d.go"]}`, topic, i))
		messages = append(messages, answer)
	}
	return messages
}

// goldenCase is a profile with the session of testdata.
type goldenCase struct {
	name    string
	profile string
	about   string // explanation of the numbers, for the top of the file
	window  int
	adjust  func(*profile.Profile)
	phase   string

	reported int // tokens of the newest request by its provider
}

var goldenCases = []goldenCase{
	{
		name: "chat", profile: "chat", window: 13_000, reported: 8_201,
		about: `The window is 13,000 tokens. A compaction is due above min(24,000, 60 % of 13,000) = 7,800 tokens of history, and the
history has more. The newest part is kept verbatim: 4,000 tokens (verbatim_window_tokens), but at most half of 7,800.
Messages before the newest topic in this part would be removed. The words show only one topic here, so earlier messages
are summarized in at most 500 tokens (summary_budget_tokens).`,
	},
	{
		name: "steps", profile: "steps", window: 32_000, reported: 8_201,
		about: `A step is a reply with its tool results. At 5 steps (summary_threshold), all of them are summarized in at most 500 tokens
(summary_budget_tokens). Only the newest prompt and its answer are kept. Before, the history exceeds its budget of 6,250 tokens, so
that request is filled greedily to 70 % of the budget, 4,375 tokens, besides the system prompt and the new prompt.`,
	},
	{
		name: "steps-off", profile: "steps", window: 32_000, reported: 8_201,
		about: `As steps, with summary_threshold 0: no summaries. Above 20 steps (max_steps), the first 3 (keep_first), the last 10
(keep_last) and the step with a failed result are kept. The other step with a tool call has no error and is removed.`,
		adjust: func(p *profile.Profile) { p.Compaction.SummaryThreshold = 0 },
	},
	{
		name: "loop", profile: "loop", window: 32_000, reported: 2_166,
		about: `An iteration is an exchange. The newest 5 (raw_window_size) are kept, earlier ones are summarized in at most 2,000 tokens
(max_summary_tokens). Of the kept iterations, the newest 3 finished ones (recent_iterations) have 1,000 characters each,
and older ones 300 (brief_chars). The open iteration, which is the newest prompt, is whole.`,
	},
	{
		name: "task", profile: "task", window: 10_000, reported: 8_201,
		about: `The window is 10,000 tokens. A compaction is due at min(90 % of 10,000, 10,000 minus the reserve) = 8,000: the reserve is
the smaller of 40,000 and 20 % of the window, 2,000. There are two copies of lexer.go, and the older
one is removed first. It has less than 30 % of the characters (dedupe_suffices_percent), so half of the pairs after the
first pair are removed too, because the history has less than twice its room.`,
	},
	{
		name: "phased", profile: "phased", window: 200_000, reported: 8_351, phase: "implementation",
		about: `The window is limited to 9,000 tokens, 1,000 of them for the reply, which leaves a room of 8,000. A compaction is due
as soon as the history does not fit the room beside the other items. The first prompt, a
marker with the number of omitted messages, and the newest messages that fit 70 % of the room are kept. The documents of the
phase are always kept. Two units are approved; the third is a draft and is not shown.`,
		adjust: func(p *profile.Profile) { p.Budget.ContextWindow, p.Budget.ReservedOutput = 9_000, 1_000 },
	},
}

func TestGoldenSessionIsMadeByItsGenerator(t *testing.T) {
	made, err := json.MarshalIndent(makeGoldenSession(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, goldenSession, append(made, '\n'))
}

// compareGolden compares a result with a golden file.
func compareGolden(t *testing.T, path string, made []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, made, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))), string(made)); diff != "" {
		t.Errorf("%s, see -update (-file +made):\n%s", path, diff)
	}
}

// load returns the session of testdata with the case's profile.
func (c *goldenCase) load(t *testing.T) *stage {
	t.Helper()
	text, err := os.ReadFile(goldenSession)
	if err != nil {
		t.Fatal(err)
	}
	var messages []goldenMessage
	if err := json.Unmarshal(text, &messages); err != nil {
		t.Fatal(err)
	}
	st := newStage(t, c.profile, c.window)
	st.model.MaxOutput, st.phase = 2_000, c.phase
	if c.adjust != nil {
		c.adjust(&st.profile)
	}
	for _, message := range messages {
		st.say(message.Role, message.Blocks...).Meta = message.Meta
	}
	if c.phase != "" {
		pinned := false
		for _, name := range []string{"design", "types", "unit"} {
			st.document(documents.Request{Name: name, Text: fmt.Sprintf("The %s of the work. %s.", name, goldenText(len(name), 40)), Pinned: &pinned})
		}
		for i, status := range []string{documents.StatusApproved, documents.StatusApproved, "draft"} {
			name := fmt.Sprint("unit", i+1)
			st.document(documents.Request{
				Name: name, Text: "TEXT OF " + name, Status: status, Order: i + 1, Path: "src/" + name + ".go", Implementation: "CODE OF " + name + wordsOf(20),
			})
		}
	}
	return st
}

func TestGolden(t *testing.T) {
	for _, c := range goldenCases {
		t.Run(c.name, func(t *testing.T) {
			st := c.load(t)
			var out strings.Builder
			for line := range strings.Lines(c.about) {
				out.WriteString("# " + line)
			}
			fmt.Fprintf(&out, "\n\n== request before\n")
			st.ask(goldenPrompt)
			c.writeRequest(&out, st)
			st.messages = st.messages[:len(st.messages)-1]
			c.compact(t, &out, st)
			fmt.Fprintf(&out, "\n== request after\n")
			st.ask(goldenPrompt)
			c.writeRequest(&out, st)
			compareGolden(t, filepath.Join(goldenFolder, c.name+".txt"), []byte(out.String()))
		})
	}
}

// compact compacts the history and writes the plan.
func (c *goldenCase) compact(t *testing.T, out *strings.Builder, st *stage) {
	t.Helper()
	state, rules := st.state(), st.rules()
	st.beside = state.Capacity(c.reported) - state.HistoryTokens
	job := st.job(false)
	fmt.Fprintf(out, "\n== plan\nhistory: %d messages, %d tokens\ntrigger: %d tokens, room: %d, due: %v\n",
		len(job.state.View), job.state.HistoryTokens, job.numbers.TriggerTokens, job.numbers.RoomTokens, NeedOf(&job.state, &rules).Due)
	done := job.run(context.Background())
	if done.Result != compaction.Compacted {
		t.Fatalf("%+v", done)
	}
	fmt.Fprintf(out, "reason: %s\nleaves: %s\ncopies: %d\nbefore: %d tokens, after: %d\n", done.Plan.Reason, st.numbersOf(done.Plan.Drop), len(job.copies.patches), done.Before, done.After)
	if done.Summary != "" {
		fmt.Fprintf(out, "summary, %d tokens, by %s:\n%s\n", done.SummaryTokens, done.By, done.Summary)
	}
	st.apply(history.Edit{
		Kind: history.EditCompact, At: time.Unix(0, 0), Messages: done.Plan.Drop, Patches: job.copies.patches,
		Summary: done.Summary, SummaryTokens: done.SummaryTokens, Strategy: rules.Strategy,
	})
	if after := st.state(); after.HistoryTokens != done.After {
		t.Errorf("the history has %d tokens, the plan %d", after.HistoryTokens, done.After)
	}
}

// numbersOf returns the positions of messages in the transcript, from 1, as ranges.
func (st *stage) numbersOf(ids []string) string {
	var parts []string
	first, last := 0, 0
	end := func() {
		switch {
		case first == 0:
		case first == last:
			parts = append(parts, fmt.Sprint(first))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		}
	}
	for i, h := range st.messages {
		if !slices.Contains(ids, h.ID) {
			continue
		}
		if i+1 != last+1 || first == 0 {
			end()
			first = i + 1
		}
		last = i + 1
	}
	end()
	return strings.Join(parts, ", ")
}

// writeRequest writes the next request, a line for each item.
func (c *goldenCase) writeRequest(out *strings.Builder, st *stage) {
	st.t.Helper()
	state := st.state()
	b, err := state.Build(st.t.Context())
	if err != nil {
		st.t.Fatal(err)
	}
	fmt.Fprintf(out, "%d tokens, room for %d\n", b.Counted, state.Room())
	for i := range b.Plan.Entries {
		e := &b.Plan.Entries[i]
		fmt.Fprintf(out, "%-22s %5d\n", e.Key, e.Tokens)
	}
	for _, o := range b.Omitted {
		fmt.Fprintf(out, "left out: %s, %d messages, %d tokens, %s\n", o.Key, o.Count, o.Tokens, o.Reason)
	}
	out.WriteString("---\n")
	for _, m := range b.Assembled().Messages {
		fmt.Fprintf(out, "[%s]\n", m.Role)
		for _, block := range m.Content {
			shown := block.Text
			for _, part := range block.Content {
				shown += part.Text
			}
			out.WriteString(shortened(shown+block.Args) + "\n")
		}
	}
}

// shortened returns a text with its long lines truncated.
func shortened(text string) string {
	const width = 100
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if cut := clip.Chars(line, width); len(cut) < len(line) {
			line = cut + "…"
		}
		out.WriteString(line + "\n")
	}
	return strings.TrimRight(out.String(), "\n")
}
