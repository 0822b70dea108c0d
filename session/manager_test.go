package session

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/content"
	"strata/session/current"
	"strata/session/documents"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/session/outlines"
	"strata/session/profile"
	"strata/session/workspace"
	"strata/tokens"
)

// fakeStore stores the data of one session in memory.
type fakeStore struct {
	messages  map[int64]history.Message
	edits     []history.Edit
	files     map[string]history.File
	documents []history.Document
	blobs     map[string][]byte
	layout    history.Layout
	changes   []history.Change // as they were committed
	loaded    history.Loaded   // zero: there is no session
}

func (s *fakeStore) Load(context.Context, string) (history.Loaded, error) {
	if s.loaded.Session.ID == "" {
		return history.Loaded{}, history.ErrNotFound
	}
	return s.loaded, nil
}

func (s *fakeStore) TurnByPrompt(context.Context, string, string) (history.Turn, error) {
	return history.Turn{}, history.ErrNotFound
}

func (s *fakeStore) NewestTurns(context.Context, string, []history.Message) (map[string]history.Turn, error) {
	return nil, nil
}

func (s *fakeStore) Commit(_ context.Context, ch history.Change) error {
	s.changes = append(s.changes, ch)
	for _, m := range ch.Messages {
		s.messages[m.Seq] = m
	}
	s.edits = append(s.edits, ch.Edits...)
	for _, f := range ch.PutFiles {
		s.files[f.Path] = f
	}
	for _, path := range ch.DropFiles {
		delete(s.files, path)
	}
	for _, b := range ch.Blobs {
		s.blobs[b.Hash] = b.Bytes
	}
	if ch.Layout != nil {
		s.layout = changed(s.layout, ch.Layout)
	}
	return nil
}

// changed returns a stored layout after a change.
func changed(l history.Layout, c *history.LayoutChange) history.Layout {
	rows := make([][]byte, c.Len)
	copy(rows, l.Rows)
	for _, row := range c.Rows {
		rows[row.N] = row.Bytes
	}
	return history.Layout{Head: c.Head, Rows: rows}
}

func (s *fakeStore) Messages(_ context.Context, _ string, seqs []int64) ([]history.Message, error) {
	messages := make([]history.Message, len(seqs))
	for i, seq := range seqs {
		messages[i] = s.messages[seq]
	}
	return messages, nil
}

func (s *fakeStore) Blobs(_ context.Context, hashes []string) (map[string][]byte, error) {
	found := make(map[string][]byte)
	for _, h := range hashes {
		if b, ok := s.blobs[h]; ok {
			found[h] = b
		}
	}
	return found, nil
}

// managed is a ContextManager that does the work of a Session for it, without goroutines, provider or clock.
type managed struct {
	*ContextManager
	deps      *Deps
	workspace *workspace.Workspace
	c         *choices.Choices
	t         testing.TB
	store     *fakeStore
	model     llm.Model
	folder    string
	nextID    int
}

const testWindow = 4000

// manage returns a manager of a session in an empty folder; its model has the given window.
func manage(t testing.TB, window int) *managed {
	m := &managed{
		t: t, folder: t.TempDir(), model: llm.Model{Name: "local/test", Window: window, MaxOutput: window / 4},
		store: &fakeStore{messages: map[int64]history.Message{}, files: map[string]history.File{}, blobs: map[string][]byte{}},
	}
	deps := &Deps{
		Store: m.store, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(0, 0) },
		NewID:        func(prefix string) string { m.nextID++; return fmt.Sprintf("%s%d", prefix, m.nextID) },
		Calibrations: assembly.NewCalibrations(nil), Mirrors: assembly.NewMirrors(), Settings: Settings{RulesFile: true, Rules: choices.Rules{SystemPrompt: "Be brief."}},
	}
	m.load(deps)
	return m
}

// load creates a manager from the stored data.
func (m *managed) load(deps *Deps) {
	loaded := history.Loaded{
		Session: history.Session{ID: "sess_1", CWD: m.folder}, Edits: m.store.edits, Documents: m.store.documents, Layout: m.store.layout,
	}
	for _, seq := range slices.Sorted(maps.Keys(m.store.messages)) {
		message := m.store.messages[seq]
		loaded.Heads = append(loaded.Heads, message.Head(content.Bytes(message.Blocks)))
	}
	for _, path := range slices.Sorted(maps.Keys(m.store.files)) {
		loaded.Files = append(loaded.Files, m.store.files[path])
	}
	allowed := func(context.Context, string) error { return nil }
	m.deps = deps
	m.c = choices.New(context.Background(), &choices.Services{
		Rules: &deps.Rules, Model: func(string) (llm.Model, bool) { return m.model, true }, Allowed: allowed,
	}, loaded.Session)
	stream := events.New("sess_1", "epoch", m.store, func(context.Context) (events.Standing, error) { return events.Standing{}, nil })
	files := workspace.New(quietHost{}, nil, stream)
	if err := files.Restore(loaded.Files); err != nil {
		m.t.Fatal(err)
	}
	m.workspace = files
	files.Use(workspace.OpenFolders(context.Background(), m.folder, nil, deps.Files, allowed), nil)
	shared := deps.current()
	shared.Now = func() time.Time { return deps.Now() } // tests change it
	var err error
	if m.ContextManager, err = current.New(shared, &deps.Rules, loaded, files); err != nil {
		m.t.Fatal(err)
	}
}

// quietHost is the host of a workspace without requests.
type quietHost struct{}

func (quietHost) Store(string, history.Change, func()) mailbox.Work { return nil }
func (quietHost) Counter() *tokens.Counter                          { return tokens.For("") }
func (quietHost) Used()                                             {}
func (quietHost) Outlined() []outlines.Shown                        { return nil }

func (quietHost) Shown() workspace.Shown { return nil }

// restarted returns another manager of the same session.
func (m *managed) restarted() *managed {
	again := *m
	again.load(m.deps)
	return &again
}

func (m *managed) counter() *tokens.Counter { return tokens.For(m.model.Encoding) }

// snapshot returns the state for the next request to a model.
func (m *managed) snapshot(model llm.Model) assembly.State {
	m.c.Model = model
	state := m.State(m.c)
	state.System = "Be brief."
	return state
}

// file returns a file of the session.
func (m *managed) file(path string) (filecontext.Entry, bool) {
	for _, e := range m.workspace.List() {
		if e.Path == path {
			return e, true
		}
	}
	return filecontext.Entry{}, false
}

// say appends a message.
func (m *managed) say(role history.Role, blocks ...history.Block) history.Message {
	message := history.Message{ID: m.deps.NewID("msg_"), Seq: m.NextSeq(), Role: role, Blocks: blocks, Tokens: content.Tokens(context.Background(), m.counter(), blocks)}
	m.store.messages[message.Seq] = message
	m.Append([]history.Message{message})
	return message
}

func text(words string) history.Block { return history.Block{Type: history.BlockText, Text: words} }

// ask appends a user message, answer a reply.
func (m *managed) ask(words string) history.Message { return m.say(history.RoleUser, text(words)) }

func (m *managed) answer(words string) history.Message {
	return m.say(history.RoleAssistant, text(words))
}

// call appends a tool call and its result.
func (m *managed) call(result string) {
	id := m.deps.NewID("call_")
	m.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: id, Name: "run", Args: "{}"})
	m.say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{text(result)}})
}

// write writes a file to disk.
func (m *managed) write(name, content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.folder, name), []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// add writes a file and adds it to the session.
func (m *managed) add(name, content string) {
	m.t.Helper()
	m.write(name, content)
	m.attach(workspace.FileRequest{Path: name})
}

// attach adds a file to the session.
func (m *managed) attach(req workspace.FileRequest) {
	m.t.Helper()
	a, err := workspace.Read(m.t.Context(), m.workspace.Roots(), nil, req)
	if err != nil {
		m.t.Fatal(err)
	}
	stored, files, omitted, err := m.workspace.Try([]workspace.Attachment{a})
	if omitted = append(omitted, m.workspace.Attach(files)...); len(omitted) > 0 || err != nil {
		m.t.Fatal(omitted, err)
	}
	for _, f := range stored {
		m.store.files[f.Path] = f
	}
}

// document sets a document.
func (m *managed) document(name, words string, pinned bool) {
	m.t.Helper()
	m.setDocument(documents.Request{Name: name, Text: words, Pinned: &pinned})
}

func (m *managed) setDocument(req documents.Request) {
	m.t.Helper()
	d, err := documents.New(req, m.Documents)
	if err != nil {
		m.t.Fatal(err)
	}
	d.At = time.UnixMicro(int64(m.nextID))
	m.nextID++
	m.Documents = documents.With(m.Documents, d)
	m.store.documents = m.Documents
}

// build builds the next request without storing it.
func (m *managed) build(tools ...llm.Tool) (assembly.State, assembly.Built) {
	m.t.Helper()
	state := m.snapshot(m.model)
	state.Tools = tools
	b, err := state.Build(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return state, b
}

// request builds the next request, stores its evictions, and commits it with a reply.
func (m *managed) request() (assembly.State, assembly.Built) {
	m.t.Helper()
	state, b := m.build()
	m.workspace.Refreshed(b.Refreshed)
	m.workspace.Hide(b.Changes.Files)
	change := history.Change{Edits: b.Changes.Edits()}
	for i := range change.Edits {
		e := &change.Edits[i]
		e.ID, e.Seq = m.deps.NewID("edit_"), m.NextSeq()
		m.Apply(*e)
	}
	if err := m.Answered(&b, &change); err != nil {
		m.t.Fatal(err)
	}
	m.workspace.TakeDirty(&change)
	if err := m.store.Commit(m.t.Context(), change); err != nil {
		m.t.Fatal(err)
	}
	return state, b
}

// wordsOf returns a text of n tokens.
func wordsOf(n int) string { return strings.Repeat(" word", n) }

// linesOf returns n different lines of a file, of 8 tokens each.
func linesOf(name string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%s %05d = value\n", name, i)
	}
	return out.String()
}

// sentText returns all text of a request.
func sentText(b *assembly.Built) string {
	var out strings.Builder
	for _, e := range b.Request.Entries {
		for _, block := range e.Blocks {
			out.WriteString(textOf(block) + "\n")
		}
	}
	return out.String()
}

func textOf(b history.Block) string {
	out := b.Text
	for _, part := range b.Content {
		out += part.Text
	}
	return out
}

// keysOf returns the keys of omitted items.
func keysOf(left []fit.Omitted) []string {
	var keys []string
	for _, l := range left {
		keys = append(keys, l.Key)
	}
	return keys
}

func stateOf(t testing.TB, m *managed, path string) filecontext.State {
	t.Helper()
	e, in := m.file(path)
	if !in {
		t.Fatalf("%s is not in", path)
	}
	return e.State
}

// profileNamed returns an embedded profile.
func profileNamed(t testing.TB, name string) profile.Profile {
	t.Helper()
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	return all[name]
}
