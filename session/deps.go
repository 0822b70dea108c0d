package session

import (
	"context"
	"log/slog"
	"time"

	"strata/compaction"
	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/compacting"
	"strata/session/current"
	"strata/session/following"
	"strata/session/frontends"
	"strata/session/outlines"
	"strata/session/record"
	"strata/session/requests"
	"strata/session/restoring"
	"strata/session/servers"
)

// What a session's methods take and reply with, from the packages of their parts.
type (
	Info          = following.Info
	Attached      = following.Attached
	List          = following.List
	Configured    = record.Configured
	Tool          = frontends.Tool
	CommitRequest = frontends.CommitRequest
	Committed     = frontends.Committed
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
	// NewestTurns returns the newest turn of each of these user messages, by their ids; none for those that no turn answers.
	NewestTurns(ctx context.Context, session string, prompts []history.Message) (map[string]history.Turn, error)
	// Blobs returns the bytes of those hashes that are stored.
	Blobs(ctx context.Context, hashes []string) (map[string][]byte, error)
}

// Streamer makes model calls.
type Streamer = compacting.Streamer

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
	Rules         choices.Rules
	RulesFile     bool // AGENTS.md, or CLAUDE.md, of the workspace's folders becomes documents
	Files         filecontext.Limits
	Tools         ToolSettings

	DetectionModel, SummaryModel string // provider/model; empty: work without a model
}

// Host is the server in which sessions live. Methods are safe for concurrent use.
type Host interface {
	// Changed receives what a session does whenever that changes. It must not block.
	Changed(session string, doing following.Doing)
	// Ended receives the id and the epoch of a session that has ended. It must not block.
	Ended(session, epoch string)

	// Admit waits until there is room in memory for a session that is to be loaded. Ended gives the room back.
	Admit(ctx context.Context, session, epoch string) error

	// Leave calls shut, which makes an idle session take no more requests, and returns its result; false if a request is
	// about to reach the session.
	Leave(session, epoch string, shut func() bool) bool

	// Allowed returns an error for a folder in which no session may work: stored sessions are older than the settings.
	Allowed(ctx context.Context, folder string) error
	// Describe returns an error as clients receive it.
	Describe(err error) history.Failure

	// Keep keeps the result of a turn that could not be stored before its session had to end.
	Keep(change history.Change) error
	// Restore stores what was kept of a session, and returns what cannot be stored now. It is called before the session is
	// loaded.
	Restore(ctx context.Context, session string) (kept []history.Change, err error)
}

// Deps is what all sessions of a server share. All fields are needed unless they say otherwise.
type Deps struct {
	Settings
	Store      Store
	Models     Models
	Workspaces choices.Workspaces // nil: no folder has rules of its own
	Host       Host
	Meter      Meter
	Log        *slog.Logger

	Now   func() time.Time
	NewID func(prefix string) string // prefix + ULID

	FileChanges  restoring.Store    // nil: none
	Outlines     *outlines.Services // nil: none
	Servers      *servers.Directory // MCP servers; nil: none
	Pool         *compaction.Pool
	Calibrations *assembly.Calibrations
	Mirrors      *assembly.Mirrors
	Beginnings   *assembly.Beginnings // nil: what is kept of requests has no limit
}

// compaction returns the services for compactions.
func (d *Deps) compaction() *compacting.Services {
	return &compacting.Services{
		Pool: d.Pool, Streamer: d.Models, Now: d.Now, NewID: d.NewID, Model: d.Models.Model, LimitWindow: d.Models.LimitWindow,
		DetectionModel: d.DetectionModel, SummaryModel: d.SummaryModel,
	}
}

// current returns what the session's ContextManager needs.
func (d *Deps) current() *current.Deps {
	return &current.Deps{
		Store: d.Store, Calibrations: d.Calibrations, Mirrors: d.Mirrors, Beginnings: d.Beginnings, RulesFile: d.RulesFile, Log: d.Log, Now: d.Now,
	}
}

// requests returns the services for requests.
func (d *Deps) requests() *requests.Services {
	return &requests.Services{Store: d.Store, Now: d.Now, NewID: d.NewID}
}

// frontends returns the services for frontends.
func (d *Deps) frontends() *frontends.Services {
	return &frontends.Services{Now: d.Now, NewID: d.NewID}
}

// record returns the services for changes of the record.
func (d *Deps) record() *record.Services {
	return &record.Services{Choices: d.choices(), Files: d.Files, Outlines: d.Outlines, Now: d.Now}
}

// choices returns the services for choices.
func (d *Deps) choices() *choices.Services {
	return &choices.Services{
		Default: d.DefaultConfig, Rules: &d.Rules, Workspaces: d.Workspaces, Model: d.Models.Model, Allowed: d.Host.Allowed,
	}
}

// Meter counts what happens in sessions. Implementations must be safe for concurrent use and quick.
type Meter interface {
	TurnStarted()
	TurnFinished(status history.TurnStatus, usage history.Usage, cost float64)
	Deltas(n int)
}
