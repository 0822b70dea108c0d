// Package server is the HTTP listener and what hangs on it: authentication, the method table, the
// registry of sessions, and the order in which all of it ends.
//
// It translates between the wire and sessions, and holds no state of a session itself. It must never
// put a token, a key or what a user wrote into a log.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/historystore"
	"strata/internal/failpoint"
	"strata/rpc"
	"strata/server/access"
	"strata/session"
	"strata/session/profile"
)

// The bounds of a server. Those of single connections are in rpc.
const (
	DefaultConnections = 256
	DefaultSessions    = 1000
	DefaultRetention   = 7 * 24 * time.Hour
	DefaultIdleUnload  = 30 * time.Minute
)

// Options are what a server is made with. Zero fields stand for the defaults, but for Token, StateDir,
// Catalogue and Sessions, which are needed.
type Options struct {
	Version string
	Listen  string // address, "127.0.0.1:7717"; port 0 picks a free one
	TLS     *tls.Config
	Proxy   bool // a reverse proxy in front speaks TLS

	Token      access.Token
	TokenFile  string   // where it is kept, for people to read it there; empty where it is kept nowhere
	Origins    []string // further allowed origins
	Hosts      []string // further allowed Host values
	ServerFile string   // where editors find the server; empty: nowhere

	StateDir string   // the server's own folder, in which no session may work
	LogFile  string   // path, to be told; empty where none is written
	Roots    []string // folders in which sessions may work; none: any

	Retention  time.Duration // of deleted sessions
	IdleUnload time.Duration // of sessions that nobody is attached to
	ExitIdle   time.Duration // end when there was no connection for so long; 0: never

	Connections int   // at once
	Requests    int   // in flight on each connection
	Memory      int   // sessions in memory
	FrameBytes  int64 // of a WebSocket message

	Heartbeat time.Duration // between the pings of a connection, two of which may be missed; 20 s
	Stall     time.Duration // how long a client may take no bytes while there are some for it; 30 s

	CompactionWorkers int // compactions at once; default 2

	Catalogue Catalogue
	Metrics   *Metrics     // default: one of its own
	Sessions  session.Deps // Streamer, Model, DefaultConfig, Rules, Workspace and Files; the rest is set here
	Debug     bool         // serve the debug methods

	Log     *slog.Logger
	Now     func() time.Time
	OnReady func(Ready)
}

// Ready is what a server tells once it listens.
type Ready struct {
	HUD       string // address with a one-use code
	WebSocket string
	Database  string
}

func (o Options) withDefaults() Options {
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:7717")
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.IdleUnload = cmp.Or(o.IdleUnload, DefaultIdleUnload)
	o.Connections = cmp.Or(o.Connections, DefaultConnections)
	o.Memory = cmp.Or(o.Memory, DefaultSessions)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Metrics = cmp.Or(o.Metrics, NewMetrics())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnReady == nil {
		o.OnReady = func(Ready) {}
	}
	return o
}

// Server is one server on one database. Run serves until its context ends.
type Server struct {
	opt        Options
	store      *historystore.Store
	sessions   *registry
	methods    map[string]method
	metrics    *Metrics
	monitors   *monitors
	imports    *imports
	budget     *rpc.Budget
	pool       *compaction.Pool
	started    time.Time
	ownFolders []string // resolved
	roots      []string // resolved

	guard   *access.Guard // set when the port is known
	address address
	stop    context.CancelFunc // ends Run

	mu          sync.Mutex
	connections int
	peers       map[*peer]struct{} // whose handshake is done
	idleSince   time.Time
	conns       sync.WaitGroup
}

// New makes a server on an open store, which stays the caller's to close.
func New(store *historystore.Store, opt Options) (*Server, error) {
	opt = opt.withDefaults()
	s := &Server{
		opt: opt, store: store, methods: methodTable(), metrics: opt.Metrics, budget: rpc.NewBudget(rpc.DefaultBudget),
		started: opt.Now(), idleSince: opt.Now(), peers: make(map[*peer]struct{}),
	}
	s.monitors = newMonitors(s)
	s.imports = newImports(s)
	if err := s.resolveFolders(); err != nil {
		return nil, err
	}
	deps := opt.Sessions
	deps.Store, deps.Log, deps.Now, deps.Meter = store, opt.Log, opt.Now, s.metrics
	deps.NewID = newIDs(opt.Now)
	deps.Describe = func(err error) history.Failure { return describe(opt.Log, err) }
	deps.Recover = func(ch history.Change) error { return writeRecovery(opt.StateDir, ch) }
	deps.Recovered = s.recoverEndings
	deps.Allowed = s.allowed
	deps.Changed = s.monitors.state
	stored, err := store.Calibrations(context.Background())
	if err != nil {
		return nil, err
	}
	s.pool = compaction.NewPool(compaction.PoolOptions{Workers: opt.CompactionWorkers, Observe: s.metrics.compaction})
	deps.Pool = s.pool
	if deps.Rules.Profiles == nil {
		if deps.Rules.Profiles, err = profile.All(); err != nil {
			return nil, err
		}
	}
	deps.Calibrations, deps.Mirrors = session.NewCalibrations(stored), session.NewMirrors()
	s.sessions = newRegistry(&deps, opt.Memory)
	return s, nil
}

func (s *Server) now() time.Time { return s.opt.Now() }

// resolveFolders resolves links in the server's own folder and the roots, since sessions' folders are
// compared with them.
func (s *Server) resolveFolders() error {
	for _, dir := range []string{s.opt.StateDir} {
		if dir == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return fmt.Errorf("state folder: %w", err)
		}
		s.ownFolders = append(s.ownFolders, real)
	}
	for _, dir := range s.opt.Roots {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return fmt.Errorf("workspaces.roots: %w", err)
		}
		s.roots = append(s.roots, real)
	}
	return nil
}

// address is where a server listens.
type address struct {
	scheme string // http or https
	host   string // host:port
	port   int
}

func (a address) page() string { return a.scheme + "://" + a.host + "/" }

func (a address) socket() string {
	scheme := "ws"
	if a.scheme == "https" {
		scheme = "wss"
	}
	return scheme + "://" + a.host + "/acp"
}

// Run listens and serves until ctx ends, then shuts down in order: no new work, running turns are
// stored as interrupted, sessions end, sockets close with 1001. It returns when all of that is done.
func (s *Server) Run(ctx context.Context) error {
	if err := s.recoverEndings(ctx, ""); err != nil {
		return err
	}
	listener, err := s.listen()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.stop = cancel
	if err := s.announce(); err != nil {
		listener.Close()
		return err
	}
	defer s.withdraw()

	connections, drop := context.WithCancel(context.Background())
	defer drop()
	web := &http.Server{
		Handler:           s.routes(connections),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
	}
	var housekeeping sync.WaitGroup
	housekeeping.Go(func() { s.keepHouse(ctx, cancel) })
	housekeeping.Go(func() { s.monitors.run(ctx) })
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()

	select {
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		err = nil
	}
	cancel()
	s.shutdown(web, drop)
	housekeeping.Wait()
	return err
}

// listen opens the listener and settles the address and who may come in.
func (s *Server) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", s.opt.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", s.opt.Listen, err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	s.address = address{scheme: "http", host: hostFor(s.opt.Listen, port), port: port}
	if s.opt.TLS != nil {
		listener = tls.NewListener(listener, s.opt.TLS)
		s.address.scheme = "https"
	}
	s.guard, err = access.NewGuard(access.Options{
		Token: s.opt.Token, Port: port, TLS: s.opt.TLS != nil, BehindProxy: s.opt.Proxy,
		Origins: s.opt.Origins, Hosts: s.opt.Hosts, EntryPage: s.entryPage, Now: s.opt.Now, Log: s.opt.Log,
	})
	if err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// hostFor is the host and port under which clients on this machine reach a listener.
func hostFor(listen string, port int) string {
	host, _, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, fmt.Sprint(port))
}

// announce writes the file in which editors find the server, and tells the caller.
func (s *Server) announce() error {
	stats, err := s.store.Stats(context.Background())
	if err != nil {
		return err
	}
	if s.opt.ServerFile != "" {
		err := access.WriteServerFile(s.opt.ServerFile, access.ServerFile{
			URL: s.address.socket(), Token: s.opt.Token, PID: os.Getpid(), Database: stats.Path, Version: s.opt.Version,
		})
		if err != nil {
			return err
		}
	}
	s.opt.Log.Info("listening", slog.String("address", s.address.page()), slog.String("database", stats.Path))
	s.opt.OnReady(Ready{HUD: s.hudAddress(), WebSocket: s.address.socket(), Database: stats.Path})
	return nil
}

func (s *Server) hudAddress() string {
	return s.address.page() + "?" + access.CodeParam + "=" + s.guard.NewCode()
}

func (s *Server) withdraw() {
	if s.opt.ServerFile == "" {
		return
	}
	if err := access.RemoveServerFile(s.opt.ServerFile, os.Getpid()); err != nil {
		s.opt.Log.Warn("server file not removed", slog.Any("error", err))
	}
}

// shutdown ends everything in order. The listener is closed first; sessions end before the sockets, so
// that clients hear how their turns ended.
func (s *Server) shutdown(web *http.Server, drop func()) {
	s.opt.Log.Info("shutting down")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.opt.Log.Warn("listener not closed cleanly", slog.Any("error", err))
	}
	s.sessions.shutdown()
	s.pool.Close()
	s.farewell()
	drop()
	s.conns.Wait()
	web.Close()
}

// farewellTime is how long clients may take for what sessions said last before their sockets are closed.
const farewellTime = time.Second

// farewell closes the connections when they have sent what they have yet, and waits for that, for a moment at most.
func (s *Server) farewell() {
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.peers))
	s.mu.Unlock()
	for _, p := range left {
		p.conn.Close(closeGoingAway, "going away")
	}
	enough := time.NewTimer(farewellTime)
	defer enough.Stop()
	for _, p := range left {
		select {
		case <-p.conn.Done():
		case <-enough.C:
			return
		}
	}
}

// keepHouse unloads idle sessions, purges deleted ones, and ends an idle server that was started on demand.
func (s *Server) keepHouse(ctx context.Context, exit func()) {
	tick := time.NewTicker(housekeeping(s.opt))
	defer tick.Stop()
	lastPurge := time.Time{}
	for {
		now := s.now()
		s.sessions.unloadIdle(now.Add(-s.opt.IdleUnload))
		if now.Sub(lastPurge) >= time.Hour {
			lastPurge = now
			s.purge(ctx, now.Add(-s.opt.Retention))
		}
		if s.idleFor(now) >= s.opt.ExitIdle && s.opt.ExitIdle > 0 && s.sessions.count() == 0 {
			exit()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// housekeeping is how often keepHouse looks: often enough for the shortest of its delays.
func housekeeping(opt Options) time.Duration {
	every := min(time.Minute, opt.IdleUnload/4)
	if opt.ExitIdle > 0 {
		every = min(every, opt.ExitIdle/4)
	}
	return max(every, 10*time.Millisecond)
}

func (s *Server) purge(ctx context.Context, before time.Time) {
	switch n, err := s.store.Purge(ctx, before); {
	case err != nil && ctx.Err() == nil:
		s.opt.Log.Warn("deleted sessions not purged", slog.Any("error", err))
	case n > 0:
		s.opt.Log.Info("deleted sessions purged", slog.Int("sessions", n))
	}
}

// idleFor is how long there has been no connection.
func (s *Server) idleFor(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections > 0 {
		return 0
	}
	return now.Sub(s.idleSince)
}

// enter counts a connection in; false if there are too many.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections >= s.opt.Connections {
		return false
	}
	s.connections++
	s.conns.Add(1)
	return true
}

func (s *Server) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections--
	s.idleSince = s.now()
	s.conns.Done()
}

// join notes a connection that is being served, and returns how to take that back.
func (s *Server) join(p *peer) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[p] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.peers, p)
	}
}

// replies is how many replies wait to be written, on all connections.
func (s *Server) replies() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for p := range s.peers {
		n += p.conn.Queued()
	}
	return n
}

func onReply(stage string) { failpoint.Hit(stage) }
