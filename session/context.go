package session

import (
	"slices"

	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/content"
	"strata/session/documents"
	"strata/session/profile"
	"strata/session/workspace"
	"strata/stability"
	"strata/tokens"
)

// ContextManager is the state that a session's requests are made of: the working history, the documents, the files, the
// layout, and what was learned of the provider's counts. It belongs to the session's mailbox; requests are built from a
// State of it on other goroutines.
type ContextManager struct {
	deps        *Deps
	session     string
	workspace   *workspace.Workspace
	log         *history.Log
	documents   []history.Document   // by name; replaced, never changed
	checkpoints []history.Checkpoint // likewise, oldest first
	totals      history.Totals
	layout      *assembly.Layout
	diffs       *assembly.Diffs
	pictures    *content.Gallery
	beginning   *assembly.Beginning
	generation  int          // edits that changed which messages the view has, since the session was loaded
	last        history.Call // the newest call for a reply whose usage was reported
	reported    reported     // likewise
	drift       float64      // reported input of that call divided by our count; at least 1
}

// reported is what a provider told of the newest call: how large the request and its reply were together.
type reported struct {
	tokens     int // as the provider counts them; 0 if it told nothing
	history    int // counted tokens of the working history at that time, the reply included
	generation int // of the view at that time
}

// newContextManager restores what was loaded. The error says why a layout cannot be used; the manager goes on without.
func newContextManager(deps *Deps, rules *choices.Rules, loaded history.Loaded, files *workspace.Workspace) (*ContextManager, error) {
	m := &ContextManager{
		deps: deps, session: loaded.Session.ID, workspace: files, log: history.NewLog(loaded.Heads, loaded.Edits),
		documents: loaded.Documents, checkpoints: loaded.Checkpoints, totals: loaded.Totals,
		diffs: new(assembly.Diffs), pictures: new(content.Gallery), beginning: deps.Beginnings.New(), drift: 1,
	}
	var err error
	m.layout, err = assembly.NewLayout(rules.Stability, loaded.Layout, func(cache string) *stability.Mirror { return deps.Mirrors.Of(cache, deps.Now()) })
	return m, err
}

// NextSeq returns the sequence number of the next message or edit.
func (m *ContextManager) NextSeq() int64 { return m.log.LastSeq() + 1 }

// LastSeq returns the newest sequence number, 0 for an empty session.
func (m *ContextManager) LastSeq() int64 { return m.log.LastSeq() }

// Transcript returns the heads of all messages; the slice must not be changed.
func (m *ContextManager) Transcript() []history.Head { return m.log.Transcript() }

// View returns the heads of the working history; the slice must not be changed.
func (m *ContextManager) View() []history.Viewed { return m.log.View() }

// Fates returns the visibility of the messages with these sequence numbers in the working history, and the summary that
// replaces the compacted ones.
func (m *ContextManager) Fates(seqs []int64) ([]history.Visibility, history.Summary) {
	return m.log.Visibility(seqs), m.log.Summary()
}

// Tokens returns the counted tokens of the working history.
func (m *ContextManager) Tokens() int { return m.log.Tokens() }

// Totals returns the sums over the session's model calls.
func (m *ContextManager) Totals() history.Totals { return m.totals }

// append adds stored messages to the working history.
func (m *ContextManager) append(messages []history.Message) {
	for i := range messages {
		m.pictures.Add(&messages[i])
		m.log.Append(messages[i].Head(content.Bytes(messages[i].Blocks)))
	}
}

// apply applies a stored edit to the working history.
func (m *ContextManager) apply(edit history.Edit) {
	m.log.Apply(edit)
	if edit.Kind != history.EditDedupe && edit.Kind != history.EditUnanswered {
		m.generation++
	}
}

// count adds model calls to the totals. The newest call that answered a prompt is shown as the last one.
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

// report notes the usage of a call whose reply is part of the view, as its provider told it.
func (m *ContextManager) report(u history.Usage) {
	m.reported = reported{tokens: u.Context() + u.Output, history: m.Tokens(), generation: m.generation}
}

// measure converts between our counts and those of a model's provider.
func (m *ContextManager) measure(model llm.Model) assembly.Measure {
	return assembly.Measure{Model: model, Calibrations: m.deps.Calibrations, Drift: m.drift}
}

// beside returns the counted tokens of a request other than the working history: by the provider's report of the newest
// call, or by our count of it if the view was edited since.
func (m *ContextManager) beside(measure *assembly.Measure) int {
	if r := m.reported; r.tokens > 0 && r.generation == m.generation {
		return measure.Capacity(r.tokens) - r.history
	}
	return m.layout.Beside()
}

// State returns what the next request is made of.
func (m *ContextManager) State(c *choices.Choices) assembly.State {
	var first *history.Head
	if h, ok := m.log.First(); ok {
		first = &h
	}
	p := c.Profile
	var phase *profile.Phase
	if current, ok := p.Phase(c.Phase); ok {
		phase = &current
	}
	measure := m.measure(c.Model)
	return assembly.State{
		Session: m.session, Store: m.deps.Store, Log: m.deps.Log, Now: m.deps.Now,
		Measure: measure, Mirrors: m.deps.Mirrors, Layout: m.layout, Cache: m.workspace.Cache(), Diffs: m.diffs, Pictures: m.pictures,
		Beginning: m.beginning, Counter: tokens.For(c.Model.Encoding),
		View: m.log.View(), Summary: m.log.Summary(), Omitted: m.log.Omitted(), Evicted: m.log.Shed(), Truncated: m.log.Documents(),
		First: first, Exchanges: m.log.Exchanges(), HistoryTokens: m.log.Tokens(), Beside: m.beside(&measure),
		Files: m.workspace.List(), Roots: m.workspace.Roots(), Outlines: m.workspace.Outlines(), RulesFile: m.deps.RulesFile,
		Documents: documents.Shown(m.documents, &p, c.Phase), AllDocuments: m.documents,
		System: c.SystemPrompt(), Profile: &p, Phase: phase, Thought: c.Thought(),
	}
}

// expect returns the State with a message that is not stored yet, and the log that contains it; m stays as it is.
func (m *ContextManager) expect(c *choices.Choices, message *history.Message) (assembly.State, *history.Log) {
	after := *m
	after.log = m.log.With(message.Head(content.Bytes(message.Blocks)))
	m.pictures.Add(message)
	state := after.State(c)
	state.Store = assembly.Expecting(state.Store, message)
	return state, after.log
}

// renewed returns a state of a running turn with the view, the files and the counts as they are now. The user's choices since
// the turn began take effect with the next turn.
func (m *ContextManager) renewed(old *assembly.State, model llm.Model, c *choices.Choices) assembly.State {
	now := m.State(c)
	now.Measure = m.measure(model)
	now.Profile, now.Phase, now.System, now.Counter, now.Thought = old.Profile, old.Phase, old.System, old.Counter, old.Thought
	now.Documents, now.AllDocuments = old.Documents, old.AllDocuments
	return now
}

// maxDrift limits how far a provider's count can be above ours before it is taken for an error.
const maxDrift = 2

// learn compares the provider's count of a request's input with ours, for the model's calibration, and for this session's
// next request if the calibration is still below the provider's count. A partial report teaches nothing.
func (m *ContextManager) learn(model string, counted, reported int) *history.Calibration {
	if tokens.Partial(counted, reported) {
		return nil
	}
	learned := m.deps.Calibrations.Learn(model, counted, reported)
	m.drift = 1
	if expected := m.deps.Calibrations.Apply(model, counted); expected > 0 && reported > expected {
		m.drift = min(float64(reported)/float64(expected), maxDrift)
	}
	return learned
}

// expected returns how many tokens of a request were expected to be read from the cache, as the provider counts.
func (m *ContextManager) expected(b *assembly.Built) int {
	if b.Plan == nil {
		return 0
	}
	return m.deps.Calibrations.Apply(b.Request.Model, b.Plan.Expect)
}

// answered notes that the provider has read a request, and adds to change what is to be stored of it: the layout with the
// texts that it refers to, and the state of files.
func (m *ContextManager) answered(b *assembly.Built, change *history.Change) error {
	err := m.layout.Answered(b, change)
	for _, f := range b.Sent {
		m.workspace.MarkSent(f.Path, f.Hash, f.Whole)
	}
	m.workspace.AfterReply()
	return err
}

// editedSince reports whether the history was cleared, replaced, restored or compacted after a sequence number.
func (m *ContextManager) editedSince(seq int64) bool {
	for _, e := range slices.Backward(m.log.Edits()) {
		if e.Seq <= seq {
			return false
		}
		if e.Kind != history.EditDedupe && e.Kind != history.EditTruncate && e.Kind != history.EditUnanswered {
			return true
		}
	}
	return false
}

func (m *ContextManager) checkpoint(id string) (history.Checkpoint, bool) {
	i := slices.IndexFunc(m.checkpoints, func(c history.Checkpoint) bool { return c.ID == id })
	if i < 0 {
		return history.Checkpoint{}, false
	}
	return m.checkpoints[i], true
}
