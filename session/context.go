package session

import (
	"context"
	"errors"
	"fmt"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

// ContextManager decides what a session's requests hold: the working history, the files, the system
// prompt, and how they fit the model's window. It belongs to the session's mailbox; requests are built
// from a snapshot of it in the turn's goroutine.
type ContextManager struct {
	deps        *Deps
	session     string
	log         *history.Log
	files       *filecontext.FileContext
	documents   []history.Document   // by name; replaced, never changed
	checkpoints []history.Checkpoint // likewise, oldest first
	roots       *filecontext.Roots
	rootsErr    error // why roots is nil
	counter     *tokens.Counter
	totals      history.Totals
	layout      *layout
	facts       *facts
	differ      *differ
	gallery     *gallery
	editGen     int // edits that changed which messages the view holds, since the session was loaded
	profile     profile.Profile
	system      string          // the system prompt
	phase       string          // of the profile, whose documents are shown; empty: all
	dirty       map[string]bool // paths of files whose stored form is behind
	last        history.Call    // the newest call for an answer whose usage was reported
	reported    reported        // likewise
	drift       float64         // how far its reported input was above our count; at least 1
}

// newContextManager takes over what was loaded. The errors name what of it cannot be used; the manager
// goes on without.
func newContextManager(deps *Deps, rules Rules, loaded history.Loaded, model llm.Model) (*ContextManager, error) {
	m := &ContextManager{
		deps: deps, session: loaded.Session.ID, log: history.NewLog(loaded.Heads, loaded.Edits), documents: loaded.Documents, checkpoints: loaded.Checkpoints,
		totals: loaded.Totals, facts: new(facts), differ: new(differ), gallery: new(gallery), dirty: make(map[string]bool), drift: 1, system: rules.SystemPrompt,
	}
	var broken, unusable error
	m.files, broken = filecontext.Restore(storedFiles(loaded.Files))
	m.layout, unusable = newLayout(rules.Stability, loaded.Layout, func(cache string) *stability.Mirror { return deps.Mirrors.of(cache, deps.Now()) })
	m.openRoots(loaded.Session)
	m.setModel(model)
	return m, errors.Join(broken, unusable)
}

func storedFiles(files []history.File) []filecontext.StoredFile {
	stored := make([]filecontext.StoredFile, len(files))
	for i, f := range files {
		stored[i] = filecontext.StoredFile(f)
	}
	return stored
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
func (m *ContextManager) View() []history.Viewed { return m.log.View() }

// Fates returns what the working history does to the messages with these sequence numbers, and what stands in it for
// those that were compacted.
func (m *ContextManager) Fates(seqs []int64) ([]history.Visibility, history.Summary) {
	return m.log.Visibility(seqs), m.log.Summary()
}

// Tokens returns the tokens of the working history.
func (m *ContextManager) Tokens() int { return m.log.Tokens() }

// Totals returns the sums over the session's model calls.
func (m *ContextManager) Totals() history.Totals { return m.totals }

// append takes stored messages into the working history.
func (m *ContextManager) append(messages []history.Message) {
	for i := range messages {
		m.gallery.add(&messages[i])
		m.log.Append(messages[i].Head(contentBytes(messages[i].Blocks)))
	}
}

// apply takes a stored edit into the working history.
func (m *ContextManager) apply(edit history.Edit) {
	m.log.Apply(edit)
	if edit.Kind != history.EditDedupe {
		m.editGen++
	}
}

// end takes a stored ending in.
func (m *ContextManager) end(e *ending) {
	m.append(e.change.Messages)
	m.count(e.change.Calls)
	if e.spent.reported {
		m.report(e.spent.usage)
	}
}

// count adds model calls to the totals. The newest that answered a prompt is what is shown as the last one.
func (m *ContextManager) count(calls []history.Call) {
	for _, c := range calls {
		if c.Purpose == history.PurposeTurn || c.Purpose == history.PurposeFrontend {
			m.last = c
		}
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

// snapshot returns what the next request is built from.
func (m *ContextManager) snapshot(model llm.Model, thought llm.ThoughtLevel) snapshot {
	var first *history.Head
	if h, ok := m.log.First(); ok {
		first = &h
	}
	p := m.profile
	var phase *profile.Phase
	if current, ok := p.Phase(m.phase); ok {
		phase = &current
	}
	return snapshot{
		profile: &p, first: first, exchanges: m.log.Exchanges(),
		deps: m.deps, session: m.session, view: m.log.View(), summary: m.log.Summary(), omitted: m.log.Omitted(), shed: m.log.Shed(), cuts: m.log.Documents(),
		files:     m.files.List(),
		documents: m.phaseDocuments(), all: m.documents, phase: phase, rulesFile: m.deps.RulesFile, system: m.system, roots: m.roots,
		model: model, thought: thought, counter: m.counter, facts: m.facts, differ: m.differ, gallery: m.gallery, layout: m.layout, drift: m.drift,
	}
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
		case !found && e.Problem != "":
			b.leftOut = append(b.leftOut, LeftOut{Key: "file:" + e.Path, Reason: string(filecontext.Unreadable)})
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

// admit reads what a prompt refers to, counts it and checks that it can fit at all.
func (s *snapshot) admit(ctx context.Context, blocks []history.Block) (admission, error) {
	a := s.resolve(ctx, blocks)
	if err := checkMessage(a.message.Blocks, &s.model); err != nil {
		return a, fmt.Errorf("%w: message: %w", ErrInvalid, err)
	}
	a.message.Role, a.message.Status = history.RoleUser, history.StatusComplete
	a.message.Tokens = countBlocks(s.counter, a.message.Blocks)
	need := s.calibrated(a.message.Tokens + s.counter.Count(s.system))
	if limit := s.room(); need > limit {
		return a, &BudgetError{Tokens: need, Limit: limit}
	}
	return a, nil
}
