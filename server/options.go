package server

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"strata/historystore"
	"strata/rpc"
	"strata/server/access"
	"strata/server/budgets"
	"strata/server/wire"
	"strata/session"
	"strata/session/choices"
	"strata/session/servers"
	"strata/session/workspace"
)

// The default bounds of a server. Those of a single connection are in rpc.
const (
	DefaultConnections = 256
	DefaultSessions    = 1000
	DefaultRetention   = 7 * 24 * time.Hour
	DefaultIdleUnload  = 30 * time.Minute
)

// Options are the settings and dependencies of a server. Token, StateDir and Models are required; a zero field
// means its default.
type Options struct {
	Version string
	Listen  string       // default: 127.0.0.1:7717; port 0 selects a free port
	Socket  net.Listener // of a service manager, at Listen; default: the server opens one
	TLS     *tls.Config
	Proxy   bool // a reverse proxy terminates TLS

	Token      access.Token
	TokenFile  string   // path, reported to clients; empty if the token is in no file
	Origins    []string // additional allowed origins
	Hosts      []string // additional allowed Host values
	ServerFile string   // path of the file by which editors find the server; default: none

	Executable  string   // path of the program, reported to clients; empty if unknown
	StateDir    string   // the server's own folder, in which no session may work
	LogFile     string   // path, reported to clients; empty if there is none
	Roots       []string // folders in which sessions may work; default: any
	Own         []string // further files and folders of the server's own, which no session reads; they need not exist
	CommandsDir string   // folder with the user's command files; default: none

	Secrets []string // patterns of files that need an explicit allow; default: the built-in ones

	Retention  time.Duration // of deleted sessions
	RequestAge time.Duration // of the kept requests of calls; default: 30 days
	IdleUnload time.Duration // idle time before a session without subscribers is unloaded
	ExitIdle   time.Duration // idle time without connections before the server exits; default: never

	RequestBytes int64 // maximum total size of the kept requests; default: 64 MiB

	Connections int   // maximum
	Requests    int   // maximum in flight on each connection
	Memory      int   // maximum number of sessions in memory
	FrameBytes  int64 // maximum size of a WebSocket message

	Heartbeat time.Duration // interval of pings, two of which may be missed; default: 20 s
	Stall     time.Duration // time before a connection that takes no bytes is closed; default: 30 s

	CompactionWorkers int // maximum concurrent compactions; default: 2

	Sessions session.Settings
	Outlines *Outlines // of workspaces; nil: none
	Debug    bool      // serve the debug methods

	MCP        servers.Source       // runs the MCP servers of sessions; default: none are used
	MCPServers []servers.Definition // of the user's configuration

	Budgets []budgets.Budget // with different names

	Models     Models
	Prepare    func()             // called once, in the background, when the first session is created, or soon after it is opened; default: nothing
	Workspaces choices.Workspaces // default: no folder has rules of its own
	Host       Host               // default: the system's clock
	Metrics    *Metrics           // default: new ones
	Log        *slog.Logger
}

// Outlines are the settings of the indexes of workspaces. A zero field means its default.
type Outlines struct {
	Files      int      // maximum number of files in an index; default: 20,000
	TotalBytes int64    // maximum size of the files with outlines; default: 64 MiB
	Skip       []string // folders that are not indexed themselves, such as the user's home
}

// Models are the language models and their providers. Methods are safe for concurrent use.
type Models interface {
	session.Models
	// Catalogue returns the models on offer: those whose provider can be called now.
	Catalogue() []wire.Model
	// Providers returns the configured providers, sorted by name.
	Providers() []wire.Provider
	// SetKey sets the key of a provider for the life of the process; an empty key removes it.
	SetKey(provider, key string) error
	// OfferKey gives a provider a key for the life of the process, for use if it has no other. It reports whether the key
	// is used from now on.
	OfferKey(provider, key string) (used bool)
}

// Host is the process that runs the server. Methods are safe for concurrent use.
type Host interface {
	// Now returns the time.
	Now() time.Time
	// Ready is called once, when the server listens.
	Ready(Ready)
}

// Ready tells where a server listens.
type Ready struct {
	HUD       string // address with a one-use code
	WebSocket string
	Database  string // path
}

// system is the default Host.
type system struct{}

func (system) Now() time.Time { return time.Now() }
func (system) Ready(Ready)    {}

func (o Options) withDefaults() Options {
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:7717")
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.RequestAge = cmp.Or(o.RequestAge, historystore.RequestRetention)
	o.RequestBytes = cmp.Or(o.RequestBytes, historystore.MaxRequestBytes)
	o.IdleUnload = cmp.Or(o.IdleUnload, DefaultIdleUnload)
	o.Connections = cmp.Or(o.Connections, DefaultConnections)
	o.Memory = cmp.Or(o.Memory, DefaultSessions)
	o.FrameBytes = cmp.Or(o.FrameBytes, rpc.DefaultFrameBytes)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Metrics = cmp.Or(o.Metrics, NewMetrics())
	if o.Prepare == nil {
		o.Prepare = func() {}
	}
	if o.Host == nil {
		o.Host = system{}
	}
	if o.Secrets == nil {
		o.Secrets = []string{workspace.BuiltinSecrets}
	}
	return o
}
