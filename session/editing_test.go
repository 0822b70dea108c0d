package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/filecontext"
	"strata/history"
	"strata/llm/reply"
	"strata/session/changing"
	"strata/session/clients"
	"strata/session/filechanges"
	"strata/session/tools"
	"strata/session/workspace"
)

// approver is a client whose user a test is.
type approver struct {
	reader
	asks chan question
}

type question struct {
	clients.Permission
	answer chan clients.Answer
}

func (p *approver) Can(c clients.Capability) bool { return c == clients.Permissions }

func (p *approver) RequestPermission(ctx context.Context, asked clients.Permission, _ uint64) (clients.Answer, error) {
	q := question{asked, make(chan clients.Answer, 1)}
	p.asks <- q
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		return clients.Answer{}, ctx.Err()
	}
}

// choose selects the option of a kind.
func (q question) choose(t *testing.T, kind, words string) {
	t.Helper()
	for _, o := range q.Options {
		if o.Kind == kind {
			q.answer <- clients.Answer{OptionID: o.ID, Words: words}
			return
		}
	}
	t.Fatalf("there is no option %s in %+v", kind, q.Options)
}

// editing returns a session with the approval, and its user.
func editing(t *testing.T, mode string, change ...func(*Deps)) (*acted, *approver) {
	t.Helper()
	a := acting(t, append(change, func(d *Deps) { d.Tools.ApprovalTimeout = time.Hour })...)
	user := &approver{asks: make(chan question, 1)}
	a.Join(user)
	a.set(mode)
	return a, user
}

// set chooses the approval.
func (a *acted) set(mode string) {
	a.t.Helper()
	if _, err := answerOf(func(reply func(Configured, error)) { a.Configure("approval", mode, nil, reply) }); err != nil {
		a.t.Error(err)
	}
}

// file returns a file of the session's folder, "none" if there is none.
func (a *acted) file(name string) string {
	data, err := os.ReadFile(filepath.Join(a.folder, name))
	if err != nil {
		return "none"
	}
	return string(data)
}

// results returns the texts of the results in the newest message of tools.
func (a *acted) results() (texts []string) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	for seq := int64(len(a.store.messages)); seq > 0; seq-- {
		if m := a.store.messages[seq]; m.Role == history.RoleTool {
			for _, b := range m.Blocks {
				texts = append(texts, b.Content[0].Text)
			}
			return texts
		}
	}
	return nil
}

// fileChanges returns what was stored of file changes, in the order of the commits: the kind, the base name and the state, and
// whether the message of results is in the same commit.
func (a *acted) fileChanges() (stored []string) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	for _, ch := range a.store.changes {
		for _, c := range ch.PutFileChanges {
			line := fmt.Sprintf("%s %s %s", c.Kind, filepath.Base(c.Path), c.State)
			if len(ch.Messages) > 0 {
				line += " with its result"
			}
			stored = append(stored, line)
			if err := c.Check(); err != nil {
				a.t.Error(err)
			}
		}
	}
	return stored
}

const editA = `edit_file{"path":"a.go","edits":[{"old_text":"func Alpha() {}","new_text":"func Alpha() int { return 1 }"}]}`

func wants(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// An edit is asked about with its diff, and made once it is allowed. What undoes it is stored before, and its state with the
// result. The next edit of the same lines needs no read.
func TestAnEditIsAskedAboutAndMade(t *testing.T) {
	a, user := editing(t, "ask")
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
	a.asked().act(reply.StopToolUse, callsOf(2, editA)...)
	q := <-user.asks
	if d := q.Call.Diffs; len(d) != 1 || len(d[0].Hunks) != 1 || !strings.Contains(d[0].Hunks[0].New, "return 1") || !filepath.IsAbs(d[0].Path) {
		t.Errorf("asked with the diffs %+v", d)
	}
	if got := a.file("a.go"); strings.Contains(got, "return 1") || len(a.fileChanges()) > 0 {
		t.Errorf("before the answer the file is %q, and stored is %q", got, a.fileChanges())
	}
	q.choose(t, "allow_always", "")
	next := a.asked()
	if got := a.file("a.go"); got != "package a\n\nfunc Alpha() int { return 1 }\n" {
		t.Errorf("the file is %q", got)
	}
	wants(t, "stored", a.fileChanges(), "edit a.go planned", "edit a.go done with its result")
	next.act(reply.StopToolUse, callsOf(3, `edit_file{"path":"a.go","edits":[{"old_text":"return 1","new_text":"return 2"}]}`,
		`edit_file{"path":"a.go","edits":[{"old_text":"return 2","new_text":"return 3"}]}`)...)
	a.asked().end("done")
	<-result
	if got := a.file("a.go"); !strings.Contains(got, "return 3") {
		t.Errorf("after edits of one message the file is %q: %q", got, a.results())
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	planned := a.store.changes[slices.IndexFunc(a.store.changes, func(ch history.Change) bool { return len(ch.PutFileChanges) > 0 })]
	c := planned.PutFileChanges[0]
	if len(planned.FileImages) != 2 || string(planned.FileImages[0].Bytes) != "package a\n\nfunc Alpha() {}\n" || planned.FileImages[1].Hash != c.After || c.Mode != 0o600 {
		t.Errorf("the planned change is %+v with %d images", c, len(planned.FileImages))
	}
	if m := a.store.messages[c.Seq]; c.Step != 2 || c.Call != "tc_2" || m.Blocks[0].CallID != "tc_2" {
		t.Errorf("the change %+v belongs to the message %+v", c, m)
	}
	r := a.store.messages[c.Seq+1].Blocks[0]
	if len(r.Call.Diffs) != 1 || r.Call.Locations[0].Line != 1 {
		t.Errorf("the result is shown as %+v", r.Call)
	}
}

// A rejected call changes nothing, and the model is told the user's words.
func TestARejectedEditChangesNothing(t *testing.T) {
	a, user := editing(t, "ask")
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `delete_file{"path":"b.go"}`, `move_file{"from":"a.go","to":"x/c.go"}`)...)
	(<-user.asks).choose(t, "reject_once", "keep it, it is used")
	(<-user.asks).choose(t, "allow_once", "")
	a.asked().end("done")
	<-result
	if a.file("b.go") == "none" || a.file("a.go") != "none" || a.file("x/c.go") == "none" {
		t.Error("the wrong file was changed")
	}
	wants(t, "stored", a.fileChanges(), "move a.go planned", "move a.go done with its result")
	got := a.transcript()
	if !strings.Contains(got[2], "The user says: keep it, it is used") {
		t.Errorf("the transcript is %q", got)
	}
}

// Nobody is asked about a change that is not possible: the model is told what to read.
func TestAnUnseenEditIsNotAskedAbout(t *testing.T) {
	a, _ := editing(t, "ask")
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, editA, `read_file{"path":"a.go"}`)...)
	a.asked().end("done")
	<-result
	if got := a.results()[0]; !strings.Contains(got, "Read them first with read_file and start_line 3") {
		t.Errorf("the result is %q", got)
	}
	wants(t, "stored", a.fileChanges())
}

// Lines that a read of the same message shows were not seen when the model wrote its edit.
func TestAReadOfTheSameMessageDoesNotCount(t *testing.T) {
	a, _ := editing(t, "edits")
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`, editA)...)
	a.asked().end("done")
	<-result
	if got := a.file("a.go"); strings.Contains(got, "return 1") {
		t.Errorf("the file is %q", got)
	}
}

// A file of the user counts as shown once a request holds all of it.
func TestAFileOfTheUserCanBeEdited(t *testing.T) {
	a, _ := editing(t, "edits")
	if _, err := answerOf(func(reply func(workspace.FileInfo, error)) {
		a.Workspace().AddFile(workspace.FileRequest{Path: "a.go"}, reply)
	}); err != nil {
		t.Fatal(err)
	}
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, editA)...)
	a.asked().end("done")
	<-result
	if got := a.file("a.go"); !strings.Contains(got, "return 1") {
		t.Errorf("the file is %q: %q", got, a.results())
	}
}

// A file that somebody changes while the user is asked is not changed.
func TestAFileThatChangesWhileItIsAskedAbout(t *testing.T) {
	for name, disturb := range map[string]func(a *acted){
		"content": func(a *acted) { a.write("a.go", "package a\n\nfunc Alpha() {} // mine\n") },
		"swapped for a link": func(a *acted) {
			os.Rename(filepath.Join(a.folder, "a.go"), filepath.Join(a.folder, "c.go"))
			os.Symlink("b.go", filepath.Join(a.folder, "a.go"))
		},
		"deleted": func(a *acted) { os.Remove(filepath.Join(a.folder, "a.go")) },
	} {
		t.Run(name, func(t *testing.T) {
			a, user := editing(t, "ask")
			result := a.prompt("go", nil)
			a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
			a.asked().act(reply.StopToolUse, callsOf(2, editA)...)
			q := <-user.asks
			disturb(a)
			before := a.file("a.go") + a.file("b.go")
			q.choose(t, "allow_once", "")
			a.asked().end("done")
			<-result
			if got := a.results()[0]; a.file("a.go")+a.file("b.go") != before || !strings.Contains(got, "has changed") {
				t.Errorf("the result is %q, the file %q", got, a.file("a.go"))
			}
			wants(t, "stored", a.fileChanges(), "edit a.go planned", "edit a.go not_done with its result")
		})
	}
}

// The approval edits lets changes go ahead, but for paths that others run or trust; read-only refuses all.
func TestApprovalOfChanges(t *testing.T) {
	a, user := editing(t, "edits")
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `write_file{"path":"new.txt","content":"x\n"}`, `write_file{"path":".vscode/tasks.json","content":"{}"}`,
		`write_file{"path":".git/config","content":"[core]"}`)...)
	for range 2 {
		q := <-user.asks
		for _, o := range q.Options {
			if o.Kind == "allow_always" {
				t.Errorf("a protected path can be allowed for always: %+v", q.Options)
			}
		}
		q.choose(t, "reject_once", "")
	}
	a.asked().end("done")
	<-result
	if a.file("new.txt") != "x\n" || a.file(".vscode/tasks.json") != "none" || a.file(".git/config") != "none" {
		t.Error("the wrong file was written")
	}
	a.Configure("approval", "read-only", nil, func(Configured, error) {})
	result = a.prompt("again", nil)
	a.asked().act(reply.StopToolUse, callsOf(4, `write_file{"path":"other.txt","content":"x\n"}`)...)
	a.asked().end("done")
	<-result
	if a.file("other.txt") != "none" || !strings.Contains(a.results()[0], "read-only") {
		t.Errorf("the result is %q", a.results())
	}
}

// A turn that is cancelled while it asks changes nothing, and neither does one whose store fails before the change.
func TestAnEditThatDoesNotBegin(t *testing.T) {
	failing := &failsOn{is: func(ch *history.Change) bool { return len(ch.PutFileChanges) > 0 && len(ch.Messages) == 0 }}
	for name, end := range map[string]func(a *acted, q question){
		"cancelled": func(a *acted, _ question) { a.Cancel("") },
		"not stored": func(_ *acted, q question) {
			failing.armed = true
			q.choose(t, "allow_once", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, user := editing(t, "ask", func(d *Deps) {
				failing.lockedStore, failing.armed = d.Store.(*lockedStore), false
				d.Store = failing
			})
			result := a.prompt("go", nil)
			a.asked().act(reply.StopToolUse, callsOf(1, `write_file{"path":"new.txt","content":"x\n"}`)...)
			end(a, <-user.asks)
			<-result
			if a.file("new.txt") != "none" {
				t.Error("the file was written")
			}
			wants(t, "stored", a.fileChanges())
			if got := a.transcript(); len(got) < 3 || !strings.HasPrefix(got[2], "tool result of tc_1 (") {
				t.Errorf("the transcript is %q", got)
			}
		})
	}
}

// failsOn is a store in which a change cannot be stored.
type failsOn struct {
	*lockedStore
	is    func(*history.Change) bool
	armed bool
}

func (s *failsOn) Commit(ctx context.Context, ch history.Change) error {
	if s.armed && s.is(&ch) {
		return errors.New("no space left")
	}
	return s.lockedStore.Commit(ctx, ch)
}

// A change whose result was lost is settled by what the file has now, and the model is told.
func TestALostChangeIsSettledByItsFile(t *testing.T) {
	for name, tt := range map[string]struct {
		now, want string
		state     history.FileChangeState
	}{
		"made":     {"new\n", tools.LostMade.String(), history.FileChangeDone},
		"not made": {"old\n", tools.LostNotMade.String(), history.FileChangeNotDone},
		"unknown":  {"other\n", tools.Lost.String(), history.FileChangeUnknown},
		"no plan":  {"old\n", tools.LostNotMade.String(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := acting(t)
			a.told()
			a.write("a.go", "old\n")
			a.diesWith(nil, history.Message{Role: history.RoleAssistant, Blocks: callsOf(1, `read_file{}`, editA)},
				history.Message{Role: history.RoleTool, Blocks: []history.Block{{Type: history.BlockToolResult, CallID: "tc_1", Content: []history.Block{text("seen")}}}})
			p, err := preparedEdit(a, "old\n", "new\n")
			if err != nil {
				t.Fatal(err)
			}
			a.write("a.go", tt.now)
			var want []string
			if tt.state != "" {
				a.store.loaded.Planned = []history.FileChange{p}
				want = []string{"edit a.go " + string(tt.state) + " with its result"}
			}
			a.Session = closedLater(t, Open(a.deps, a.ID(), nil))
			a.told()
			a.wantTranscript("user go", "assistant call read_file call edit_file", "tool result of tc_1", "tool result of tc_2 ("+tt.want+")")
			wants(t, "stored", a.fileChanges(), want...)
		})
	}
}

// preparedEdit returns the planned record of an edit of a.go.
func preparedEdit(a *acted, before, after string) (history.FileChange, error) {
	roots := a.workspace.Roots()
	set, err := tools.NewSet(changingOf(roots)...)
	if err != nil {
		return history.FileChange{}, err
	}
	c, err := set.Check("edit_file", fmt.Sprintf(`{"path":"a.go","edits":[{"old_text":%q,"new_text":%q}]}`, before, after))
	if err != nil {
		return history.FileChange{}, err
	}
	p, err := c.Prepare(context.Background(), tools.MaxResult)
	if err != nil || p.Refusal != nil {
		return history.FileChange{}, fmt.Errorf("not prepared: %v, %+v", err, p)
	}
	var stored history.Change
	return filechanges.Put(&stored, filechanges.Place{ID: "fc_1", Turn: "turn_1", Step: 1, Call: "tc_2", Seq: 2, At: time.Now()}, &p.Change), nil
}

// all is what was shown to a model that has seen everything.
type all struct{}

func (all) Covers(string, string, history.Lines) bool { return true }

func changingOf(roots *filecontext.Roots) []tools.Tool {
	return changing.Tools(changing.DiskWriter{Roots: roots}, all{})
}
