package session

import (
	"context"
	"fmt"
	"log/slog"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// ContextManager decides what a session's requests hold: the working history, the files, the system
// prompt, and how they fit the model's window. It belongs to the session's mailbox; requests are built
// from a snapshot of it in the turn's goroutine.
type ContextManager struct {
	deps    *Deps
	session string
	log     *history.Log
	files   *filecontext.FileContext
	roots   *filecontext.Roots
	counter *tokens.Counter
	totals  history.Totals

	rootsErr   error           // why roots is nil
	fileCounts *fileCounts     // shared with the session's goroutines
	dirty      map[string]bool // paths of files whose stored form is behind
}

// newContextManager takes over what was loaded. The error names stored files that cannot be read; the
// manager goes on without them.
func newContextManager(deps *Deps, loaded history.Loaded, model llm.Model) (*ContextManager, error) {
	m := &ContextManager{
		deps: deps, session: loaded.Session.ID, log: history.NewLog(loaded.Heads, loaded.Edits),
		totals: loaded.Totals, fileCounts: new(fileCounts), dirty: make(map[string]bool),
	}
	stored := make([]filecontext.StoredFile, len(loaded.Files))
	for i, f := range loaded.Files {
		stored[i] = filecontext.StoredFile(f)
	}
	var err error
	m.files, err = filecontext.Restore(stored)
	m.openRoots(loaded.Session)
	m.setModel(model)
	return m, err
}

// setModel makes the counts those of another model. Messages keep the count they were stored with.
func (m *ContextManager) setModel(model llm.Model) { m.counter = tokens.For(model.Encoding) }

// NextSeq returns the sequence number of the next message or edit.
func (m *ContextManager) NextSeq() int64 { return m.log.LastSeq() + 1 }

// LastSeq returns the newest sequence number, 0 for an empty session.
func (m *ContextManager) LastSeq() int64 { return m.log.LastSeq() }

// Transcript returns the heads of all messages; the slice must not be changed.
func (m *ContextManager) Transcript() []history.Head { return m.log.Transcript() }

// View returns the heads of the working history; the slice must not be changed.
func (m *ContextManager) View() []history.Head { return m.log.View() }

// InView reports whether the message with the sequence number is part of the working history.
func (m *ContextManager) InView(seq int64) bool { return m.log.InView(seq) }

// Tokens returns the tokens of the working history.
func (m *ContextManager) Tokens() int { return m.log.Tokens() }

// Totals returns the sums over the session's model calls.
func (m *ContextManager) Totals() history.Totals { return m.totals }

// append takes stored messages into the working history.
func (m *ContextManager) append(messages []history.Message) {
	for i := range messages {
		m.log.Append(messages[i].Head(contentBytes(messages[i].Blocks)))
	}
}

// apply takes a stored edit into the working history.
func (m *ContextManager) apply(edit history.Edit) { m.log.Apply(edit) }

// end takes a stored ending in.
func (m *ContextManager) end(e *ending) {
	m.append(e.change.Messages)
	m.count(e.change.Calls)
}

// count adds model calls to the totals.
func (m *ContextManager) count(calls []history.Call) {
	for _, c := range calls {
		m.totals.Calls++
		m.totals.Usage = m.totals.Usage.Add(c.Usage)
		m.totals.Cost += c.Cost
	}
}

// contentBytes is about the size of a message's stored content.
func contentBytes(blocks []history.Block) int {
	n := 0
	for i := range blocks {
		b := &blocks[i]
		n += 64 + len(b.Text) + len(b.Data)*4/3 + len(b.Args) + len(b.URI) + contentBytes(b.Content)
	}
	return n
}

// snapshot is what a request is built from: immutable, so that building can take its time.
type snapshot struct {
	deps    *Deps
	session string
	view    []history.Head
	files   []filecontext.Entry
	listing string // which files there are
	roots   *filecontext.Roots
	model   llm.Model
	thought llm.ThoughtLevel
	counter *tokens.Counter
	counts  *fileCounts
}

func (m *ContextManager) snapshot(model llm.Model, thought llm.ThoughtLevel) snapshot {
	return snapshot{
		deps: m.deps, session: m.session, view: m.log.View(), files: m.files.List(), roots: m.roots,
		listing: m.files.Listing(), model: model, thought: thought, counter: m.counter, counts: m.fileCounts,
	}
}

// reserve is how much of the window is kept for the answer: what the model can write, but at most a
// quarter, since some models can write nearly as much as they can read.
func reserve(m llm.Model) int { return min(m.MaxOutput, m.Window/4) }

// room is what the input may have, in tokens.
func (s *snapshot) room() int { return s.model.Window - reserve(s.model) }

// built is a request and what was found out while it was built.
type built struct {
	request    llm.Request
	counted    int // tokens, uncalibrated
	categories map[string]int
	refreshed  []filecontext.Change
	sent       []sentFile
	leftOut    []LeftOut
}

// sentFile is a file that a request holds.
type sentFile struct {
	path, hash string
	whole      bool
}

// The categories of a request's tokens in the usage log.
const (
	categorySystem  = "system"
	categoryFiles   = "files"
	categoryHistory = "history"
)

// build makes the request for the newest message of the snapshot: the system prompt, the files in the
// order of their paths, and as much of the working history as fits, newest first, in whole exchanges.
func (s *snapshot) build(ctx context.Context) (built, error) {
	b := built{categories: make(map[string]int)}
	b.request = llm.Request{
		Model: s.model.Name, MaxOutput: reserve(s.model), Thought: s.thought, Purpose: history.PurposeTurn,
	}
	b.add(categorySystem, llm.EntrySystem, s.deps.SystemPrompt, s.counter)
	if err := s.addFiles(ctx, &b); err != nil {
		return b, err
	}
	if err := s.addHistory(ctx, &b); err != nil {
		return b, err
	}
	s.deps.Log.Debug("request built", slog.String("session", s.session), slog.Int("tokens", b.counted), slog.Int("leftOut", len(b.leftOut)))
	return b, nil
}

// add appends a text that is no message.
func (b *built) add(category string, kind llm.EntryKind, text string, counter *tokens.Counter) {
	if text == "" {
		return
	}
	n := counter.Count(text)
	b.counted += n
	b.categories[category] += n
	b.request.Entries = append(b.request.Entries, llm.Entry{Kind: kind, Blocks: []history.Block{{Type: history.BlockText, Text: text}}})
}

// addHistory appends the newest exchanges that fit, and a marker where there are older ones.
func (s *snapshot) addHistory(ctx context.Context, b *built) error {
	kept := s.fit(s.room() - s.calibrated(b.counted))
	if omitted := len(s.view) - len(kept); omitted > 0 {
		b.add(categoryHistory, llm.EntryContext, fmt.Sprintf("[%d earlier messages omitted]", omitted), s.counter)
		b.leaveOut(s.view[:omitted])
	}
	seqs := make([]int64, len(kept))
	for i, h := range kept {
		seqs[i] = h.Seq
		b.counted += h.Tokens
		b.categories[categoryHistory] += h.Tokens
	}
	messages, err := s.deps.Store.Messages(ctx, s.session, seqs)
	if err != nil {
		return fmt.Errorf("read the history of session %s: %w: %w", s.session, ErrStorage, err)
	}
	for i := range messages {
		m := &messages[i]
		b.request.Entries = append(b.request.Entries, llm.Entry{Kind: llm.EntryMessage, Role: m.Role, Blocks: m.Blocks})
	}
	return nil
}

// fit returns the newest whole exchanges that have room, at least the newest one.
func (s *snapshot) fit(room int) []history.Head {
	from, used := len(s.view), 0
	for i := len(s.view) - 1; i >= 0; i-- {
		used += s.calibrated(s.view[i].Tokens)
		if used > room && from < len(s.view) {
			break
		}
		if s.view[i].Role == history.RoleUser || i == 0 {
			from = i
		}
	}
	return s.view[from:]
}

// leaveOut notes messages that the request does not hold: one line for all, since there can be thousands.
func (b *built) leaveOut(heads []history.Head) {
	sum := 0
	for _, h := range heads {
		sum += h.Tokens
	}
	b.leftOut = append(b.leftOut, LeftOut{Key: fmt.Sprintf("messages:%s..%s", heads[0].ID, heads[len(heads)-1].ID), Count: len(heads), Tokens: sum, Reason: reasonBudget})
}

// reasonBudget is why something that would fit no more is left out.
const reasonBudget = "over_budget"

// addFiles appends the files in their present form, in the order of their paths, as long as the newest
// exchange still fits behind them.
func (s *snapshot) addFiles(ctx context.Context, b *built) error {
	entries, err := s.refresh(ctx, b)
	if err != nil || len(entries) == 0 {
		return err
	}
	b.add(categoryFiles, llm.EntryContext, s.listing, s.counter)
	room := s.room() - s.calibrated(b.counted) - s.newestExchange()
	for _, e := range entries {
		if state, _ := e.Availability(); state != filecontext.Full && state != filecontext.Partial {
			continue
		}
		n := s.calibrated(s.counts.of(e, s.counter))
		if n > room {
			b.leftOut = append(b.leftOut, LeftOut{Key: "file:" + e.Path, Tokens: n, Reason: reasonBudget})
			continue
		}
		room -= n
		b.add(categoryFiles, llm.EntryContext, e.Render(), s.counter)
		b.sent = append(b.sent, sentFile{path: e.Path, hash: e.Hash, whole: e.State == filecontext.Full})
	}
	return nil
}

// refresh looks at the disk and returns the files as they are now.
func (s *snapshot) refresh(ctx context.Context, b *built) ([]filecontext.Entry, error) {
	if s.roots == nil || len(s.files) == 0 {
		return s.files, nil
	}
	changes, err := s.roots.Refresh(ctx, s.files)
	if err != nil {
		return nil, fmt.Errorf("look at the files of session %s: %w", s.session, err)
	}
	b.refreshed = changes
	changed := make(map[string]filecontext.Change, len(changes))
	for _, c := range changes {
		changed[c.Path] = c
	}
	var present []filecontext.Entry
	for _, e := range s.files {
		c, found := changed[e.Path]
		switch {
		case !found:
		case c.Kind == filecontext.Deleted || c.Kind == filecontext.Unreadable:
			b.leftOut = append(b.leftOut, LeftOut{Key: "file:" + e.Path, Reason: string(c.Kind)})
			continue
		default:
			e.Content, e.Problem = c.Content, ""
		}
		present = append(present, e)
	}
	return present, nil
}

// newestExchange returns the tokens of the newest user message and all behind it.
func (s *snapshot) newestExchange() int {
	sum := 0
	for i := len(s.view) - 1; i >= 0; i-- {
		sum += s.view[i].Tokens
		if s.view[i].Role == history.RoleUser {
			break
		}
	}
	return s.calibrated(sum)
}

// calibrated returns counted tokens as the model's provider would report them, as far as that was learned.
func (s *snapshot) calibrated(n int) int { return s.deps.Calibrations.Apply(s.model.Name, n) }

// admit reads what a prompt refers to, counts it and checks that it can fit at all.
func (s *snapshot) admit(ctx context.Context, blocks []history.Block) (admission, error) {
	a := s.resolve(ctx, blocks)
	a.message.Role, a.message.Status = history.RoleUser, history.StatusComplete
	a.message.Tokens = countBlocks(s.counter, a.message.Blocks)
	need := s.calibrated(a.message.Tokens + s.counter.Count(s.deps.SystemPrompt))
	if limit := s.room(); need > limit {
		return a, &BudgetError{Tokens: need, Limit: limit}
	}
	return a, nil
}
