package crash

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/internal/binary"
	"strata/internal/failpoint"
	"strata/internal/testclient"
	"strata/rpc"
)

// Failpoints that are hit often are tested several times, because the work in progress differs.
var furtherHits = map[string][]int{
	"commit.before": {2, 3, 4, 6, 8, 11, 14}, "commit.after": {2, 3, 4, 6, 8, 11, 14},
	"begin.before": {2}, "begin.after": {2}, "end.before": {2}, "end.after": {2},
	"show.before": {2}, "show.after": {2},
	"partial.before": {2, 3}, "partial.after": {2, 3},
	rpc.ReplyBefore: {2, 3, 4, 5, 6, 7, 8, 10, 12}, rpc.ReplyAfter: {2, 3, 4, 5, 6, 7, 8, 10, 12},
}

// After a crash at a failpoint, everything reported as stored exists exactly once, and the server continues to work.
func TestDeathAtEveryFailpoint(t *testing.T) {
	t.Parallel()
	for _, point := range append(slices.Clone(historystore.Failpoints), rpc.ReplyBefore, rpc.ReplyAfter) {
		if strings.HasPrefix(point, "step.") || strings.HasPrefix(point, "filechange.") {
			continue // see TestDeathAtEveryFailpointOfAStep and TestDeathAroundChangesOfFiles
		}
		if strings.HasPrefix(point, "purge.") || strings.HasPrefix(point, "compaction.") {
			continue // see TestDeathWhilePurging and TestDeathAroundEditsOfTheView
		}
		hits := furtherHits[point]
		if !strings.HasPrefix(point, "commit.") { // the first commit is of a start's purge
			hits = append([]int{1}, hits...)
		}
		for _, n := range hits {
			spec := fmt.Sprintf("%s:%d", point, n)
			t.Run(spec, func(t *testing.T) {
				t.Parallel()
				liveAndDie(t, spec)
			})
		}
	}
}

func liveAndDie(t *testing.T, spec string) {
	l := &life{world: newWorld(t, "", armed(spec)), told: make(map[string]string)}
	died := l.live()
	if !died {
		t.Fatalf("%s is never reached", spec)
	}
	l.Wait()
	l.Restart(binary.Options{})
	l.inspect()
}

func armed(spec string) binary.Options {
	return binary.Options{Env: []string{failpoint.Env + "=" + spec}}
}

// life is the actions of one user, and the server's reports until it dies.
type life struct {
	*world
	editor *testclient.Editor
	viewer *viewer

	main, other, imported, forked string            // session ids, once known
	asks                          []*ask            // that were sent
	told                          map[string]string // messages of the main session reported as stored
	done                          []string          // completed steps
}

// steps reach every failpoint of a running server.
var steps = []struct {
	name string
	do   func(*life) error
}{
	{"connect", (*life).connect},
	{"new", func(l *life) error { return l.create(&l.main) }},
	{"attach", func(l *life) error {
		l.viewer = newViewer(l.t, l.main)
		return l.viewer.tryAttach(l.world)
	}},
	{"outlines", (*life).index},
	{"first prompt", (*life).prompt},
	{"append", (*life).append},
	{"search", (*life).search},
	{"rename", func(l *life) error {
		return l.call("_strata/session/rename", l.main, map[string]any{"title": newTitle})
	}},
	{"clear", func(l *life) error { return l.call("_strata/history/clear", l.main, nil) }},
	{"second prompt", (*life).prompt},
	{"other", func(l *life) error { return l.create(&l.other) }},
	{"delete", func(l *life) error { return l.call("session/delete", l.other, nil) }},
	{"undelete", func(l *life) error { return l.call("_strata/session/undelete", l.other, nil) }},
	{"import", (*life).importSession},
	{"fork", (*life).fork},
}

// index waits until the index of the session's folder is complete, and stored.
func (l *life) index() error {
	for {
		var found struct{ Index struct{ Complete bool } }
		err := l.editor.Call("_strata/outline/search", map[string]any{"sessionId": l.main, "query": "main"}, &found)
		if err != nil || found.Index.Complete {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

const newTitle = "A title by the user"

// live runs the steps until the server dies.
func (l *life) live() (died bool) {
	l.t.Helper()
	for _, step := range steps {
		err := step.do(l)
		switch {
		case fault(err) != nil:
			l.t.Fatalf("%s: %v", step.name, err)
		case err != nil:
			return true
		}
		l.done = append(l.done, step.name)
	}
	return false
}

func (l *life) has(step string) bool { return slices.Contains(l.done, step) }

func (l *life) connect() (err error) {
	l.editor, err = l.world.connect()
	return err
}

func (l *life) create(id *string) error {
	var result struct{ SessionID string }
	err := l.editor.Call("session/new", map[string]any{"cwd": l.Home.Project, "mcpServers": []any{}}, &result)
	*id = result.SessionID
	return err
}

func (l *life) call(method, session string, params map[string]any) error {
	all := map[string]any{"sessionId": session}
	for name, value := range params {
		all[name] = value
	}
	return l.editor.Call(method, all, nil)
}

// prompt requests a story that is long enough to be saved in chunks, by size and by time. The story ends when everything
// except its last part is saved, however long that takes.
func (l *life) prompt() error {
	a := &ask{session: l.main, name: fmt.Sprintf("p%d", len(l.asks)+1), parts: 120, gap: 4 * time.Millisecond}
	l.asks = append(l.asks, a)
	goOn := l.teller.hold(a)
	turn := a.send(l.editor)
	l.savedUpTo(a)
	goOn()
	reply, err := turn.Wait()
	if err != nil {
		return err
	}
	l.told[answerOf(l.t, reply).MessageID] = a.story()
	l.told[answerOf(l.t, reply).UserMessageID] = a.text()
	return nil
}

// savedUpTo waits until a story that is held is saved up to there, or the server has died.
func (l *life) savedUpTo(a *ask) {
	l.t.Helper()
	db := open(l.t, l.Database, "ro")
	defer db.Close()
	eventually(l.t, "the beginning of a story, on the disk", func() bool {
		select {
		case <-l.editor.Done():
			return true
		default:
			return saidOnDisk(l.t, db, a.session) == a.held()
		}
	})
}

var appended = []string{"What is this?", "An exchange that a frontend had."}

func (l *life) append() error {
	var result struct{ MessageIDs []string }
	err := l.editor.Call("_strata/history/append", map[string]any{"sessionId": l.main, "messages": []any{
		map[string]any{"role": "user", "content": appended[0]}, map[string]any{"role": "assistant", "content": appended[1]},
	}}, &result)
	for i, id := range result.MessageIDs {
		l.told[id] = appended[i]
	}
	return err
}

// search waits until the text of the appended exchange is found.
func (l *life) search() error {
	for {
		var result struct {
			Hits   []struct{ MessageID string }
			Behind int
		}
		err := l.editor.Call("_strata/history/search", map[string]any{"query": appended[1], "role": "assistant"}, &result)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(result.Hits, func(hit struct{ MessageID string }) bool { return l.told[hit.MessageID] == appended[1] }):
			return nil
		case result.Behind == 0:
			l.t.Fatal("a stored message is not found")
		}
		time.Sleep(time.Millisecond)
	}
}

// importedMessages is the number of messages of the imported session, more than fit one transaction.
const importedMessages = 600

func (l *life) importSession() error {
	lines := []any{map[string]any{"type": "header", "header": map[string]any{
		"format": "strata-session", "version": 1, "session": history.Session{CWD: l.Home.Project, Title: "Imported"},
	}}}
	for i := range importedMessages {
		lines = append(lines, map[string]any{"type": "message", "message": history.Message{
			ID: fmt.Sprintf("msg_%d", i), Seq: int64(i + 1), Role: history.RoleUser, Status: history.StatusComplete,
			Blocks: []history.Block{{Type: history.BlockText, Text: fmt.Sprintf("imported %d", i)}},
		}})
	}
	var first, last struct{ ImportID, SessionID string }
	if err := l.editor.Call("_strata/session/import", map[string]any{"lines": lines[:300]}, &first); err != nil {
		return err
	}
	err := l.editor.Call("_strata/session/import", map[string]any{"importId": first.ImportID, "lines": lines[300:], "done": true}, &last)
	l.imported = last.SessionID
	return err
}

func (l *life) fork() error {
	var result struct{ SessionID string }
	err := l.editor.Call("_strata/session/fork", map[string]any{"sessionId": l.main}, &result)
	l.forked = result.SessionID
	return err
}

// answer is Strata's extension of the response to a prompt.
type answer struct{ TurnID, UserMessageID, MessageID string }

func answerOf(t testing.TB, reply testclient.Reply) answer {
	t.Helper()
	var result struct {
		Meta struct{ Strata answer } `json:"_meta"`
	}
	decode(t, reply.Result, &result)
	return result.Meta.Strata
}

// inspect checks the state after a restart.
func (l *life) inspect() {
	l.t.Helper()
	l.editor = l.world.editor()
	titles := l.list()
	l.inspectOthers(titles)
	if l.main == "" {
		l.inspectUnnamed(titles)
		return
	}
	if _, there := titles[l.main]; !there {
		l.t.Fatalf("session %s is missing", l.main)
	}
	if l.has("rename") && titles[l.main] != newTitle {
		l.t.Errorf("title %q", titles[l.main])
	}
	if l.viewer == nil {
		l.viewer = newViewer(l.t, l.main)
	}
	l.viewer.attach(l.world)
	transcript := l.audit(l.editor, l.main)[l.main]
	kept(l.t, transcript, l.told)
	if l.has("append") {
		if err := l.search(); err != nil {
			l.t.Error(err)
		}
	}
	l.inspectAppended(transcript)
	l.inspectView()
	for _, a := range l.asks {
		l.again(l.editor, a)
	}
	l.tell(l.editor, &ask{session: l.main, name: "afterwards", parts: 3})
	l.viewer.catchUp(l.editor)
	l.viewer.compare(l.audit(l.editor, l.main))
}

// list returns the titles of all sessions by id.
func (w *world) sessions(e *testclient.Editor) map[string]string {
	w.t.Helper()
	var result struct {
		Sessions []struct{ SessionID, Title string }
	}
	if err := e.Call("session/list", map[string]any{}, &result); err != nil {
		w.t.Fatal(err)
	}
	titles := make(map[string]string)
	for _, s := range result.Sessions {
		titles[s.SessionID] = s.Title
	}
	return titles
}

func (l *life) list() map[string]string { return l.world.sessions(l.editor) }

// inspectUnnamed checks a session whose id no client received: it may exist, and must then be valid.
func (l *life) inspectUnnamed(titles map[string]string) {
	l.t.Helper()
	for session := range titles {
		l.tell(l.editor, &ask{session: session, name: "first", parts: 3})
		l.audit(l.editor, session)
	}
	if err := l.create(&l.main); err != nil {
		l.t.Fatal(err)
	}
	l.tell(l.editor, &ask{session: l.main, name: "new", parts: 3})
}

// inspectOthers checks the session that is deleted and undeleted, and the imported one.
func (l *life) inspectOthers(titles map[string]string) {
	l.t.Helper()
	_, there := titles[l.other]
	switch {
	case l.other == "":
	case l.has("undelete") && !there:
		l.t.Error("an undeleted session is missing")
	case l.has("delete") && !l.has("undelete") && there && !l.trying("undelete"):
		l.t.Error("a deleted session exists")
	case !l.has("delete") && !there && !l.trying("delete"):
		l.t.Error("a session is missing")
	}
	if _, there := titles[l.imported]; l.has("import") && !there {
		l.t.Error("an imported session is missing")
	}
	if _, there := titles[l.forked]; l.has("fork") && !there {
		l.t.Error("a fork is missing")
	}
	for session, title := range titles {
		if title == newTitle && session != l.main {
			l.inspectFork(session)
		}
		if title != "Imported" {
			continue
		}
		if got := len(listed(l.t, l.editor, session)); got != importedMessages {
			l.t.Errorf("%d messages of an import are shown, want %d", got, importedMessages)
		}
	}
}

// inspectFork checks that a visible fork is complete.
func (l *life) inspectFork(session string) {
	l.t.Helper()
	source, fork := listed(l.t, l.editor, l.main), listed(l.t, l.editor, session)
	same := slices.EqualFunc(source, fork, func(a, b message) bool { return a.Seq == b.Seq && a.Text == b.Text && a.Status == b.Status })
	if !same {
		l.t.Errorf("the fork has %v, its source %v", fork, source)
	}
}

// trying reports whether the server died during a step.
func (l *life) trying(step string) bool {
	i := slices.IndexFunc(steps, func(s struct {
		name string
		do   func(*life) error
	}) bool {
		return s.name == step
	})
	return len(l.done) == i
}

// inspectAppended checks that both messages of an exchange exist, or none.
func (l *life) inspectAppended(transcript []message) {
	l.t.Helper()
	n := 0
	for _, m := range transcript {
		if slices.Contains(appended, m.Text) {
			n++
		}
	}
	if n != 0 && n != len(appended) {
		l.t.Errorf("%d of %d appended messages are there", n, len(appended))
	}
}

// inspectView checks that the view contains only messages added after a clear.
func (l *life) inspectView() {
	l.t.Helper()
	if !l.has("clear") || l.has("second prompt") || l.trying("second prompt") {
		return
	}
	var info struct{ InView int }
	if err := l.editor.Call("_strata/session/info", map[string]any{"sessionId": l.main}, &info); err != nil {
		l.t.Fatal(err)
	}
	if info.InView != 0 {
		l.t.Errorf("%d messages are in the view after a clear", info.InView)
	}
}

// again repeats a prompt whose result the client may not know. If the prompt was stored, the response is its stored
// result and the model is not asked again.
func (w *world) again(e *testclient.Editor, a *ask) {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	if _, found := turnOf(w.t, db, a); !found {
		a.lost++
	}
	reply, err := a.send(e).Wait()
	if err != nil && (fault(err) == nil || fault(err).Code != codeProvider) {
		w.t.Fatalf("%s, sent again: %v", a.name, err)
	}
	if ended := w.judge(db, onDisk(w.t, db, a.session), a); (ended == "completed") != (err == nil) {
		w.t.Errorf("%s, sent again, ended with %v, and is stored as %s", a.name, err, ended)
	}
	if err == nil && reply.StopReason != "end_turn" {
		w.t.Errorf("%s, sent again, ended with %q", a.name, reply.StopReason)
	}
}

// judge compares an ended turn, which was reported or will be repeated, to the story. It returns the turn's status, "" for
// a prompt that is not stored. The provider is called while a prompt is being stored: a server that dies in between has
// called it for nothing, and told nobody.
func (w *world) judge(db *sql.DB, transcript []message, a *ask) string {
	w.t.Helper()
	turn, found := turnOf(w.t, db, a)
	if !found {
		a.lost++
		return ""
	}
	times, most := w.teller.times(a), 1+a.lost
	if m, _ := find(transcript, turn.user); m.Text != a.text() {
		w.t.Errorf("the prompt of %s is stored as %s", a.name, m)
	}
	m, answered := find(transcript, turn.reply)
	switch {
	case turn.status == "completed" && 1 <= times && times <= most && m.Status == string(history.StatusComplete) && m.Text == a.story():
	case turn.status == "interrupted" && times <= most && !answered:
	case turn.status == "interrupted" && times <= most && m.Status == string(history.StatusInterrupted) && strings.HasPrefix(a.story(), m.Text):
	default:
		w.t.Errorf("%s is %s, its reply is stored as %s; %d requests to the provider, %d times it was not stored", a.name, turn.status, m, times, a.lost)
	}
	return turn.status
}

// The same holds for a server that dies while it recovers a turn of a crashed one.
func TestDeathWhileSettling(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"end.before:1", "end.after:1"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "", armed("partial.after:2"))
			e := w.editor()
			a := &ask{session: e.NewSession(w.Home.Project), name: "cut", parts: 500, gap: 2 * time.Millisecond, stop: 499}
			if _, err := a.send(e).Wait(); err == nil {
				t.Fatal("the server is still running")
			}
			w.Wait()

			w.Restart(armed(spec))
			if _, err := a.send(w.editor()).Wait(); err == nil {
				t.Fatal("the server is still running")
			}
			w.Wait()

			w.Restart(binary.Options{})
			e = w.editor()
			w.again(e, a)
			w.tell(e, &ask{session: a.session, name: "afterwards", parts: 3})
			transcript := w.audit(e, a.session)[a.session]
			if len(transcript) != 4 || transcript[1].Status != "interrupted" || transcript[1].Text == "" {
				t.Errorf("transcript %v", transcript)
			}
		})
	}
}

// A purge interrupted by a crash is continued at the next start.
func TestDeathWhilePurging(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"purge.before:1", "purge.after:1", "purge.before:2", "purge.after:2"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "", binary.Options{})
			e := w.editor()
			kept, gone := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
			w.tell(e, &ask{session: kept, name: "kept", parts: 3})
			w.tell(e, &ask{session: gone, name: "gone", parts: 3})
			if err := e.Call("session/delete", map[string]any{"sessionId": gone}, nil); err != nil {
				t.Fatal(err)
			}
			w.Stop()
			change(t, w.Database, "UPDATE session SET deleted_at = ? WHERE id = ?", time.Now().AddDate(0, -1, 0).UnixMicro(), gone)

			out, err := w.serve(armed(spec))
			if err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("strata serve at %s: %v\n%s", spec, err, out)
			}
			w.Restart(binary.Options{})
			db := open(t, w.Database, "ro")
			eventually(t, "the end of the purge", func() bool {
				return len(rows(t, db, "SELECT id FROM session WHERE id = ?", gone)) == 0
			})
			if left := rows(t, db, "SELECT id FROM message WHERE session = ?", gone); len(left) > 0 {
				t.Errorf("a purged session still has messages: %q", left)
			}
			e = w.editor()
			w.tell(e, &ask{session: kept, name: "afterwards", parts: 3})
			w.audit(e, kept)
		})
	}
}
