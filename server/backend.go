package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/server/access"
	"strata/server/bin"
	"strata/server/budgets"
	"strata/server/slash"
	"strata/server/transfer"
	"strata/server/wire"
	"strata/session"
	"strata/session/assembly"
	"strata/session/following"
	"strata/session/outlines"
	"strata/session/profile"
	"strata/session/servers"
	"strata/session/workspace"
)

// backend is everything that requests act on: the store, the sessions in memory, the connections, the counters.
// It knows no method. Its parts are safe for concurrent use.
type backend struct {
	Options
	store    *historystore.Store
	recovery *recovery
	sessions *registry
	folders  *access.Folders
	importer *transfer.Importer
	monitors *monitors
	budgets  *budgets.Ledger
	bin      *bin.Bin
	clients  *connections
	pool     *compaction.Pool
	outlines *outlines.Services // nil: turned off
	mcp      *servers.Directory // nil: there are no MCP servers
	commands slash.Folders      // of the users and the workspaces
	outputs  slash.Outputs      // of commands
	budget   *rpc.Budget        // of frames not yet dispatched, on all connections
	newID    func(prefix string) string
	started  time.Time

	background sync.WaitGroup // goroutines of the server, which Run waits for

	endpoint *endpoint          // set when the server listens, before the first connection
	stop     context.CancelFunc // ends Run; set before the first connection
}

func newBackend(store *historystore.Store, opt Options) (*backend, error) {
	opt = opt.withDefaults()
	b := &backend{
		Options: opt, store: store, budget: rpc.NewBudget(rpc.DefaultBudget), newID: newIDs(opt.Host.Now), started: opt.Host.Now(),
		recovery: &recovery{folder: opt.StateDir, store: store, log: opt.Log},
		clients:  newConnections(opt.Connections, opt.Host.Now),
	}
	var err error
	if b.folders, err = access.NewFolders(opt.StateDir, opt.Roots); err != nil {
		return nil, err
	}
	b.monitors = newMonitors(b)
	b.budgets = newLedger(b)
	b.bin = bin.New(bin.Options{Store: historystore.NewBin(store), Retention: opt.Retention, Entry: b.monitors.entry, Purged: b.monitors.purged})
	if opt.Sessions.Files.Guard, err = newGuard(opt, store.Files()); err != nil {
		return nil, err
	}
	b.commands = slash.Folders{User: opt.CommandsDir, Guard: opt.Sessions.Files.Guard, Allowed: b.folders.Allowed}
	b.importer = transfer.NewImporter(transfer.Options{
		Store: store, Show: b.show, Folders: b.folders.Check, NewID: b.newID, Now: opt.Host.Now, Log: opt.Log,
	})
	stored, err := store.Calibrations(context.Background())
	if err != nil {
		return nil, err
	}
	if opt.Sessions.Rules.Profiles == nil {
		if opt.Sessions.Rules.Profiles, err = profile.All(); err != nil {
			return nil, err
		}
	}
	b.pool = compaction.NewPool(compaction.PoolOptions{Workers: opt.CompactionWorkers, Observe: opt.Metrics.compaction})
	if o := opt.Outlines; o != nil {
		b.outlines = outlines.NewServices(outlines.Options{
			Store: store.OutlineStore(), CacheDir: filepath.Join(opt.StateDir, "parsers"), Limits: opt.Sessions.Files,
			Files: o.Files, TotalBytes: o.TotalBytes, Skip: o.Skip, Log: opt.Log,
		})
	}
	if opt.MCP != nil {
		b.mcp = servers.NewDirectory(opt.MCP, opt.MCPServers, func() { b.monitors.send(wire.ServerEvent{Type: "mcp_servers"}) })
	}
	prepare, prepareLater := b.preparation(opt.Prepare)
	b.sessions = newRegistry(&session.Deps{
		Settings: opt.Sessions, Store: store, FileChanges: store.FileChangeStore(), Models: opt.Models, Workspaces: opt.Workspaces, Host: sessionHost{b}, Meter: opt.Metrics, Log: opt.Log,
		Now: opt.Host.Now, NewID: b.newID, Pool: b.pool, Outlines: b.outlines, Servers: b.mcp, Calibrations: assembly.NewCalibrations(stored), Mirrors: assembly.NewMirrors(),
		Beginnings: assembly.NewBeginnings(),
	}, opt.Memory, prepare, prepareLater)
	return b, nil
}

// afterLoad is the time from opening a stored session to the preparations, which would take a processor from its replay.
const afterLoad = 150 * time.Millisecond

// preparation returns functions that start do in the background, immediately and after afterLoad. They start it only once.
func (b *backend) preparation(do func()) (now, later func()) {
	now = sync.OnceFunc(func() { b.background.Go(do) })
	later = sync.OnceFunc(func() {
		b.background.Go(func() {
			time.Sleep(afterLoad)
			now()
		})
	})
	return now, later
}

// newGuard returns the rule about the files that no session reads. The files of the server itself are there whether or not
// they are in folders of its own.
func newGuard(opt Options, database []string) (*workspace.Guard, error) {
	own := slices.Concat(opt.Own, database, []string{opt.StateDir, opt.TokenFile, opt.ServerFile})
	if opt.LogFile != "" {
		own = append(own, opt.LogFile, opt.LogFile+".1")
	}
	guard, err := workspace.NewGuard(workspace.GuardOptions{Within: opt.Roots, Own: own, Secrets: opt.Secrets})
	if err != nil {
		return nil, fmt.Errorf("files of sessions: %w", err)
	}
	return guard, nil
}

// show shows a session that was under construction. Its events are expected.
func (b *backend) show(ctx context.Context, id string) error {
	b.monitors.expect(id)
	err := b.store.ImportShow(ctx, id)
	if err != nil {
		b.monitors.forget(id)
	}
	return err
}

func (b *backend) now() time.Time { return b.Host.Now() }

// sessionHost is the backend as sessions see it.
type sessionHost struct{ *backend }

func (h sessionHost) Changed(id string, doing following.Doing) {
	h.monitors.doing(id, doing)
	h.budgets.Changed()
}
func (h sessionHost) Ended(id, epoch string) { h.sessions.ended(id, epoch) }
func (h sessionHost) Leave(id, epoch string, shut func() bool) bool {
	return h.sessions.leave(id, epoch, shut)
}
func (h sessionHost) Admit(ctx context.Context, id, epoch string) error {
	return h.sessions.admit(ctx, id, epoch)
}
func (h sessionHost) Allowed(ctx context.Context, folder string) error {
	return h.folders.Allowed(ctx, folder)
}
func (h sessionHost) Describe(err error) history.Failure { return h.describe(err) }
func (h sessionHost) Keep(change history.Change) error   { return h.recovery.keep(change) }
func (h sessionHost) Restore(ctx context.Context, id string) ([]history.Change, error) {
	return h.recovery.restore(ctx, id)
}

// describe returns an error as clients receive it. It logs an unknown error with its stack, once.
func (b *backend) describe(err error) history.Failure {
	f, known := wire.Failure(err)
	if !known {
		b.Log.Error("unexpected error", slog.Any("error", err), slog.String("stack", string(debug.Stack())))
	}
	return f
}

// counts returns the present gauges.
func (b *backend) counts(ctx context.Context) wire.Counts {
	c := wire.Counts{
		Connections: b.clients.count(), Sessions: b.sessions.count(), Writing: b.store.Queued(), Replies: b.clients.replies(),
	}
	if stats, err := b.store.Stats(ctx); err == nil {
		c.DatabaseBytes = stats.Bytes + stats.WALBytes
	}
	c.Storage = b.storage()
	return c
}

// storage returns why nothing can be stored, "" if it can.
func (b *backend) storage() string {
	if b.store.Present() != nil {
		return wire.MovedText
	}
	return ""
}

// record returns a new session in the folders that a client names.
func (b *backend) record(params wire.FolderParams) (history.Session, error) {
	return params.Record(b.folders.Check)
}
