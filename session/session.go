// Package session is one session: the ContextManager, the turn, the mailbox goroutine that owns all its
// state, and the event log that its subscribers read.
//
// Everything a Session holds is touched by its mailbox goroutine only, but for what says otherwise.
// The mailbox never blocks on the store, a provider, a file or a client: such work runs in goroutines
// that the session owns, on a snapshot, and its result comes back as a job.
//
// The package knows neither the wire nor SQLite, and never logs what a user or a model wrote.
package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"strata/compaction"
	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/events"
	"strata/session/mailbox"
	"strata/session/profile"
)

// Errors that a session's methods answer with, wrapped with their subject.
var (
	ErrClosed   = mailbox.ErrClosed
	ErrBusy     = errors.New("the session is busy")
	ErrOverload = mailbox.ErrOverload
	ErrUnsaved  = errors.New("an earlier answer could not be saved yet")
	ErrStorage  = errors.New("storing failed")
	ErrInvalid  = errors.New("invalid request")
	ErrBudget   = errors.New("the message does not fit the model's window")
)

// Store is what a session needs of the database. Every method may block and returns when ctx ends.
type Store interface {
	// Load returns a session, or history.ErrNotFound.
	Load(ctx context.Context, session string) (history.Loaded, error)
	// Commit stores all of a change or nothing, and returns once it is on disk.
	Commit(ctx context.Context, change history.Change) error
	// Messages returns the messages with the given sequence numbers, in the order asked for.
	Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error)
	// TurnByPrompt returns the turn with the client's prompt id, or history.ErrNotFound.
	TurnByPrompt(ctx context.Context, session, promptID string) (history.Turn, error)
	// Blobs returns the bytes of those hashes that are stored.
	Blobs(ctx context.Context, hashes []string) (map[string][]byte, error)
}

// Streamer makes model calls.
type Streamer interface {
	// Stream sends req and calls on for each event, in order, on the calling goroutine.
	Stream(ctx context.Context, req llm.Request, on func(llm.Event)) (llm.Result, error)
}

// Models are the language models that sessions use.
type Models interface {
	Streamer
	// Model returns a model by its name, provider/model; ok is false if its provider is not configured.
	Model(name string) (m llm.Model, ok bool)
	// LimitWindow reduces the window of a model, in tokens, for all sessions: its provider has refused a larger request.
	LimitWindow(model string, tokens int)
}

// Settings are the plain settings of sessions.
type Settings struct {
	DefaultConfig history.Config // of a session that chose nothing
	Rules         Rules
	RulesFile     bool // AGENTS.md in the workspace's root becomes the document rules
	Files         filecontext.Limits

	DetectionModel, SummaryModel string // provider/model; empty: work without a model
}

// Deps is what all sessions of a server share. All fields are needed.
type Deps struct {
	Settings
	Store    Store
	Streamer Streamer
	Log      *slog.Logger

	Now   func() time.Time
	NewID func(prefix string) string // prefix + ULID

	// Model returns a model by its name, provider/model; ok is false if its provider is not configured.
	Model func(name string) (m llm.Model, ok bool)
	// LimitWindow, which may be nil, reduces the window of a model, in tokens, for all sessions.
	LimitWindow func(model string, tokens int)

	Pool         *compaction.Pool
	Calibrations *Calibrations
	Mirrors      *Mirrors
	Meter        Meter

	// Changed is told what a session is doing whenever that changes. Ended is told when it has ended, on
	// its own goroutine. Neither may block.
	Changed func(session string, state State)
	Ended   func(*Session)

	// Allowed, which may be nil, returns an error that says why no session may work in a folder: stored ones are
	// older than the settings.
	Allowed func(folder string) error

	// Workspace, which may be nil, returns the rules of a folder that has its own.
	Workspace func(folder string) (Rules, error)

	// Recover keeps the ending of a turn that could not be stored before its session had to end. Recovered
	// stores what was kept of a session; it is called before the session is loaded.
	Recover   func(history.Change) error
	Recovered func(ctx context.Context, session string) error
	// Describe returns an error as clients are told it.
	Describe func(error) history.Failure
}

// Meter counts what happens in sessions. Implementations must be safe for concurrent use and quick.
type Meter interface {
	TurnStarted()
	TurnFinished(status history.TurnStatus, usage history.Usage, cost float64)
	Deltas(n int)
}

// phase is where a session is in its life. It only moves on.
type phase int

const (
	loading phase = iota
	live
	closing
	ended
)

// Session is one loaded session. Its exported methods may be called from any goroutine; those with a
// reply function return at once and call it later, exactly once, on a goroutine of the session, mostly the
// mailbox: it must not block.
type Session struct {
	id      string
	deps    *Deps
	mailbox *mailbox.Mailbox
	events  *events.Stream
	done    chan struct{}

	ctx      context.Context // ends with the session
	stopping chan struct{}   // closed when the session begins to close

	// What follows belongs to the mailbox goroutine.
	phase       phase
	record      history.Session
	model       llm.Model
	context     *ContextManager
	turn        *turn
	unsaved     *ending
	compacting  *compactionRun // nil while none is under way
	pause       compaction.Backoff
	lastOutcome string // of a compaction
	rules       Rules
	profile     profile.Profile // of the rules
	assembly    *assembly       // the newest request that was assembled for a frontend
	deferred    []deferral      // to do when the turn has ended
	onClose     []func()
	reason      string // why it is closing
	active      time.Time
	notices     []string // for whoever opens the session, e.g. of damage

	modelNotice string // one more, while the chosen model is not configured
}

// Open returns the session with the given id, which loads itself. Its inbox takes jobs at once.
// Where prev is not nil loading waits until prev has ended.
func Open(deps *Deps, id string, prev *Session) *Session {
	s := newSession(deps, id)
	go s.main(prev, s.load)
	return s
}

// load reads the session, with what was kept of an ending that could not be stored when it was open last.
func (s *Session) load(ctx context.Context) (history.Loaded, error) {
	if err := s.deps.Recovered(ctx, s.id); err != nil {
		return history.Loaded{}, fmt.Errorf("load session %s: %w: %w", s.id, ErrStorage, err)
	}
	return s.deps.Store.Load(ctx, s.id)
}

// Create returns a new session that stores itself. Its record needs CWD and may have Roots and Config;
// the id and the times are set here.
func Create(deps *Deps, record history.Session) *Session {
	record.ID = deps.NewID("sess_")
	record.CreatedAt = deps.Now()
	record.UpdatedAt = record.CreatedAt
	s := newSession(deps, record.ID)
	go s.main(nil, func(ctx context.Context) (history.Loaded, error) {
		err := deps.Store.Commit(ctx, history.Change{Session: record.ID, Create: &record})
		if err != nil {
			return history.Loaded{}, fmt.Errorf("create session: %w: %w", ErrStorage, err)
		}
		return history.Loaded{Session: record}, nil
	})
	return s
}

func newSession(deps *Deps, id string) *Session {
	s := &Session{
		id:       id,
		deps:     deps,
		done:     make(chan struct{}),
		stopping: make(chan struct{}),
		active:   deps.Now(),
	}
	s.events = events.New(id, deps.NewID(""), deps.Store, s.standing)
	s.mailbox = mailbox.New("session "+id, deps.Log, s.endIfIdle)
	s.ctx = s.mailbox.Context()
	return s
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Epoch names this loading of the session: sequence numbers of events are only comparable within it.
func (s *Session) Epoch() string { return s.events.Epoch() }

// Done is closed when the session has ended and everything it owned has.
func (s *Session) Done() <-chan struct{} { return s.done }

// Closing reports whether the session takes no more jobs.
func (s *Session) Closing() bool { return s.mailbox.IsShut() }

// main is the mailbox goroutine.
func (s *Session) main(prev *Session, load func(context.Context) (history.Loaded, error)) {
	defer close(s.done)
	defer s.deps.Ended(s)
	if prev != nil {
		<-prev.done
	}
	loaded, err := load(s.ctx)
	if err == nil {
		err = s.begin(loaded)
	}
	if err != nil {
		s.abort(err)
		return
	}
	s.mailbox.Run()
}

// begin takes over what was loaded.
func (s *Session) begin(loaded history.Loaded) error {
	s.record = loaded.Session
	s.rules = s.rulesFor(s.record.CWD)
	s.chooseModel()
	s.chooseProfile()
	var err error
	if s.context, err = newContextManager(s.deps, s.rules, loaded, s.model); err != nil {
		s.notices = append(s.notices, "Some of this session's context could not be restored: "+err.Error())
	}
	s.followRules()
	if s.context.roots == nil {
		s.notices = append(s.notices, "The folder of this session cannot be opened; it goes on without files.")
	}
	if err := s.settle(loaded); err != nil {
		return fmt.Errorf("load session %s: %w", s.id, err)
	}
	s.settleCompaction(loaded.Compaction)
	s.events.Start(s.context.LastSeq())
	s.phase = live
	s.mailbox.Open()
	s.deps.Changed(s.id, StateIdle)
	return nil
}

// chooseModel sets the model in force: the session's own, or the default where it chose none or where
// the chosen one is gone from the configuration.
func (s *Session) chooseModel() {
	name := s.record.Config.Model
	if name == "" {
		name = s.deps.DefaultConfig.Model
	}
	model, ok := s.deps.Model(name)
	s.modelNotice = ""
	if !ok {
		s.modelNotice = fmt.Sprintf("The model %s of this session is not configured any more; %s is used. Choose another with the model option.", name, s.deps.DefaultConfig.Model)
		model, _ = s.deps.Model(s.deps.DefaultConfig.Model)
	}
	s.model = model
}

// emit appends an event to the log and wakes the subscribers.
func (s *Session) emit(e Event) uint64 { return s.events.Emit(e) }

// standing returns everything that the session has said so far, also after its end: a slow subscriber still receives all
// of it. It must not be called on the mailbox.
func (s *Session) standing(ctx context.Context) (events.Standing, error) {
	answers := make(chan events.Standing, 1)
	s.tell(func() { answers <- s.stand() })
	select {
	case st := <-answers:
		return st, nil
	case <-s.done:
	case <-ctx.Done():
		return events.Standing{}, ctx.Err()
	}
	if s.context == nil {
		return events.Standing{}, fmt.Errorf("session %s: %w", s.id, ErrClosed)
	}
	st := s.stand() // nothing else touches the session any more
	st.Seq--        // the last event, closed, is still in the log
	return st, nil
}

func (s *Session) stand() events.Standing {
	st := events.Standing{Seq: s.events.End(), Heads: s.context.Transcript()}
	switch {
	case s.turn != nil:
		st.Running = s.turn.running()
	case s.unsaved != nil:
		st.Running = s.unsaved.running()
	}
	return st
}
