package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// story is an example session with content for all panels, in a world whose model has a cache and replies from its pages.
type story struct {
	*World
	e       *testclient.Editor
	folder  string // of the project
	session string
	cache   *upstream.Cache
}

// storyPage is a prompt of the story and its reply.
type storyPage struct{ prompt, thought, answer string }

// newStory starts the world and runs the session.
func newStory(t testing.TB) *story {
	t.Helper()
	model := upstream.Start(upstream.Options{})
	t.Cleanup(model.Close)
	s := &story{cache: upstream.NewCache(upstream.CacheOptions{})}
	model.Choose(s.cache.Answer)
	settings := fmt.Sprintf(`listen: 127.0.0.1:%d
model: anthropic/claude-sonnet-4-5
summary_model: anthropic/claude-sonnet-4-5
providers: {anthropic: {kind: anthropic, base_url: %q, api_key_env: ""}}
budgets: {day: {usd: 1}, month: {usd: 20, per: month}}
profiles: {chat: {compaction: {raw_window_size: 3}}}
`, FreePort(t), model.URL)
	home := binary.NewHome(t, settings)
	s.World = &World{Server: binary.Start(t, home, binary.Options{}), Model: model}
	s.e = s.Editor(t)
	s.others(t)
	s.live(t)
	return s
}

// cwd creates a sibling folder.
func (s *story) cwd(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join(s.Home.Project, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// others creates the sessions that are only listed.
func (s *story) others(t testing.TB) {
	t.Helper()
	for _, other := range []struct{ folder, title, prompt, answer string }{
		{"site", "Dark colors for the documentation", "Which colors fail on a dark background?", "Two: links and secondary text. Both need a lighter shade."},
		{"site", "A feed of the changelog", "Can CHANGELOG.md become a feed?", "Yes, one entry per version; the dates are in the headings."},
		{"quill", "Benchmarks of the planner", "Why is a join of three tables slow?", "The planner tries all orders and copies the positions for each."},
		{"quill", "Joins with more than one key", "What does a second key need?", "A list in the node of the join, and a comparison by position."},
		{"quill", "Names that are reserved words", "How are reserved words quoted?", "With backticks. The lexer marks them as names."},
	} {
		sid := s.e.NewSession(s.cwd(t, other.folder))
		ask[any](t, s.e, "_strata/session/rename", sid, map[string]any{"title": other.title})
		ask[any](t, s.e, "_strata/history/append", sid, map[string]any{"messages": []any{
			map[string]any{"role": "user", "content": other.prompt}, map[string]any{"role": "assistant", "content": other.answer},
		}})
	}
}

// live runs all turns of the session and the events between them.
func (s *story) live(t testing.TB) {
	t.Helper()
	s.folder = s.cwd(t, "quill")
	s.put(t, "AGENTS.md", storyRules)
	for name, lines := range map[string]int{
		"token.go": 60, "lexer.go": 420, "parser.go": 760, "ast.go": 240, "internal/plan/plan.go": 520, "README.md": 90,
	} {
		s.put(t, name, source(strings.TrimSuffix(filepath.Base(name), ".go"), lines))
	}
	s.session = s.e.NewSession(s.folder)
	ask[any](t, s.e, "_strata/session/rename", s.session, map[string]any{"title": "Columns of syntax errors"})
	ask[any](t, s.e, "session/set_config_option", s.session, map[string]any{"configId": "thought_level", "value": "medium"})
	ask[any](t, s.e, "_strata/documents/set", s.session, map[string]any{
		"name": "grammar", "pinned": true, "text": storyGrammar,
	})
	s.add(t, "token.go", "lexer.go")
	s.turn(t, storyPages[0])
	s.add(t, "parser.go")
	s.turn(t, storyPages[1])
	s.put(t, "lexer.go", strings.Replace(source("lexer", 420), "in[3:], nil", "in[utf8.RuneLen(r):], nil", 2))
	s.turn(t, storyPages[2])
	s.add(t, "ast.go", "internal/plan/plan.go")
	s.turn(t, storyPages[3])
	made := ask[struct {
		CheckpointID string `json:"checkpointId"`
	}](t, s.e, "_strata/checkpoint/create", s.session, map[string]any{"name": "before recovery"})
	s.turn(t, storyPages[4])
	ask[any](t, s.e, "_strata/checkpoint/restore", s.session, map[string]any{"checkpointId": made.CheckpointID})
	s.turn(t, storyPages[5])
	s.Model.Push(upstream.Script{Steps: upstream.Texts(storySummary), Usage: upstream.Usage{Input: 2100, Output: 190}})
	ask[any](t, s.e, "_strata/history/compact", s.session, map[string]any{"strategy": "rolling"})
	s.turn(t, storyPages[6])
	s.add(t, "README.md")
	s.turn(t, storyPages[7])
	ask[any](t, s.e, "_strata/checkpoint/create", s.session, map[string]any{"name": "columns are right"})
	ask[any](t, s.e, "_strata/files/remove", s.session, map[string]any{"path": "internal/plan/plan.go"})
	s.turn(t, storyPages[8])
}

func (s *story) put(t testing.TB, name, text string) {
	t.Helper()
	s.write(t, filepath.Join("quill", name), text)
}

func (s *story) add(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		ask[any](t, s.e, "_strata/files/add", s.session, map[string]any{"path": name})
	}
}

// turn sends a prompt; the model replies with the page and with the usage by its cache.
func (s *story) turn(t testing.TB, page storyPage) {
	t.Helper()
	s.Model.Choose(func(req *upstream.Request) upstream.Script { return s.script(req, page, nil) })
	prompt(t, s.e, s.session, page.prompt)
}

// script returns the reply of a page. With a gate (optional), the last part waits for it.
func (s *story) script(req *upstream.Request, page storyPage, gate <-chan struct{}) upstream.Script {
	var steps []upstream.Step
	if page.thought != "" {
		steps = append(steps, upstream.Thinking(page.thought, "signature"))
	}
	said, rest, _ := strings.Cut(page.answer, "<hold>")
	steps = append(steps, upstream.Text(said))
	if gate != nil {
		steps = append(steps, upstream.Hold(gate))
	}
	script := upstream.Script{Steps: append(steps, upstream.Text(rest)), Usage: s.cache.Serve(req).Usage}
	script.Usage.Output = (len(page.answer) + len(page.thought)) / 4
	return script
}

const storyRules = `Write Go as the standard library does.

- Every bug gets a test first, in a table if there is one.
- Functions are short, and named after their results.
- User errors name line, column and the expected token.
- The planner does not handle text: it maps trees to trees.
- No dependency but the standard library.
- README.md is correct at every commit.
`

// storyGrammar is a document of the session.
const storyGrammar = `query   = source { "|" step } .
source  = name [ "as" name ] .
step    = filter | project | join | sort | limit .
filter  = "where" expr .
project = "select" column { "," column } .
column  = expr [ "as" name ] .
join    = "join" source "on" expr { "," expr } .
sort    = "sort" key { "," key } .
key     = expr [ "asc" | "desc" ] .
limit   = "limit" number [ "offset" number ] .
expr    = and { "or" and } .
and     = not { "and" not } .
not     = [ "not" ] compare .
compare = sum [ ( "=" | "!=" | "<" | "<=" | ">" | ">=" | "in" ) sum ] .
sum     = term { ( "+" | "-" ) term } .
term    = factor { ( "*" | "/" | "%" ) factor } .
factor  = number | string | path | call | "(" expr ")" .
path    = name { "." name } .
call    = name "(" [ expr { "," expr } ] ")" .
`

const storySummary = `The user wants syntax errors of Quill to name the right column.

- Cause: ` + "`lexer.advance`" + ` counted bytes; columns count runes since then, in ` + "`lexer.go`" + ` only.
- ` + "`Pos`" + ` is also read by ` + "`parser.errorAt`, `ast.Span` and `plan.explain`" + `; the last still adds one.
- Recovery by inserted tokens was tried and reverted: it hid the first error.
- Open: a test with wide characters, and the README.`

var storyPages = []storyPage{
	{prompt: "How does the lexer keep track of positions?", answer: "In one place: `advance` moves `pos` and, at a line break, starts the next line.\n\n" +
		"```go\nfunc (l *lexer) advance() {\n\tl.pos++\n\tif l.input[l.pos-1] == '\\n' {\n\t\tl.line++\n\t\tl.start = l.pos\n\t}\n}\n```\n\nA column is `pos - start + 1`, counted in bytes."},
	{prompt: "Errors point one column too far to the right after an umlaut. Why?", thought: "The column is a difference of byte offsets. A rune of two bytes moves it by two.",
		answer: "`pos` counts bytes, and an umlaut has two. The parser only forwards the positions of the lexer, so the bug is in `advance` alone."},
	{prompt: "I have changed `advance` to count runes. Is that all?", answer: "Nearly. `advance` is correct now, but `backup` still moves back one byte:\n\n```go\nfunc (l *lexer) backup() {\n\tl.pos -= l.width\n\tl.column--\n}\n```\n\nWith `width` stored from the last rune, both agree."},
	{prompt: "What else reads `Pos`?", answer: "Three places besides the lexer:\n\n1. `parser.errorAt`, which is correct.\n2. `ast.Span`, which is correct too.\n3. `plan.explain`, which adds one itself. Remove that."},
	{prompt: "Try recovery: insert the missing token and continue.", answer: "Done in `parser.expect`. Parsing continues, but the first error is reported last now, because the inserted token fails again later."},
	{prompt: "Then without recovery. How should the test look?", answer: "A table with a query and the column that its error must name, wide characters among them:\n\n```go\n{\"größe >\", 8},\n{\"名前 | | sort\", 6},\n```"},
	{prompt: "Write the test, and remove the increment from `plan.explain`.", answer: "Both are done. `TestColumnsCountRunes` has nine queries; two of them fail without the change of `explain`, and all pass with it."},
	{prompt: "Is the README still correct?", answer: "One sentence is wrong: it says that columns count bytes. I suggest:\n\n> Columns count characters from 1, as editors show them."},
	{prompt: "What remains before this can be merged?", thought: "The planner is no longer in the session. The changelog, the tab question and the lexer benchmark remain.",
		answer: "Three small things:\n\n1. **The changelog** has no line yet.\n2. **Tabs** count as one column. Editors differ there, so the README should say it.\n3. **The lexer** decodes each rune now. A benchmark before and after shows the cost:\n\n```go\nfunc BenchmarkLexer(b *testing.B) {\n\tfor b.Loop() {\n\t\tlexAll(longQuery)\n\t}\n}\n```\n\nThe first two are a minute's work."},
}

// searching returns the replies of a turn with calls of tools, whose last part waits for gate.
func (s *story) searching(gate <-chan struct{}) func(*upstream.Request) upstream.Script {
	const plan = `{"entries":[{"content":"Find the code that measures","priority":"high","status":"completed"},` +
		`{"content":"Compare it to the tests","priority":"medium","status":"in_progress"},{"content":"Write a benchmark","priority":"low","status":"pending"}]}`
	steps := [][]upstream.Step{
		slices.Concat([]upstream.Step{upstream.Text("I look for it in the lexer and in the tests.")},
			upstream.Call("toolu_1", "search", `{"pattern":"RuneLen","include":"*.go"}`), upstream.Call("toolu_2", "read_file", `{"path":"lexer_test.go"}`)),
		slices.Concat(upstream.Call("toolu_3", "update_plan", plan), upstream.Call("toolu_4", "read_file", `{"path":"lexer.go","start_line":1,"end_line":40}`)),
		{upstream.Text("The width is measured in "), upstream.Hold(gate), upstream.Text("`lexer.go`.")},
	}
	var n atomic.Int32
	return func(req *upstream.Request) upstream.Script {
		step := min(int(n.Add(1)), len(steps)) - 1
		return upstream.Script{Steps: steps[step], Usage: s.cache.Serve(req).Usage}
	}
}

// streamed is the turn that runs while the conversation is shown.
var streamed = storyPage{prompt: "Run the benchmark. What is the cost?", thought: "Before: bytes. After: utf8.DecodeRuneInString. ASCII takes the fast path.",
	answer: "It costs less than expected, since most of a query is ASCII:\n\n| | before | after |\n|---|--:|--:|\n| ASCII only | 41 ns | 43 ns |\n| wide characters | 44 ns | 61 ns |\n\nThe difference is in <hold>`DecodeRuneInString`."}
