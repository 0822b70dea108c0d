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
)

// fakeStore keeps what one session stores, in memory.
type fakeStore struct {
	messages  map[int64]history.Message
	edits     []history.Edit
	files     map[string]history.File
	documents []history.Document
	blobs     map[string][]byte
	layout    []byte
}

func (s *fakeStore) Load(context.Context, string) (history.Loaded, error) {
	return history.Loaded{}, history.ErrNotFound
}

func (s *fakeStore) TurnByPrompt(context.Context, string, string) (history.Turn, error) {
	return history.Turn{}, history.ErrNotFound
}

func (s *fakeStore) Commit(_ context.Context, ch history.Change) error {
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
		s.layout = ch.Layout
	}
	return nil
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

// managed is a ContextManager with what a Session does for it, without goroutines, a provider or a clock.
type managed struct {
	*ContextManager
	t      testing.TB
	store  *fakeStore
	model  llm.Model
	folder string
	nextID int
}

const testWindow = 4000

// manage returns a manager of a session in an empty folder, whose model has the window.
func manage(t testing.TB, window int) *managed {
	m := &managed{
		t: t, folder: t.TempDir(), model: llm.Model{Name: "local/test", Window: window, MaxOutput: window / 4},
		store: &fakeStore{messages: map[int64]history.Message{}, files: map[string]history.File{}, blobs: map[string][]byte{}},
	}
	deps := &Deps{
		Store: m.store, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(0, 0) },
		NewID:        func(prefix string) string { m.nextID++; return fmt.Sprintf("%s%d", prefix, m.nextID) },
		Calibrations: NewCalibrations(nil), Mirrors: NewMirrors(), Settings: Settings{RulesFile: true, Rules: Rules{SystemPrompt: "Be brief."}},
	}
	m.load(deps)
	return m
}

// load makes a manager of what is stored.
func (m *managed) load(deps *Deps) {
	loaded := history.Loaded{
		Session: history.Session{ID: "sess_1", CWD: m.folder}, Edits: m.store.edits, Documents: m.store.documents, Layout: m.store.layout,
	}
	for _, seq := range slices.Sorted(maps.Keys(m.store.messages)) {
		message := m.store.messages[seq]
		loaded.Heads = append(loaded.Heads, message.Head(contentBytes(message.Blocks)))
	}
	for _, path := range slices.Sorted(maps.Keys(m.store.files)) {
		loaded.Files = append(loaded.Files, m.store.files[path])
	}
	var err error
	if m.ContextManager, err = newContextManager(deps, deps.Rules, loaded, m.model); err != nil {
		m.t.Fatal(err)
	}
}

// restarted returns another manager of the same session.
func (m *managed) restarted() *managed {
	again := *m
	again.load(m.deps)
	return &again
}

// say appends a message.
func (m *managed) say(role history.Role, blocks ...history.Block) history.Message {
	message := history.Message{ID: m.deps.NewID("msg_"), Seq: m.NextSeq(), Role: role, Blocks: blocks, Tokens: countBlocks(m.counter, blocks)}
	m.store.messages[message.Seq] = message
	m.append([]history.Message{message})
	return message
}

func text(words string) history.Block { return history.Block{Type: history.BlockText, Text: words} }

// ask appends a user's message, and answer one of the model.
func (m *managed) ask(words string) history.Message { return m.say(history.RoleUser, text(words)) }

func (m *managed) answer(words string) history.Message {
	return m.say(history.RoleAssistant, text(words))
}

// call appends a batch of a tool call and its result.
func (m *managed) call(result string) {
	id := m.deps.NewID("call_")
	m.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: id, Name: "run", Args: "{}"})
	m.say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{text(result)}})
}

// write puts a file on the disk.
func (m *managed) write(name, content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.folder, name), []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// add writes a file and takes it in.
func (m *managed) add(name, content string) {
	m.t.Helper()
	m.write(name, content)
	a, err := read(m.t.Context(), m.roots, nil, FileRequest{Path: name})
	if err == nil {
		_, err = m.files.Put(a.content, a.options)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.dirty[name] = true
}

// document sets a document.
func (m *managed) document(name, words string, pinned bool) {
	m.t.Helper()
	d, err := m.newDocument(DocumentRequest{Name: name, Text: words, Pinned: &pinned})
	if err != nil {
		m.t.Fatal(err)
	}
	d.At = time.UnixMicro(int64(m.nextID))
	m.nextID++
	m.putDocument(d)
	m.store.documents = m.documents
}

// build builds the next request without taking it over.
func (m *managed) build() (snapshot, built) {
	m.t.Helper()
	snap := m.snapshot(m.model, llm.ThoughtOff)
	b, err := snap.build(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return snap, b
}

// request builds the next request, stores what it sheds, and takes it for answered.
func (m *managed) request() (snapshot, built) {
	m.t.Helper()
	snap, b := m.build()
	m.files.Apply(b.refreshed)
	m.hide(&b)
	change := history.Change{Edits: b.fitting.edits()}
	for i := range change.Edits {
		e := &change.Edits[i]
		e.ID, e.Seq = m.deps.NewID("edit_"), m.NextSeq()
		m.apply(*e)
	}
	m.requestAnswered(&b, &change)
	for _, f := range b.sent {
		m.files.MarkSent(f.path, f.hash, f.whole)
		m.dirty[f.path] = true
	}
	change.PutFiles, change.DropFiles = m.takeDirty()
	if err := m.store.Commit(m.t.Context(), change); err != nil {
		m.t.Fatal(err)
	}
	return snap, b
}

// wordsOf returns a text of n tokens.
func wordsOf(n int) string { return strings.Repeat(" word", n) }

// linesOf returns n lines of a file of 8 tokens each, every one of them different.
func linesOf(name string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%s %05d = value\n", name, i)
	}
	return out.String()
}

// sentText returns all text of a request.
func sentText(b *built) string {
	var out strings.Builder
	for _, e := range b.request.Entries {
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

// keysOf returns the keys of what was left out.
func keysOf(left []LeftOut) []string {
	var keys []string
	for _, l := range left {
		keys = append(keys, l.Key)
	}
	return keys
}

func stateOf(t testing.TB, m *managed, path string) filecontext.State {
	t.Helper()
	e, in := m.files.Get(path)
	if !in {
		t.Fatalf("%s is not in", path)
	}
	return e.State
}
