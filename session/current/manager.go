// Package current is what a session's requests are made of now: its ContextManager.
//
// It must never store anything: it adopts what was stored.
package current

import (
	"log/slog"
	"slices"
	"time"

	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/content"
	"strata/session/documents"
	"strata/session/profile"
	"strata/session/reads"
	"strata/session/workspace"
	"strata/stability"
	"strata/tokens"
)

// Deps are what the managers of a server share.
type Deps struct {
	Store        assembly.Store
	Calibrations *assembly.Calibrations
	Mirrors      *assembly.Mirrors
	Beginnings   *assembly.Beginnings // nil: what is kept of requests has no limit
	RulesFile    bool                 // AGENTS.md, or CLAUDE.md, of the workspace's folders becomes documents
	Log          *slog.Logger
	Now          func() time.Time
}

// Manager is the state that a session's requests are made of: the working history, the documents, the files, the
// layout, and what was learned of the provider's counts. It belongs to the session's mailbox; requests are built from a
// State of it on other goroutines.
type Manager struct {
	deps        *Deps
	session     string
	workspace   *workspace.Workspace
	Log         *history.Log
	Documents   []history.Document   // by name; replaced, never changed
	Checkpoints []history.Checkpoint // likewise, oldest first
	totals      history.Totals
	Layout      *assembly.Layout
	Tools       []llm.Tool // that the model may call, by name; set when a turn begins
	Withdrawn   []string   // names of those that are no longer there
	Guide       string     // to them, a part of the system prompt
	diffs       *assembly.Diffs
	Pictures    *content.Gallery
	Reads       *reads.Reads
	beginning   *assembly.Beginning
	Generation  int          // edits that changed which messages the view has, since the session was loaded
	Last        history.Call // the newest complete call for a reply, or one whose provider told of its cache
	reported    reported     // likewise
	Drift       float64      // reported input of that call divided by our count; at least 1
}

// reported is what a provider told of the newest call: how large the request and its reply were together.
type reported struct {
	tokens     int // as the provider counts them; 0 if it told nothing
	history    int // counted tokens of the working history at that time, the reply included
	generation int // of the view at that time
}

// New restores what was loaded. The error says why a layout cannot be used; the manager goes on without.
func New(deps *Deps, rules *choices.Rules, loaded history.Loaded, files *workspace.Workspace) (*Manager, error) {
	m := &Manager{
		deps: deps, session: loaded.Session.ID, workspace: files, Log: history.NewLog(loaded.Heads, loaded.Edits),
		Documents: loaded.Documents, Checkpoints: loaded.Checkpoints, totals: loaded.Totals,
		diffs: new(assembly.Diffs), Pictures: new(content.Gallery), Reads: new(reads.Reads), beginning: deps.Beginnings.New(), Drift: 1,
	}
	var err error
	m.Layout, err = assembly.NewLayout(rules.Stability, loaded.Layout, func(cache string) *stability.Mirror { return deps.Mirrors.Of(cache, deps.Now()) })
	return m, err
}

// NextSeq returns the sequence number of the next message or edit.
func (m *Manager) NextSeq() int64 { return m.Log.LastSeq() + 1 }

// LastSeq returns the newest sequence number, 0 for an empty session.
func (m *Manager) LastSeq() int64 { return m.Log.LastSeq() }

// Transcript returns the heads of all messages; the slice must not be changed.
func (m *Manager) Transcript() []history.Head { return m.Log.Transcript() }

// View returns the heads of the working history; the slice must not be changed.
func (m *Manager) View() []history.Viewed { return m.Log.View() }

// Fates returns the visibility of the messages with these sequence numbers in the working history, and the summary that
// replaces the compacted ones.
func (m *Manager) Fates(seqs []int64) ([]history.Visibility, history.Summary) {
	return m.Log.Visibility(seqs), m.Log.Summary()
}

// Tokens returns the counted tokens of the working history.
func (m *Manager) Tokens() int { return m.Log.Tokens() }

// Totals returns the sums over the session's model calls.
func (m *Manager) Totals() history.Totals { return m.totals }

// Append adds stored messages to the working history.
func (m *Manager) Append(messages []history.Message) {
	for i := range messages {
		m.Pictures.Add(&messages[i])
		m.Reads.Add(&messages[i])
		m.Log.Append(messages[i].Head(content.Bytes(messages[i].Blocks)))
	}
}

// Apply applies a stored edit to the working history.
func (m *Manager) Apply(edit history.Edit) {
	m.Log.Apply(edit)
	if edit.Kind != history.EditDedupe && edit.Kind != history.EditUnanswered {
		m.Generation++
	}
}

// Extend adds stored messages, and edits that follow them, to the working history.
func (m *Manager) Extend(messages []history.Message, edits []history.Edit) {
	m.Append(messages)
	for _, edit := range edits {
		m.Apply(edit)
	}
}

// Count adds model calls to the totals. The newest call that answered a prompt is shown as the last one.
func (m *Manager) Count(calls []history.Call) {
	for _, c := range calls {
		if (c.Purpose == history.PurposeTurn || c.Purpose == history.PurposeFrontend) && c.TellsCache() {
			m.Last = c
		}
		m.totals.Calls++
		m.totals.Usage = m.totals.Usage.Add(c.Usage)
		m.totals.Cost += c.Cost
	}
}

// Report notes the usage of a call whose reply is part of the view, as its provider told it.
func (m *Manager) Report(u history.Usage) {
	m.reported = reported{tokens: u.Context() + u.Output, history: m.Tokens(), generation: m.Generation}
}

// Reported returns how large the newest request and its reply were together, as the provider told; 0 if it told nothing.
func (m *Manager) Reported() int { return m.reported.tokens }

// Measure converts between our counts and those of a model's provider.
func (m *Manager) Measure(model llm.Model) assembly.Measure {
	return assembly.Measure{Model: model, Calibrations: m.deps.Calibrations, Drift: m.Drift}
}

// beside returns the counted tokens of a request other than the working history: by the provider's report of the newest
// call, or by our count of it if the view was edited since.
func (m *Manager) beside(measure *assembly.Measure) int {
	if r := m.reported; r.tokens > 0 && r.generation == m.Generation {
		return measure.Capacity(r.tokens) - r.history
	}
	return m.Layout.Beside()
}

// State returns what the next request is made of.
func (m *Manager) State(c *choices.Choices) assembly.State {
	var first *history.Head
	if h, ok := m.Log.First(); ok {
		first = &h
	}
	p := c.Profile
	var phase *profile.Phase
	if current, ok := p.Phase(c.Phase); ok {
		phase = &current
	}
	measure := m.Measure(c.Model)
	return assembly.State{
		Session: m.session, Store: m.deps.Store, Log: m.deps.Log, Now: m.deps.Now,
		Measure: measure, Mirrors: m.deps.Mirrors, Layout: m.Layout, Cache: m.workspace.Cache(), Diffs: m.diffs, Pictures: m.Pictures,
		Reads: m.Reads, Beginning: m.beginning, Counter: tokens.For(c.Model.Encoding),
		View: m.Log.View(), Summary: m.Log.Summary(), Omitted: m.Log.Omitted(), Evicted: m.Log.Shed(), Truncated: m.Log.Documents(),
		First: first, Exchanges: m.Log.Exchanges(), HistoryTokens: m.Log.Tokens(), Beside: m.beside(&measure),
		Files: m.workspace.List(), Roots: m.workspace.Roots(), Outlines: m.workspace.Outlines(), RulesFile: m.deps.RulesFile,
		Documents: documents.Shown(m.Documents, &p, c.Phase), AllDocuments: m.Documents,
		System: c.SystemPrompt(), Guide: m.Guide, Tools: m.Tools, Withdrawn: m.Withdrawn, Profile: &p, Phase: phase, Thought: c.Thought(),
	}
}

// Expect returns the State with a message that is not stored yet, and the log that contains it; m stays as it is.
func (m *Manager) Expect(c *choices.Choices, message *history.Message) (assembly.State, *history.Log) {
	after := *m
	after.Log = m.Log.With(message.Head(content.Bytes(message.Blocks)))
	m.Pictures.Add(message)
	state := after.State(c)
	state.Store = assembly.Expecting(state.Store, message)
	return state, after.Log
}

// Copy returns a copy of m with a history of its own, for a request that is never sent. It belongs to the mailbox like m, and must
// not be told of replies.
func (m *Manager) Copy() *Manager {
	c := *m
	c.Log = m.Log.Copy()
	return &c
}

// Renewed returns a state of a running turn with the view, the files and the counts as they are now. The user's choices since
// the turn began take effect with the next turn.
func (m *Manager) Renewed(old *assembly.State, model llm.Model, c *choices.Choices) assembly.State {
	now := m.State(c)
	now.Measure = m.Measure(model)
	now.Profile, now.Phase, now.System, now.Counter, now.Thought = old.Profile, old.Phase, old.System, old.Counter, old.Thought
	now.Documents, now.AllDocuments, now.Tools, now.Withdrawn, now.Guide = old.Documents, old.AllDocuments, old.Tools, old.Withdrawn, old.Guide
	return now
}

// MaxDrift limits how far a provider's count can be above ours before it is taken for an error.
const MaxDrift = 2

// Learn compares the provider's count of a request's input with ours, for the model's calibration, and for this session's
// next request if the calibration is still below the provider's count. A partial report teaches nothing.
func (m *Manager) Learn(model string, counted, reported int) *history.Calibration {
	if tokens.Partial(counted, reported) {
		return nil
	}
	learned := m.deps.Calibrations.Learn(model, counted, reported)
	m.Drift = 1
	if expected := m.deps.Calibrations.Apply(model, counted); expected > 0 && reported > expected {
		m.Drift = min(float64(reported)/float64(expected), MaxDrift)
	}
	return learned
}

// Expected returns how many tokens of a request were expected to be read from the cache, as the provider counts.
func (m *Manager) Expected(b *assembly.Built) int {
	if b.Plan == nil {
		return 0
	}
	measure := m.Measure(llm.Model{Name: b.Request.Model})
	return b.ExpectedInput(&measure, b.Plan.Expect).CacheRead
}

// Answered notes that the provider has read a request, and adds to change what is to be stored of it: the layout with the
// texts that it refers to, and the state of files.
func (m *Manager) Answered(b *assembly.Built, change *history.Change) error {
	err := m.Layout.Answered(b, change)
	for _, f := range b.Sent {
		m.workspace.MarkSent(f.Path, f.Hash, f.Whole)
	}
	if !b.Step {
		m.workspace.AfterReply()
	}
	return err
}

// EditedSince reports whether the history was cleared, replaced, restored or compacted after a sequence number.
func (m *Manager) EditedSince(seq int64) bool {
	for _, e := range slices.Backward(m.Log.Edits()) {
		if e.Seq <= seq {
			return false
		}
		if e.Kind != history.EditDedupe && e.Kind != history.EditTruncate && e.Kind != history.EditUnanswered {
			return true
		}
	}
	return false
}

func (m *Manager) Checkpoint(id string) (history.Checkpoint, bool) {
	i := slices.IndexFunc(m.Checkpoints, func(c history.Checkpoint) bool { return c.ID == id })
	if i < 0 {
		return history.Checkpoint{}, false
	}
	return m.Checkpoints[i], true
}

// ForkAt returns the initial state of a session that is forked at a sequence number.
func (m *Manager) ForkAt(record history.Session, seq int64) history.Loaded {
	l := history.Loaded{Session: record, Documents: m.Documents, Files: m.workspace.Stored()}
	l.Heads, l.Edits = m.Log.UpTo(seq)
	for _, c := range m.Checkpoints {
		if c.Seq <= seq {
			l.Checkpoints = append(l.Checkpoints, c)
		}
	}
	return l
}
