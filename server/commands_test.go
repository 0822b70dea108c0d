package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

// offlineModels are the models that need no provider.
var offlineModels = []string{"offline/digest", "offline/actor"}

// onOfflineModels runs a test with a server for each of the offline models.
func onOfflineModels(t *testing.T, test func(t *testing.T, ts *testServer)) {
	t.Parallel()
	for _, model := range offlineModels {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			test(t, startServer(t, func(o *Options) { o.Sessions.DefaultConfig = history.Config{Model: model} }))
		})
	}
}

// always makes the provider respond to all requests in the same way.
func always(ts *testServer, script upstream.Script) {
	ts.upstream.Choose(func(*upstream.Request) upstream.Script { return script })
}

// commandOf returns the command of which a frame is output, "" for other frames.
func commandOf(t *testing.T, f testclient.Frame) string {
	t.Helper()
	var params struct {
		Meta struct {
			Strata struct {
				Command string `json:"command"`
			} `json:"strata"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(f.Params, &params); err != nil {
		t.Fatal(err)
	}
	return params.Meta.Strata.Command
}

// run runs a command, which must be no turn, and returns its output.
func run(t *testing.T, e *testclient.Editor, sid, text string) string {
	t.Helper()
	return output(t, mustPrompt(t, e, sid, text), text)
}

// output returns what a command has shown, in one message before its response.
func output(t *testing.T, reply testclient.Reply, text string) string {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	if want := `{"stopReason":"end_turn","_meta":{"strata":{"command":"` + name + `"}}}`; string(reply.Result) != want {
		t.Errorf("%s has the result %s, want %s", text, reply.Result, want)
	}
	shown := reply.Frames.Kind(testclient.AgentChunk)
	if len(shown) != 1 {
		t.Fatalf("%s has shown %d chunks", text, len(shown))
	}
	if f := shown[0]; commandOf(t, f) != name || !strings.HasPrefix(f.Message, "cmd_") || f.Epoch == "" || f.Seq != 0 || f.Replay {
		t.Errorf("%s has shown %s", text, f.Raw)
	}
	return shown[0].Text
}

// viewOf returns the messages of the view as text, one per line.
func viewOf(t *testing.T, e *testclient.Editor, sid string) string {
	t.Helper()
	return chatOf(slices.DeleteFunc(transcript(t, e, sid), func(m wire.Message) bool { return !m.InView }))
}

func wantText(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not contain %q", got, part)
		}
	}
}

func TestHelpListsTheCommands(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		ts.writeDeep(filepath.Join(ts.work, ".strata/commands/review.md"), "Review $ARGUMENTS")
		e := ts.editor()
		sid := e.NewSession(ts.work)
		wantText(t, run(t, e, sid, "/help"), "`/add PATH…`", "`/undo [now | edit]`", "`/review ARGUMENTS`")
	})
}

// A command leaves no message, no title, no turn, and no cost.
func TestACommandIsNoTurn(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		e, sid := attached(t, ts)
		for _, text := range []string{"/help", "/context", "/files", "/add", "/drop", "/model", "/checkpoint", "/restore", "/rename", "/undo", "/retry", "/undo what"} {
			run(t, e, sid, text)
		}
		if all := transcript(t, e, sid); len(all) > 0 {
			t.Errorf("stored:\n%s", chatOf(all))
		}
		info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil)
		if info.Session.Title != "" || info.Totals.Calls != 0 || info.Messages != 0 {
			t.Errorf("the session is %+v", info)
		}
		for _, f := range e.Frames().Of(sid) {
			if f.Kind == "turn_started" || f.Kind == "session_info_update" {
				t.Errorf("it sent %s", f.Raw)
			}
		}
	})
}

func TestContextTellsWhatTheNextRequestContains(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		ts.write("a.go", "package a\n")
		e := ts.editor()
		sid := e.NewSession(ts.work)
		run(t, e, sid, "/add a.go")
		mustPrompt(t, e, sid, "say hello")
		wantText(t, run(t, e, sid, "/context"), "The next request to "+info(ts, e, sid).Config.Model, "- file", "- history: ")
	})
}

func info(ts *testServer, e *testclient.Editor, sid string) wire.SessionDetails {
	return call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil)
}

func TestAddAndDropChangeTheFilesOfTheContext(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		ts.write("a.go", "package a\n")
		ts.write("two words.go", "package b\n")
		ts.write(".env", "KEY=secret\n")
		e := ts.editor()
		sid := e.NewSession(ts.work)
		wantText(t, run(t, e, sid, "/files"), "The context has no files.")
		added := run(t, e, sid, `/add a.go "two words.go" .env missing.go ../outside.go`)
		wantText(t, added, "- Added `a.go` (", "- Added `two words.go` (", ".env looks like a secret", "missing.go does not exist", "outside.go is outside")
		wantText(t, run(t, e, sid, "/files"), "- `a.go`: full, ", "- `two words.go`: full, ")
		wantText(t, run(t, e, sid, "/drop a.go b.go"), "- Removed `a.go`.", "- b.go is not in the session's context.")
		if got := run(t, e, sid, "/files"); strings.Contains(got, "a.go") {
			t.Errorf("the files are %s", got)
		}
		wantText(t, run(t, e, sid, "/add 'a.go"), "A quote is not closed.")
		wantText(t, run(t, e, sid, "/drop "+strings.Repeat("x ", 101)), "101 paths exceeds the limit of 100.")
	})
}

func TestAddTakesTheLinksOfThePrompt(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.go", "package a\n")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	reply, err := e.StartWith(sid, []any{
		map[string]any{"type": "text", "text": "/add "},
		map[string]any{"type": "resource_link", "name": "a.go", "uri": "file://" + filepath.ToSlash(filepath.Join(ts.work, "a.go"))},
	}, "").Wait()
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, output(t, reply, "/add"), "Added `a.go`")
}

func TestRenameAndModelChangeTheSession(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		e, sid := attached(t, ts)
		wantText(t, run(t, e, sid, "/rename  A new   title "), "A new title")
		if got := info(ts, e, sid).Session.Title; got != "A new title" {
			t.Errorf("the title is %q", got)
		}
		wantText(t, run(t, e, sid, "/model"), "The model is `offline/", "- `local/test`")
		wantText(t, run(t, e, sid, "/model local/test"), "The model is `local/test`.")
		if got := info(ts, e, sid).Config.Model; got != "local/test" {
			t.Errorf("the model is %q", got)
		}
		wantText(t, run(t, e, sid, "/model no/such"), "no/such")
		if frames := e.Frames().Of(sid).Kind("config_option_update"); len(frames) == 0 {
			t.Error("the client did not receive the options that the command has changed")
		}
	})
}

func TestClearCanBeUndone(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		mustPrompt(t, e, sid, "say hello")
		before := viewOf(t, e, sid)
		wantText(t, run(t, e, sid, "/clear"), "The working history is empty.")
		if got := viewOf(t, e, sid); got != "" {
			t.Errorf("the view is\n%s", got)
		}
		wantText(t, run(t, e, sid, "/undo"), "no turn to undo")
		wantText(t, run(t, e, sid, "/undo edit"), "undone")
		if got := viewOf(t, e, sid); got != before {
			t.Errorf("the view is\n%s", got)
		}
		wantText(t, run(t, e, sid, "/undo edit"), "Nothing is in force that could be undone.")
	})
}

func TestCompactShortensTheHistory(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		wantText(t, run(t, e, sid, "/compact prune"), "Nothing was compacted.")
		for i := range 12 {
			mustPrompt(t, e, sid, fmt.Sprintf("say %d %s", i, strings.Repeat("words of a long story ", 60)))
		}
		wantText(t, run(t, e, sid, "/compact prune"), "Compacted (prune): ")
		wantText(t, run(t, e, sid, "/compact nonsense"), "nonsense")
		if list := call[wire.EditPage](ts, e, "_strata/history/edits", sid, nil); len(list.Edits) == 0 {
			t.Error("there is no edit")
		}
	})
}

func TestCheckpointAndRestore(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		mustPrompt(t, e, sid, "say one")
		before := viewOf(t, e, sid)
		run(t, e, sid, "/checkpoint before the change")
		mustPrompt(t, e, sid, "say two")
		wantText(t, run(t, e, sid, "/restore"), "- before the change (")
		wantText(t, run(t, e, sid, "/restore nothing"), "Checkpoint nothing not found.")
		wantText(t, run(t, e, sid, "/restore before the change"), "is restored")
		if got := viewOf(t, e, sid); got != before {
			t.Errorf("the view is\n%s", got)
		}
	})
}

// Of checkpoints with the same name the newest is restored, and each can be by its id.
func TestRestoreFindsTheNewestCheckpointOfAName(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	always(ts, upstream.Script{Steps: upstream.Texts("yes")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	run(t, e, sid, "/checkpoint here")
	mustPrompt(t, e, sid, "one")
	run(t, e, sid, "/checkpoint here")
	mustPrompt(t, e, sid, "two")
	run(t, e, sid, "/restore here")
	if got := viewOf(t, e, sid); !strings.Contains(got, "one") || strings.Contains(got, "two") {
		t.Errorf("the view is\n%s", got)
	}
	var list struct{ Checkpoints []history.Checkpoint }
	if err := e.Call("_strata/checkpoint/list", map[string]any{"sessionId": sid}, &list); err != nil {
		t.Fatal(err)
	}
	run(t, e, sid, "/restore "+list.Checkpoints[0].ID)
	if got := viewOf(t, e, sid); got != "" {
		t.Errorf("the view is\n%s", got)
	}
}

func TestUndoShowsTheLastTurnBeforeItTakesItBack(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		mustPrompt(t, e, sid, "say one")
		one := viewOf(t, e, sid)
		mustPrompt(t, e, sid, "say two")
		two := viewOf(t, e, sid)
		wantText(t, run(t, e, sid, "/undo"), "This would be taken back:", "“say two” and the 1 messages after it", "`/undo now`")
		if got := viewOf(t, e, sid); got != two {
			t.Errorf("a preview made the view\n%s", got)
		}
		wantText(t, run(t, e, sid, "/undo now"), "Taken back:", "“say two”", "`/undo edit`")
		if got := viewOf(t, e, sid); got != one {
			t.Errorf("the view is\n%s", got)
		}
		wantText(t, run(t, e, sid, "/undo edit"), "undone")
		if got := viewOf(t, e, sid); got != two {
			t.Errorf("the view is\n%s", got)
		}
		run(t, e, sid, "/undo now")
		run(t, e, sid, "/undo now")
		wantText(t, run(t, e, sid, "/undo now"), "no turn to undo")
		if got := viewOf(t, e, sid); got != "" {
			t.Errorf("the view is\n%s", got)
		}
	})
}

// Messages without a turn that follow are taken back too, as the preview says.
func TestUndoFindsAPromptFarBack(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	always(ts, upstream.Script{Steps: upstream.Texts("yes")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	mustPrompt(t, e, sid, "the prompt")
	for range 5 {
		var all []any
		for i := range 60 {
			all = append(all, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": "appended"})
		}
		call[any](ts, e, "_strata/history/append", sid, map[string]any{"messages": all})
	}
	wantText(t, run(t, e, sid, "/undo now"), "“the prompt” and the 301 messages after it")
	if got := viewOf(t, e, sid); got != "" {
		t.Errorf("the view is\n%s", got)
	}
}

func TestRetryReplacesAReply(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		mustPrompt(t, e, sid, "say one")
		mustPrompt(t, e, sid, "say two")
		before := viewOf(t, e, sid)
		reply := mustPrompt(t, e, sid, "/retry")
		if got := viewOf(t, e, sid); got != before {
			t.Errorf("the view is\n%s\nwant\n%s", got, before)
		}
		if n := len(transcript(t, e, sid)); n != 6 {
			t.Errorf("%d messages are stored", n)
		}
		wantText(t, string(reply.Result), `"turnId":"turn_`)
		wantText(t, reply.Said(), "two")
	})
}

// A turn that failed goes on from the same message, which is not stored again.
func TestRetryOfAFailedTurnKeepsItsPrompt(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	always(ts, upstream.Script{Status: 400})
	if _, err := e.Prompt(sid, "hello"); err == nil {
		t.Fatal("the turn did not fail")
	}
	always(ts, upstream.Script{Steps: upstream.Texts("yes")})
	if reply := mustPrompt(t, e, sid, "/retry"); reply.Said() != "yes" {
		t.Errorf("it said %q", reply.Said())
	}
	if got, want := chatOf(transcript(t, e, sid)), "user complete \"hello\"\nassistant complete \"yes\"\n"; got != want {
		t.Errorf("stored:\n%s", got)
	}
}

// /retry with the id of a prompt that was sent before returns the stored result, and changes nothing.
func TestRetryThatIsSentAgainRunsOnce(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	always(ts, upstream.Script{Steps: upstream.Texts("yes")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	mustPrompt(t, e, sid, "hello")
	retry := []any{map[string]any{"type": "text", "text": "/retry"}}
	first, err := e.StartWith(sid, retry, "again").Wait()
	if err != nil {
		t.Fatal(err)
	}
	view := viewOf(t, e, sid)
	second, err := ts.editor().StartWith(sid, retry, "again").Wait()
	if err != nil || string(first.Result) != string(second.Result) {
		t.Errorf("the first result is %s, the second %s, error %v", first.Result, second.Result, err)
	}
	if got := viewOf(t, e, sid); got != view || len(transcript(t, e, sid)) != 4 {
		t.Errorf("the view is\n%s", got)
	}
}

// An operation that is sent again with its id shows its output again, and is not run again.
func TestACommandThatIsSentAgainRunsOnce(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	checkpoint := []any{map[string]any{"type": "text", "text": "/checkpoint here"}}
	for _, editor := range []*testclient.Editor{e, ts.editor()} {
		reply, err := editor.StartWith(sid, checkpoint, "once").Wait()
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, output(t, reply, "/checkpoint here"), "“here”")
	}
	run(t, e, sid, "/checkpoint there")
	if got := run(t, e, sid, "/restore"); strings.Count(got, "- here") != 1 || strings.Count(got, "- there") != 1 {
		t.Errorf("the checkpoints are %s", got)
	}
}

func TestCommandsAreRefusedWhileATurnRuns(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "first", " second"))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	turn := e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	for _, text := range []string{"/help", "/context", "/files", "/clear", "/retry", "/undo now", "/compact"} {
		_, err := e.Prompt(sid, text)
		wireFault(t, err, wire.CodeBusy)
	}
	close(gate)
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := len(transcript(t, e, sid)); n != 2 {
		t.Errorf("%d messages are stored", n)
	}
}

func TestPromptsThatOnlyLookLikeCommandsAreTurns(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		for _, text := range []string{"/files/app.log", "/unknown thing", "/Help", "Say /help", "/^a+$/"} {
			mustPrompt(t, e, sid, text)
			if got := transcript(t, e, sid); got[len(got)-2].PlainText() != text {
				t.Errorf("%q was stored as %q", text, got[len(got)-2].PlainText())
			}
		}
	})
}

func TestACommandOfAFileIsATurn(t *testing.T) {
	onOfflineModels(t, func(t *testing.T, ts *testServer) {
		ts.writeDeep(filepath.Join(ts.work, ".strata/commands/greet.md"), "---\ndescription: Greet somebody\n---\nsay Hello $ARGUMENTS!\n")
		e := ts.editor()
		sid := e.NewSession(ts.work)
		reply := mustPrompt(t, e, sid, "/greet you there")
		wantText(t, reply.Said(), "Hello you there!")
		if got := transcript(t, e, sid); got[0].PlainText() != "say Hello you there!" {
			t.Errorf("the prompt is %q", got[0].PlainText())
		}
		if got := info(ts, e, sid).Session.Title; got != "say Hello you there!" {
			t.Errorf("the title is %q", got)
		}
	})
}

func TestACommandOfAFileIsRefusedIfItIsTooLong(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.writeDeep(filepath.Join(ts.work, ".strata/commands/many.md"), strings.Repeat("$ARGUMENTS", 5000))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	_, err := e.Prompt(sid, "/many "+strings.Repeat("x", 1000))
	wireFault(t, err, -32602)
	if n := len(transcript(t, e, sid)); n != 0 {
		t.Errorf("%d messages are stored", n)
	}
}

// names returns the commands of the newest update of a session.
func commandNames(t *testing.T, e *testclient.Editor, sid string) (names []string) {
	t.Helper()
	updates := e.Frames().Of(sid).Kind(testclient.Commands)
	var params struct {
		Update wire.CommandsUpdate `json:"update"`
	}
	if err := json.Unmarshal(updates[len(updates)-1].Params, &params); err != nil {
		t.Fatal(err)
	}
	for _, c := range params.Update.Commands {
		names = append(names, c.Name)
	}
	return names
}

// expectCommands waits for the n-th update of the commands of a session and returns the names of those that are files.
func expectCommands(t *testing.T, e *testclient.Editor, sid string, n int) []string {
	t.Helper()
	e.Expect(testclient.SeesTimes(sid, testclient.Commands, n))
	names := commandNames(t, e, sid)
	if len(names) < 13 || names[0] != "compact" || names[12] != "help" {
		t.Fatalf("the commands are %q", names)
	}
	return names[13:]
}

// The list follows every answer that opens a session.
func TestTheCommandsFollowTheAnswerThatOpensASession(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.writeDeep(filepath.Join(ts.work, ".strata/commands/review.md"), "Review this")
	always(ts, upstream.Script{Steps: upstream.Texts("yes")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if got := expectCommands(t, e, sid, 1); !slices.Equal(got, []string{"review"}) {
		t.Errorf("the files are %q", got)
	}
	mustPrompt(t, e, sid, "hello")
	open := map[string]any{"sessionId": sid, "cwd": ts.work, "mcpServers": []any{}}
	for method, params := range map[string]map[string]any{
		"session/load": open, "session/resume": open, "session/fork": open,
		"_strata/session/attach": {"sessionId": sid}, "_strata/session/fork": {"sessionId": sid},
	} {
		t.Run(method, func(t *testing.T) {
			e := ts.editor()
			request := e.Go(method, params)
			result := struct {
				SessionID string `json:"sessionId"`
			}{sid}
			if err := request.Wait(&result); err != nil {
				t.Fatal(err)
			}
			expectCommands(t, e, result.SessionID, 1)
			answered := slices.IndexFunc(e.Frames(), func(f testclient.Frame) bool { return string(f.ID) == fmt.Sprint(request.ID) })
			if update := e.Frames().Kind(testclient.Commands)[0]; update.N < answered || update.Seq != 0 || update.Replay {
				t.Errorf("frame %d is the answer, and %d is %s", answered, update.N, update.Raw)
			}
		})
	}
}

// The list is sent again if it has changed when a prompt comes.
func TestChangedCommandsAreSentAgain(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	always(ts, upstream.Script{Steps: upstream.Texts("yes")})
	e := ts.editor()
	sid := e.NewSession(ts.work)
	expectCommands(t, e, sid, 1)
	mustPrompt(t, e, sid, "hello")
	path := filepath.Join(ts.work, ".strata/commands/review.md")
	ts.writeDeep(path, "Review this")
	mustPrompt(t, e, sid, "hello")
	if got := expectCommands(t, e, sid, 2); !slices.Equal(got, []string{"review"}) {
		t.Errorf("the files are %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	run(t, e, sid, "/help")
	if got := expectCommands(t, e, sid, 3); len(got) > 0 {
		t.Errorf("the files are %q", got)
	}
}

// syncLog is a log that several goroutines write to.
type syncLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *syncLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The user's commands are there in every workspace, whose own cannot replace them. The log names each file that is left out.
func TestAWorkspaceCannotShadowACommand(t *testing.T) {
	t.Parallel()
	user := filepath.Join(t.TempDir(), "commands")
	var log syncLog
	ts := startServer(t, func(o *Options) {
		o.CommandsDir, o.Own = user, []string{filepath.Dir(user)}
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	always(ts, upstream.Script{Steps: upstream.Texts("yes")})
	ts.writeDeep(filepath.Join(user, "review.md"), "The user's")
	for _, name := range []string{"review", "clear", "fix", "bad name"} {
		ts.writeDeep(filepath.Join(ts.work, ".strata/commands", name+".md"), "The workspace's")
	}
	if err := os.Symlink(filepath.Join(user, "review.md"), filepath.Join(ts.work, ".strata/commands/stolen.md")); err != nil {
		t.Skip(err)
	}
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if got := expectCommands(t, e, sid, 1); !slices.Equal(got, []string{"fix", "review"}) {
		t.Errorf("the files are %q", got)
	}
	mustPrompt(t, e, sid, "/review")
	mustPrompt(t, e, sid, "/stolen")
	if got := transcript(t, e, sid); got[0].PlainText() != "The user's" || got[2].PlainText() != "/stolen" {
		t.Errorf("stored:\n%s", chatOf(got))
	}
	wantText(t, run(t, e, sid, "/clear"), "empty")
	for _, name := range []string{"review", "clear", "bad name", "stolen"} {
		if got := strings.Count(log.String(), ".strata/commands/"+name+".md"); got != 1 {
			t.Errorf("the log names %s %d times:\n%s", name, got, log.String())
		}
	}
}

func TestACommandCanBeCancelled(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(e *testclient.Editor, sid string, turn *testclient.Turn) error{
		"session/cancel":   func(e *testclient.Editor, sid string, _ *testclient.Turn) error { return e.Cancel(sid) },
		"$/cancel_request": func(_ *testclient.Editor, _ string, turn *testclient.Turn) error { return turn.Cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts := startServer(t, func(o *Options) { o.Sessions.SummaryModel = "local/test" })
			always(ts, upstream.Script{Steps: upstream.Texts(strings.Repeat("words of a long story ", 100))})
			e, sid := attached(t, ts)
			for range 12 {
				mustPrompt(t, e, sid, "hello "+strings.Repeat("words of a long story ", 60))
			}
			gate := make(chan struct{})
			defer close(gate)
			always(ts, held(gate, "the summary", ""))
			turn := e.Start(sid, "/compact rolling")
			e.Expect(testclient.Sees(sid, "compaction_update"))
			if err := cancel(e, sid, turn); err != nil {
				t.Fatal(err)
			}
			reply, err := turn.Wait()
			if want := `{"stopReason":"cancelled","_meta":{"strata":{"command":"compact"}}}`; err != nil || string(reply.Result) != want {
				t.Errorf("the result is %s, error %v, want %s", reply.Result, err, want)
			}
			e.Expect(testclient.Condition{Name: "the end of the compaction", Met: func(fs testclient.Frames) bool {
				all := fs.Of(sid).Kind("compaction_update")
				return strings.Contains(string(all[len(all)-1].Params), `"status":"cancelled"`)
			}})
		})
	}
}

// A cancel right after a command that becomes a turn reaches the turn, wherever the command is.
func TestATurnOfACommandCanBeCancelled(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/retry", "/greet", "/unknown"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			ts := startServer(t)
			ts.writeDeep(filepath.Join(ts.work, ".strata/commands/greet.md"), "Greet")
			always(ts, upstream.Script{Steps: upstream.Texts("yes")})
			e := ts.editor()
			sid := e.NewSession(ts.work)
			mustPrompt(t, e, sid, "hello")
			gate := make(chan struct{})
			defer close(gate)
			always(ts, held(gate, "never", " ends"))
			for range 20 {
				turn := e.Start(sid, text)
				if err := e.Cancel(sid); err != nil {
					t.Fatal(err)
				}
				if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
					t.Fatalf("it ended as %s, error %v", reply.Result, err)
				}
			}
		})
	}
}

// The turn of a command goes on without the connection that has started it.
func TestATurnOfACommandOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.writeDeep(filepath.Join(ts.work, ".strata/commands/greet.md"), "Greet")
	gate := make(chan struct{})
	ts.upstream.Push(held(gate, "first", " second"))
	e, other := ts.editor(), ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := other.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	e.Start(sid, "/greet")
	other.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	e.Vanish()
	close(gate)
	other.Expect(testclient.Sees(sid, "turn_finished"))
	if got := lastReply(t, other, sid); got.PlainText() != "first second" || got.Status != history.StatusComplete {
		t.Errorf("the reply is %s %q", got.Status, got.PlainText())
	}
}

// Only the connection that runs a command receives its output.
func TestTheOutputIsForTheConnectionThatAsked(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, other := ts.editor(), ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := other.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	run(t, e, sid, "/rename Another title")
	other.Expect(testclient.Sees(sid, "session_info_update"))
	run(t, other, sid, "/files")
	if n := len(other.Frames().Of(sid).Kind(testclient.AgentChunk)); n != 1 {
		t.Errorf("the other connection has received %d messages", n)
	}
}

func TestACommandOfAnUnknownSessionFails(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	for _, text := range []string{"/help", "/retry", "/unknown"} {
		_, err := e.Prompt("sess_missing", text)
		wireFault(t, err, wire.CodeNotFound)
	}
}

// /undo takes back the files of the turn, too: all but those that somebody else has changed since.
func TestUndoTakesFilesBack(t *testing.T) {
	t.Parallel()
	ts, e, sid := startEditing(t)
	mustPrompt(t, e, sid, `call read_file {"path": "a.txt"}`)
	mustPrompt(t, e, sid, "call edit_file {\"path\": \"a.txt\", \"edits\": [{\"old_text\": \"one\", \"new_text\": \"two\"}]}\n"+
		`call write_file {"path": "b.txt", "content": "new\n"}`+"\n"+`call write_file {"path": "c.txt", "content": "new\n"}`)
	ts.write("c.txt", "mine\n")
	files := []string{"- `a.txt`: gets its content back\n", "- `b.txt`: is deleted\n", "- `c.txt`: stays, because somebody else has changed it since\n"}
	wantText(t, run(t, e, sid, "/undo"), append(files, "This would be taken back:")...)
	if ts.text(t, "a.txt") != "two\n" || ts.text(t, "b.txt") != "new\n" {
		t.Error("a preview has changed files")
	}
	wantText(t, run(t, e, sid, "/undo now"), append(files, "Taken back:", "What commands and the tools of frontends changed stays")...)
	if a, b, c := ts.text(t, "a.txt"), ts.text(t, "b.txt"), ts.text(t, "c.txt"); a != "one\n" || b != "none" || c != "mine\n" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
	wantText(t, run(t, e, sid, "/undo edit"), "undone", "a.txt`: gets its content back", "b.txt`: is there again")
	if a, b, c := ts.text(t, "a.txt"), ts.text(t, "b.txt"), ts.text(t, "c.txt"); a != "two\n" || b != "new\n" || c != "mine\n" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
}
