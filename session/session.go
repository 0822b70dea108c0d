// Package session is one session: its life, its turns, and the edits of its history. It puts the session together from these
// and from the parts in the packages below it.
//
// Everything a Session has is touched by its mailbox goroutine only, unless it says otherwise. The mailbox never blocks on
// the store, a provider, a file or a client: such work runs in goroutines that the session owns, on copies, and its result
// comes back as a job.
//
// The package knows neither the wire nor SQLite, and never logs what a user or a model wrote.
package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/accounts"
	"strata/session/asking"
	"strata/session/choices"
	"strata/session/clients"
	"strata/session/compacting"
	"strata/session/events"
	"strata/session/finding"
	"strata/session/following"
	"strata/session/frontends"
	"strata/session/mailbox"
	"strata/session/permissions"
	"strata/session/prompts"
	"strata/session/record"
	"strata/session/requests"
	"strata/session/saving"
	"strata/session/servers"
	"strata/session/shelf"
	"strata/session/toolbox"
	"strata/session/workspace"
)

// phase is where a session is in its life. It only moves on.
type phase int

const (
	loading phase = iota
	live
	closing
	ended
)

// The parts of a session in packages of their own. The aliases keep the embedded fields from being exported.
type (
	recordChanges   = record.Changes
	documentShelf   = shelf.Shelf
	servedFrontends = frontends.Frontends
)

// Session is one loaded session, put together from its parts. Its exported methods, most of which are those of its parts,
// may be called from any goroutine unless they say that they belong to the mailbox. Those with a reply function return
// immediately and call it later, exactly once, on a goroutine of the session, mostly the mailbox: it must not block.
type Session struct {
	*core
	*turns
	*subscriptions
	*edits
	*checkpoints
	*recordChanges
	*documentShelf
	accounts *accounts.Accounts
	drafts   *prompts.Drafts
	finding  *finding.Finder
	*servedFrontends
	compacting *compacting.Driver

	done chan struct{}

	// What follows belongs to the mailbox.
	phase   phase
	onClose []func()
	reason  string // why it is closing
}

// opening is what a session begins with.
type opening struct {
	history.Loaded
	kept   []history.Change // endings of turns in recovery files that cannot be stored now
	stored func() error     // waits until the session is stored; nil: it is
}

// Open returns the session with the given id, which loads itself. It takes requests immediately. If prev is not nil loading
// waits until prev has ended.
func Open(deps *Deps, id string, prev *Session) *Session {
	s := newSession(deps, id)
	go s.main(prev, func(ctx context.Context) (opening, error) {
		kept, err := deps.Host.Restore(ctx, id)
		if err != nil {
			return opening{}, fmt.Errorf("load session %s: %w: %w", id, ErrStorage, err)
		}
		loaded, err := deps.Store.Load(ctx, id)
		return opening{Loaded: loaded, kept: kept}, err
	})
	return s
}

// Create returns a new session that stores itself. Its record needs ID and CWD and may have Roots and Config; the times are
// set here.
func Create(deps *Deps, record history.Session) *Session {
	record.CreatedAt = deps.Now()
	record.UpdatedAt = record.CreatedAt
	s := newSession(deps, record.ID)
	go s.main(nil, func(ctx context.Context) (opening, error) {
		committed := make(chan error, 1)
		go func() {
			committed <- saving.Commit(ctx, deps.Store, history.Change{Session: record.ID, Create: &record})
		}()
		stored := func() error {
			if err := <-committed; err != nil {
				return fmt.Errorf("create session: %w: %w", ErrStorage, err)
			}
			return nil
		}
		return opening{Loaded: history.Loaded{Session: record}, stored: stored}, nil
	})
	return s
}

// newSession puts a session together that is not loaded.
func newSession(deps *Deps, id string) *Session {
	s := &Session{done: make(chan struct{})}
	c := &core{id: id, deps: deps, doings: following.NewDoings(deps.Now)}
	c.used()
	c.changed = func() { deps.Host.Changed(id, c.doings.Report(s.doing())) }
	c.mailbox = mailbox.New("session "+id, deps.Log, s.endIfIdle)
	c.events = events.New(id, deps.NewID(""), deps.Store, s.standing)
	c.workspace = workspace.New(workspaceHost{c}, c.mailbox, c.events)

	s.core = c
	s.accounts = accounts.New(accountsHost{c, s}, c.mailbox, c.events)
	host := partHost{c, s}
	s.documentShelf = shelf.New(host, c.mailbox, deps.Now)
	s.recordChanges = record.New(id, deps.record(), host, c.mailbox, c.events, c.workspace)
	s.subscriptions = &subscriptions{core: c, followers: following.New(id, host, deps.Store, c.mailbox, c.events)}
	s.turns = &turns{core: c, subs: s.subscriptions, accounts: s.accounts, stopping: make(chan struct{})}
	s.turns.servers = servers.New(c.mailbox, serversHost{s}.services())
	s.turns.toolbox = toolbox.New(c.mailbox, c.events.End, s.turns.servers)
	s.turns.asking = asking.New(c.mailbox, asking.Services{
		Clients: func() []clients.Client { return s.subscriptions.clients.All(clients.Permissions) },
		Newest:  func() uint64 { return s.events.End() }, Timeout: deps.Tools.ApprovalTimeout,
	})
	s.subscriptions.asking, s.subscriptions.held = s.turns.asking, s.turns.settlePlanned
	s.turns.permits = permissions.New(c.mailbox, permissions.Services{
		Session: id, Configured: deps.Tools.Rules, Choices: func() *choices.Choices { return c.choices }, Store: c.store, Emit: c.emit,
		Reconsider: s.turns.asking.Reconsider, Now: deps.Now, Log: deps.Log,
	})
	s.compacting = compacting.New(id, deps.compaction(), compactionHost{c, s.turns, s.accounts}, c.mailbox, c.events, deps.Log, deps.Host.Describe)
	made := requests.New(id, deps.requests(), requestsHost{c}, c.mailbox, c.workspace, s.compacting)
	s.turns.requests, s.turns.compacting = made, s.compacting
	s.finding = finding.New(host, c.mailbox, deps.Now, deps.NewID)
	s.drafts = prompts.NewDrafts(accountsHost{c, s}, c.mailbox, c.workspace, made, deps.NewID)
	s.edits = &edits{core: c, turns: s.turns, accounts: s.accounts, compacting: s.compacting}
	s.checkpoints = &checkpoints{core: c, turns: s.turns}
	s.servedFrontends = frontends.New(host, deps.frontends(), frontends.Parts{
		Mailbox: c.mailbox, Events: c.events, Workspace: c.workspace, Requests: made, Accounts: s.accounts, Compacting: s.compacting,
	})
	return s
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Epoch names this loading of the session: sequence numbers of events are comparable within it only.
func (s *Session) Epoch() string { return s.events.Epoch() }

// Info returns what there is to tell of the session.
func (s *Session) Info(reply func(Info, error)) {
	mailbox.Ask(s.mailbox, reply, func() { reply(s.tellInfo(), nil) })
}

// Notify sends the session's present subscribers a notice for their user.
func (s *Session) Notify(text string) {
	s.tell(func() { s.notify(text) })
}

// NotifyIn sends the session's present subscribers the notices that texts returns for the session's folder. texts is called
// on the mailbox and must not block.
func (s *Session) NotifyIn(texts func(cwd string) []string) {
	s.tell(func() {
		if s.phase != live {
			return
		}
		for _, text := range texts(s.choices.Record.CWD) {
			s.notify(text)
		}
	})
}

func (s *Session) notify(text string) {
	if s.phase == live {
		s.emit(events.Event{Kind: events.Notice, Text: text})
	}
}

// saidSoFar returns everything that the session has said so far: the transcript, and the reply that is not in it yet.
func (s *Session) saidSoFar() events.Standing {
	now := events.Standing{Seq: s.events.End(), Heads: s.context.Transcript()}
	of := s.unfinished()
	if of == nil {
		return now
	}
	if now.Running = of.running(); now.Running != nil {
		now.Running.Elapsed = max(s.deps.Now().Sub(of.record.StartedAt).Milliseconds(), 0)
	}
	return now
}

// standing is saidSoFar also after the session's end: a slow subscriber still receives all of it. It must not be called on the mailbox.
func (s *Session) standing(ctx context.Context) (events.Standing, error) {
	answers := make(chan events.Standing, 1)
	s.tell(func() { answers <- s.saidSoFar() })
	select {
	case now := <-answers:
		return now, nil
	case <-s.done:
	case <-ctx.Done():
		return events.Standing{}, ctx.Err()
	}
	if s.context == nil {
		return events.Standing{}, fmt.Errorf("session %s: %w", s.id, ErrClosed)
	}
	now := s.saidSoFar() // nothing else touches the session any more
	now.Seq--            // the last event, closed, is still in the log
	return now, nil
}

// Compact compacts the history now, and replies when that is done. If a compaction is under way the reply is its result.
// cancel stops it; a compaction that is stopped changes nothing.
func (s *Session) Compact(req compacting.Request, reply func(compacting.Result, error)) (cancel func()) {
	return s.compacting.Compact(req, reply)
}

// Compaction tells how the session's compaction stands.
func (s *Session) Compaction(reply func(compacting.Status, error)) {
	mailbox.Ask(s.mailbox, reply, func() { reply(s.compacting.Status(), nil) })
}

// Accounts returns what tells of the session's next request.
func (s *Session) Accounts() *accounts.Accounts { return s.accounts }

// Drafts returns what measures prompts that are not sent.
func (s *Session) Drafts() *prompts.Drafts { return s.drafts }

// Finding returns what finds things in the session's next request.
func (s *Session) Finding() *finding.Finder { return s.finding }

// Toolbox returns the tools of the session.
func (s *Session) Toolbox() *toolbox.Toolbox { return s.toolbox }

// Servers returns the MCP servers of the session.
func (s *Session) Servers() *servers.Servers { return s.turns.servers }

// Permissions returns the rules by which calls run without asking.
func (s *Session) Permissions() *permissions.Permissions { return s.permits }

// Workspace returns the session's files and folders.
func (s *Session) Workspace() *workspace.Workspace { return s.workspace }
