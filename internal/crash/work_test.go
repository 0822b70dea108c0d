package crash

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
)

// The models of a workshop, one for each wire format.
const (
	chatModel   = "local/test"
	claudeModel = "claude/test"
)

// workFiles is the number of files in a workshop's project, and the maximum number of steps of a work.
const workFiles = 9

// shop is what a workshop has for its works. The zero shop has small files, and models with large windows.
type shop struct {
	lines int    // of a file, besides its first one
	more  string // configuration
}

// smallShop is a shop in which a turn with all steps outgrows the window of its model.
var smallShop = shop{lines: 90, more: `models:
  local/test: {window: 8000, max_output: 500}
  claude/test: {window: 8000, max_output: 500}
`}

// newWorkshop starts a server for works, with a provider that speaks both wire formats and checks each request.
func newWorkshop(t *testing.T, in shop, opt binary.Options) *world {
	t.Helper()
	teller := newTeller(t)
	teller.Choose(func(req *upstream.Request) upstream.Script {
		checkRequest(t, req, in == smallShop)
		return teller.work(req)
	})
	home := binary.NewHome(t, fmt.Sprintf(`listen: 127.0.0.1:0
model: local/test
providers:
  local: {kind: openai, base_url: %q, api_key_env: ""}
  claude: {kind: anthropic, base_url: %q, api_key_env: ""}
`+in.more, teller.OpenAIURL(), teller.URL))
	for n := range workFiles {
		if err := os.WriteFile(filepath.Join(home.Project, fileOfStep(n+1)), []byte(in.textOfStep(n+1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &world{Server: binary.Start(t, home, opt), t: t, teller: teller}
}

func fileOfStep(step int) string { return fmt.Sprintf("file%d.txt", step) }

func (in shop) textOfStep(step int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "needle%d is in this file\n", step)
	for line := range in.lines {
		fmt.Fprintf(&text, "line %d of file %d names the number %d\n", line, step, line*step%97)
	}
	return text.String()
}

// newSession creates a session with a model.
func (w *world) newSession(e *testclient.Editor, model string) (string, error) {
	var result struct{ SessionID string }
	err := e.Call("session/new", map[string]any{
		"cwd": w.Home.Project, "mcpServers": []any{}, "_meta": map[string]any{"strata": map[string]any{"model": model}},
	}, &result)
	return result.SessionID, err
}

// work is a prompt for a turn with steps: in each of them the provider tells a story and makes calls, and then it tells a
// last story. Its name is its prompt id.
type work struct {
	session, name string
	steps, parts  int
	gap           time.Duration // between parts
	plan          [][]toolCall  // of its steps, nil for calls that read
	leaves        files         // of a desk, after all calls of the plan
	stops         bool          // the server may be stopped meanwhile
	lost          int           // how often it was sent to a server that died before it was stored
	resumed       int           // how often its turn was to go on after a crash
}

func (k *work) text() string {
	text := fmt.Sprintf("Work %s in %d steps of %d parts, %d us apart.", k.name, k.steps, k.parts, k.gap.Microseconds())
	if k.plan == nil {
		return text
	}
	plan, err := json.Marshal(k.plan)
	if err != nil {
		panic(err)
	}
	return text + "\nCalls: " + string(plan)
}

var workWanted = regexp.MustCompile(`(?m)^Work (\S+) in (\d+) steps of (\d+) parts, (\d+) us apart\.(?:\nCalls: (.+))?$`)

// wantedWork returns the work of a match of workWanted.
func wantedWork(match []string) *work {
	k := &work{
		name: match[1], steps: number(match[2]), parts: number(match[3]), gap: time.Duration(number(match[4])) * time.Microsecond,
	}
	if match[5] != "" {
		if err := json.Unmarshal([]byte(match[5]), &k.plan); err != nil {
			panic(err)
		}
	}
	return k
}

func (k *work) send(e *testclient.Editor) *testclient.Turn { return k.sendAs(e, k.name) }

// sendAs sends the work with a prompt id, none if it is empty.
func (k *work) sendAs(e *testclient.Editor, promptID string) *testclient.Turn {
	return e.StartWith(k.session, []any{map[string]any{"type": "text", "text": k.text()}}, promptID)
}

// stepName identifies a step of a work, counted from 1; the last story is the step after the last one with calls.
func (k *work) stepName(step int) string { return fmt.Sprintf("%s-%d", k.name, step) }

func (k *work) said(step int) string { return strings.Join(story(k.stepName(step), k.parts), "") }

// toolCall is a call, and a text of its result in lower case.
type toolCall struct{ Tool, Input, Result string }

// calls returns the calls of a step, none of the last story.
func (k *work) calls(step int) []toolCall {
	if step > k.steps {
		return nil
	}
	if k.plan != nil {
		return k.plan[step-1]
	}
	return []toolCall{
		{"read_file", fmt.Sprintf(`{"path":%q}`, fileOfStep(step)), fileOfStep(step)},
		{"search", fmt.Sprintf(`{"pattern":"needle%d"}`, step), "match"}, // none, if the editor's text, which lacks it, is read before
		{"update_plan", fmt.Sprintf(`{"entries":[{"content":%q,"priority":"high","status":"in_progress"}]}`, k.stepName(step)), "plan"},
	}
}

// script is what the provider replies in a step.
func (k *work) script(step int) (steps []upstream.Step) {
	steps = append(steps, upstream.Thinking("What is next in "+k.stepName(step)+"?", "sig"+k.stepName(step)))
	steps = append(steps, upstream.Texts(story(k.stepName(step), k.parts)...)...)
	for i, c := range k.calls(step) {
		half := len(c.Input) / 2
		steps = append(steps, upstream.Call(fmt.Sprintf("call_%s_%d", k.stepName(step), i), c.Tool, c.Input[:half], c.Input[half:])...)
	}
	return steps
}

// work returns the script for the newest work that a request contains: its next step.
func (s *teller) work(req *upstream.Request) upstream.Script {
	k, done := workOf(req)
	if k == nil {
		return upstream.Default(req)
	}
	s.mu.Lock()
	s.asked[k.stepName(len(done)+1)]++
	s.mu.Unlock()
	return upstream.Script{Usage: upstream.Usage{Input: req.Tokens(), Output: 10}, Steps: k.script(len(done) + 1), Gap: k.gap}
}

// summaryMark begins the message that replaces what was summarized.
const summaryMark = "# Background: summary of"

// workOf returns the newest work that a request contains, nil for none, and its steps that have calls: done[n-1] tells whether
// the request contains step n. Older steps can be summarized.
func workOf(req *upstream.Request) (k *work, done []bool) {
	for _, m := range slices.Backward(req.Messages) {
		for _, b := range m.Blocks {
			if made := madeIn.FindStringSubmatch(b.ID); b.Type == "tool_use" && made != nil {
				step := number(made[2])
				done = append(done, make([]bool, max(step-len(done), 0))...)
				done[step-1] = true
			}
		}
		found := workWanted.FindAllStringSubmatch(m.Text(), -1)
		if m.Role != "user" || found == nil || strings.HasPrefix(m.Text(), summaryMark) {
			continue
		}
		return wantedWork(found[len(found)-1]), done
	}
	return nil, done
}

// madeIn matches the id of a call as the provider knows it.
var madeIn = regexp.MustCompile(`^call_(\S+)-(\d+)_\d$`)

// timesOf returns how often a step was requested.
func (s *teller) timesOf(k *work, step int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[k.stepName(step)]
}

var beginnings = regexp.MustCompile(`Work \S+ in \d+ steps|[\w-]+, part 1 of \d+`)

// recentSteps is the number of newest steps of a running turn that are in each request, however small the window is.
const recentSteps = 2

// checkRequest checks that a request is one that providers accept, each of its calls with its stored result, and that it
// repeats nothing. It contains the prompt of the running turn with its finished steps, in a small window at least the newest
// ones, and nothing that was said after these.
func checkRequest(t *testing.T, req *upstream.Request, small bool) {
	k, done := workOf(req)
	if k == nil && len(done) > 0 {
		t.Errorf("request %d lacks the prompt of the running turn\n%s", req.N, req.Body)
	}
	for i, there := range done {
		if !there && (!small || i >= len(done)-recentSteps) {
			t.Errorf("request %d lacks step %d of %d\n%s", req.N, i+1, len(done), req.Body)
		}
	}
	if k != nil && strings.Contains(string(req.Body), k.stepName(len(done)+1)+", part") {
		t.Errorf("request %d has a part of step %d, which is not finished\n%s", req.N, len(done)+1, req.Body)
	}
	if reason := upstream.Refusal(req, 0); reason != "" {
		t.Errorf("request %d is one that the provider refuses: %s\n%s", req.N, reason, req.Body)
	}
	if strings.Contains(string(req.Body), tempMark) {
		t.Errorf("request %d names a temporary file\n%s", req.N, req.Body)
	}
	missing := llm.MissingResult(&history.Block{}).Content[0].Text
	seen := make(map[string]bool)
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			if b.Type == "tool_result" && slices.ContainsFunc(b.Content, func(c upstream.Block) bool { return c.Text == missing }) {
				t.Errorf("request %d has a call without a stored result: %s", req.N, b.ToolUseID)
			}
			for _, beginning := range beginnings.FindAllString(b.Text, -1) {
				if seen[beginning] {
					t.Errorf("request %d repeats %q", req.N, beginning)
				}
				seen[beginning] = true
			}
		}
	}
}

// messagesOnDisk returns the stored messages of a session.
func messagesOnDisk(t testing.TB, db *sql.DB, session string) (all []history.Message) {
	t.Helper()
	for _, row := range rows(t, db, "SELECT body FROM message WHERE session = ? ORDER BY seq", session) {
		var m history.Message
		if err := json.Unmarshal([]byte(row[0]), &m); err != nil {
			t.Fatalf("stored message of %s: %v", session, err)
		}
		all = append(all, m)
	}
	return all
}

// callLost is the beginning of the result of a call that a server did not live to see.
const callLost = "the server ended while this call ran"

// callStopped is that of a call that ran, or was to run, when the server was stopped.
const callStopped = "interrupted: "

// judgeWork checks how the turn of a work is stored in an idle session. The messages of the turn are the beginning of the
// work, each once; only in an interrupted turn the newest one is cut, or its calls have the result that says so. It returns
// the turn's status, "" for a prompt that is not stored, and where it ended.
func (w *world) judgeWork(db *sql.DB, k *work) (status, at string) {
	w.t.Helper()
	turn, found := turnOf(w.t, db, &ask{session: k.session, name: k.name})
	if !found {
		k.lost++
		return "", "not stored"
	}
	j := &judgment{work: k, turn: turn}
	for _, m := range messagesOnDisk(w.t, db, k.session) {
		if m.ID == turn.user {
			j.id = m.Turn
		}
		if m.Turn == j.id && j.id != "" {
			j.messages = append(j.messages, m)
		}
	}
	w.report(j)
	return turn.status, j.end()
}

// report fails the test if something is wrong.
func (w *world) report(j *judgment) {
	w.t.Helper()
	if wrong := cmp.Or(j.fault(), w.teller.askedTooOften(j.work)); wrong != "" {
		w.t.Errorf("%s is %s: %s\n%s", j.work.name, j.turn.status, wrong, j)
	}
}

// askedTooOften returns a step that was requested again, "" for none. The first one is requested before its prompt is stored.
func (s *teller) askedTooOften(k *work) string {
	for step, most := 1, 1+k.lost; step <= k.steps+1; step, most = step+1, 1+k.resumed {
		if n := s.timesOf(k, step); n > most {
			return fmt.Sprintf("step %d was requested %d times, want at most %d", step, n, most)
		}
	}
	return ""
}

// judgment compares the stored messages of a turn to its work.
type judgment struct {
	work     *work
	turn     ended
	id       string
	messages []history.Message
}

func (j *judgment) String() string {
	var lines []string
	for i := range j.messages {
		m := &j.messages[i]
		line := shown(m).String()
		for _, b := range m.Blocks {
			if b.CallID != "" {
				line += " " + string(b.Type) + " " + b.CallID
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// end returns where the turn ended, in a word for figures.
func (j *judgment) end() string {
	if len(j.messages) == 0 {
		return "lost"
	}
	lost := func(b history.Block) bool { return b.IsError }
	switch m := j.messages[len(j.messages)-1]; {
	case j.turn.status == "completed":
		return "completed"
	case m.Role == history.RoleUser:
		return "before the reply"
	case m.Role == history.RoleAssistant:
		return "in a message"
	case slices.ContainsFunc(m.Blocks, lost):
		return "in the calls"
	}
	return "between steps"
}

// fault returns what is wrong, "" for nothing.
func (j *judgment) fault() string {
	if len(j.messages) == 0 || j.messages[0].PlainText() != j.work.text() {
		return "the prompt is missing"
	}
	rest, step, newest := j.messages[1:], 1, ""
	for ; len(rest) > 0; step++ {
		m := &rest[0]
		newest, rest = m.ID, rest[1:]
		calls := blocksOf(m, history.BlockToolCall)
		if wrong := j.wrongMessage(m, calls, step, len(rest) == 0); wrong != "" {
			return fmt.Sprintf("step %d: %s", step, wrong)
		}
		if len(calls) == 0 {
			break
		}
		if len(rest) == 0 {
			return fmt.Sprintf("step %d: its calls have no results", step)
		}
		results := resultsOf(rest)
		if wrong := j.wrongResults(joined(rest[:results]), calls, step, j.cutAfter(rest[results-1:])); wrong != "" {
			return fmt.Sprintf("step %d: %s", step, wrong)
		}
		rest = rest[results:]
	}
	switch {
	case len(rest) > 0:
		return "messages follow the last one"
	case j.turn.status == "completed" && step != j.work.steps+1:
		return fmt.Sprintf("it ends in step %d", step)
	case newest != "" && j.turn.reply != newest:
		return fmt.Sprintf("its reply is %s, not %s", j.turn.reply, newest)
	}
	return ""
}

// resultsOf returns the number of messages with the results of one step: each result of a call that changes something is stored
// for itself.
func resultsOf(messages []history.Message) int {
	n := 1
	for n < len(messages) && messages[n].Role == history.RoleTool {
		n++
	}
	return n
}

// joined returns messages as one.
func joined(messages []history.Message) *history.Message {
	all := messages[0]
	all.Blocks = nil
	for i := range messages {
		all.Blocks = append(all.Blocks, messages[i].Blocks...)
	}
	return &all
}

// cutAfter reports whether a turn was interrupted after the first of the rest of the messages.
func (j *judgment) cutAfter(rest []history.Message) bool {
	if len(rest) == 1 {
		return j.turn.status == "interrupted"
	}
	return rest[0].Turn != rest[1].Turn // the next one goes on
}

// wrongMessage checks the message of a step.
func (j *judgment) wrongMessage(m *history.Message, calls []history.Block, step int, last bool) string {
	said, want := m.PlainText(), j.work.said(step)
	if m.Role != history.RoleAssistant {
		return "it has no message"
	}
	if m.Status == history.StatusInterrupted && j.turn.status == "interrupted" && strings.HasPrefix(want, said) {
		if last && len(calls) == 0 || j.work.stops && j.beginsWith(calls, step) {
			return ""
		}
	}
	same := slices.EqualFunc(calls, j.work.calls(step), func(b history.Block, c toolCall) bool { return b.Name == c.Tool && b.Args == c.Input })
	if m.Status != history.StatusComplete || said != want || !same {
		return fmt.Sprintf("%s message of %d bytes with %d calls", m.Status, len(said), len(calls))
	}
	return ""
}

// beginsWith reports whether the calls of a step begin with these, of which a stopped server has cut the last one.
func (j *judgment) beginsWith(calls []history.Block, step int) bool {
	for i, want := range j.work.calls(step) {
		if i < len(calls) && (calls[i].Name != want.Tool || calls[i].Args != want.Input && (i < len(calls)-1 || !strings.HasPrefix(want.Input, calls[i].Args))) {
			return false
		}
	}
	return len(calls) <= len(j.work.calls(step))
}

// wrongResults checks the results of a step.
func (j *judgment) wrongResults(m *history.Message, calls []history.Block, step int, cut bool) string {
	results := blocksOf(m, history.BlockToolResult)
	if m.Role != history.RoleTool || len(results) != len(calls) {
		return fmt.Sprintf("%d calls have %d results", len(calls), len(results))
	}
	for i, want := range j.work.calls(step)[:len(calls)] {
		text := (&history.Message{Blocks: results[i : i+1]}).PlainText()
		lost := cut && results[i].IsError && (strings.HasPrefix(text, callLost) || j.work.stops && strings.HasPrefix(text, callStopped))
		if results[i].CallID != calls[i].CallID || !lost && (results[i].IsError || !strings.Contains(strings.ToLower(text), want.Result)) {
			return fmt.Sprintf("the result of %s is %q", want.Tool, text)
		}
	}
	return ""
}

func blocksOf(m *history.Message, kind history.BlockType) []history.Block {
	return slices.DeleteFunc(slices.Clone(m.Blocks), func(b history.Block) bool { return b.Type != kind })
}

// workAgain repeats the prompt of a work whose result the client may not know. If it was stored, the model is not asked
// again, and the response is the stored result.
func (w *world) workAgain(e *testclient.Editor, k *work) {
	w.t.Helper()
	reply, err := k.send(e).Wait()
	if err != nil && (fault(err) == nil || fault(err).Code != codeProvider) {
		w.t.Fatalf("%s, sent again: %v", k.name, err)
	}
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	if status, _ := w.judgeWork(db, k); (status == "completed") != (err == nil && reply.StopReason == "end_turn") {
		w.t.Errorf("%s, sent again, ended with %q, %v, and is stored as %s", k.name, reply.StopReason, err, status)
	}
}

// do sends a work and expects all of it.
func (w *world) do(e *testclient.Editor, k *work) {
	w.t.Helper()
	reply, err := k.send(e).Wait()
	if err != nil || reply.StopReason != "end_turn" {
		w.t.Fatalf("%s ended with %q, %v", k.name, reply.StopReason, err)
	}
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	if status, _ := w.judgeWork(db, k); status != "completed" {
		w.t.Errorf("%s is stored as %q", k.name, status)
	}
}

// exported checks that an export has the messages of a transcript.
func (w *world) exported(e *testclient.Editor, session string, transcript []message) {
	w.t.Helper()
	var got []message
	for cursor := ""; ; {
		var page struct {
			Lines      []struct{ Message *history.Message }
			NextCursor string
		}
		if err := e.Call("_strata/session/export", map[string]any{"sessionId": session, "cursor": cursor}, &page); err != nil {
			w.t.Fatal(err)
		}
		for _, line := range page.Lines {
			if line.Message != nil {
				got = append(got, shown(line.Message))
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(got, transcript) {
		w.t.Errorf("the export has %v, the transcript %v", got, transcript)
	}
}
