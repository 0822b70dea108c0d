// Package serve is `strata serve` and `strata stop`: it makes a server of the configuration, and ends it.
//
// It must never contain a rule of the sessions: it passes the configuration to the packages that have them.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/connect"
	"strata/historystore"
	"strata/internal/failpoint"
	"strata/llm"
	"strata/server"
	"strata/server/access"
	"strata/server/access/secrets"
	"strata/server/mcp"
	"strata/tokens"
)

// options are the flags of strata serve that are not settings.
type options struct {
	print    bool
	debug    bool
	exitIdle time.Duration
	socket   net.Listener // of a service manager; nil: none
}

// Command returns `strata serve`.
func Command(p *cli.Process) *cobra.Command {
	var opt options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server until Ctrl-C",
		Args:  cli.UsageArgs(cobra.NoArgs),
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&opt.print, "print-config", false, "print every setting with its origin, and exit")
	cmd.Flags().BoolVar(&opt.debug, "debug", false, "log at debug level and serve test methods")
	cmd.Flags().DurationVar(&opt.exitIdle, "exit-idle", 0, "exit after `DURATION` without connections; 0: never")
	cli.CompleteSettings(cmd)
	for _, flag := range []string{"model", "detection-model", "summary-model"} {
		cli.CompleteFlag(cmd, flag, CompleteModels(p))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if opt.exitIdle < 0 {
			return cli.UsageError{Command: cmd, Err: fmt.Errorf("--exit-idle: %v is negative: set 0 or more", opt.exitIdle)}
		}
		c, err := p.Load(cmd.Flags())
		switch {
		case err != nil:
			return err
		case opt.print:
			return c.Print(p.Stdout)
		}
		if opt.socket, err = activate(c); err != nil {
			return err
		}
		if opt.exitIdle > 0 && opt.socket == nil && wake(cmd.Context(), p, c) {
			return cli.Locked
		}
		return serve(cmd.Context(), p, c, opt)
	}
	return cmd
}

// serve runs a server on the configured database until ctx ends.
func serve(ctx context.Context, p *cli.Process, c *config.Config, opt options) error {
	if err := failpoint.Arm(p.Getenv(failpoint.Env)); err != nil {
		return err
	}
	if opt.exitIdle > 0 && opt.socket == nil {
		adjustForClients(c)
	}
	log, closeLog, err := newLog(c, p.Stderr, opt.debug)
	if err != nil {
		return err
	}
	defer closeLog.Close()
	if err := os.MkdirAll(c.Folders.State, 0o700); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	metrics := server.NewMetrics()
	ctx, end := context.WithCancel(ctx)
	defer end()
	damage := make(chan error, 1)
	store, err := historystore.Open(ctx, c.DB, historystore.Options{Log: log, Version: p.Version, Observe: metrics.StoreLatency, OnDamage: func(err error) {
		damage <- err
		end()
	}})
	switch {
	case errors.Is(err, historystore.ErrLocked):
		fmt.Fprintf(p.Stderr, "strata: %v\n", err)
		return cli.Locked
	case err != nil:
		return err
	}
	err = errors.Join(serveStore(ctx, p, c, opt, store, metrics, log), closeStore(store))
	select {
	case damaged := <-damage: // what else failed did so because of it
		return damaged
	default:
		return err
	}
}

// storeLimit is how long the database may take to close. With the limit of the server's shutdown that makes 15 seconds.
const storeLimit = 3 * time.Second

// closeStore closes the store, which releases the lock of the database. If a disk does not respond the end of the process
// releases it.
func closeStore(store *historystore.Store) error {
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(storeLimit):
		return fmt.Errorf("database: not closed within %v; what was stored is complete", storeLimit)
	}
}

// serveStore runs a server on an open store until ctx ends.
func serveStore(ctx context.Context, p *cli.Process, c *config.Config, opt options, store *historystore.Store, metrics *server.Metrics, log *slog.Logger) error {
	client, err := llm.New(Client(c, p.Getenv, log))
	if err != nil {
		return err
	}
	defer client.Close()
	options, err := serverOptions(p, c, opt, client, log)
	if err != nil {
		return err
	}
	mcpHost := mcp.New(mcp.Options{Log: log, Version: p.Version})
	defer mcpHost.Close()
	options.MCP = mcpHost
	options.Metrics, options.Prepare = metrics, func() { prepare(client, c.Model) }
	first := firstServer(p, log)
	if first.PID != 0 {
		options.ServerFile = ""
	}
	options.Socket = opt.socket
	options.Host = host{func(r server.Ready) {
		welcome(p, c, r, first)
		notifyReady(log)
	}}
	s, err := server.New(store, options)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// firstServer returns the server, with another database, that clients find already; its PID is 0 if there is none. That
// server keeps its file: if this server replaced the file and removed it at its end, clients could not find the first.
// A file with the ID of this process is that of a killed server: in a container, each server is process 1.
func firstServer(p *cli.Process, log *slog.Logger) access.ServerFile {
	first, err := connect.FindServer(p)
	if err != nil || first.PID == os.Getpid() {
		return access.ServerFile{}
	}
	log.Warn("clients find another server, which started first", slog.Int("pid", first.PID), slog.String("database", first.Database))
	return first
}

// prepare loads the list of models and the table that counts the model's tokens, so that the first prompt does not wait
// for them. They take about 50 ms of processor time and 8 MB of memory, so a server without a session does without them.
func prepare(client *llm.Client, model string) {
	client.Models()
	m, _ := client.Model(model)
	tokens.For(m.Encoding).Count("")
}

// adjustForClients adjusts the configuration of a server that was started for a client, without a user at its terminal:
// the server logs to a file, and uses a free port if another program, such as another user's server, has the usual port.
func adjustForClients(c *config.Config) {
	if c.Log.File == "" {
		c.Log.File = filepath.Join(c.Folders.State, "strata.log")
	}
	if !c.IsDefault("listen") {
		return
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		c.Listen = "127.0.0.1:0"
		return
	}
	l.Close()
}

// host implements server.Host with the system's clock.
type host struct{ ready func(server.Ready) }

// Now returns the time.
func (host) Now() time.Time { return time.Now() }

// Ready passes on where the server listens.
func (h host) Ready(r server.Ready) { h.ready(r) }

// welcome prints the addresses and files of the server. first is the server that clients find instead; its PID is 0 if
// there is none.
func welcome(p *cli.Process, c *config.Config, r server.Ready, first access.ServerFile) {
	token, log := c.TokenFile, c.Log.File
	if !c.Token.IsZero() {
		token = "from STRATA_TOKEN"
	}
	if log == "" {
		log = "standard error"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HUD        %s\n", hudAddress(r, cli.IsTerminal(p.Stdout)))
	fmt.Fprintf(&b, "WebSocket  %s\n", r.WebSocket)
	fmt.Fprintf(&b, "token      %s\n", token)
	fmt.Fprintf(&b, "database   %s\n", r.Database)
	fmt.Fprintf(&b, "log        %s\n", log)
	fmt.Fprintf(&b, "model      %s\n", c.Model)
	b.WriteString(modelAdvice(p, c))
	if first.PID != 0 {
		fmt.Fprintf(&b, "clients    find process %d, which started first, with the database %s.\n", first.PID, first.Database)
		b.WriteString("           This server is reachable at the addresses above only. Stop the other server to change this.\n")
	}
	fmt.Fprint(p.Stdout, b.String())
}

// hudAddress describes how to open the HUD. Logs of service managers and containers do not get the code: their readers could
// use it.
func hudAddress(r server.Ready, terminal bool) string {
	if terminal {
		return r.HUD + "  (works once, for 10 minutes; `strata hud` prints another)"
	}
	page, _, _ := strings.Cut(r.HUD, "?")
	return page + "  (`strata hud` prints an address that opens it)"
}

// modelAdvice returns how to select a model, if no source selected one and the offline model replies.
func modelAdvice(p *cli.Process, c *config.Config) string {
	if c.Model != config.OfflineModel || !c.IsDefault("model") {
		return ""
	}
	var found []string
	keys := access.KeysIn(c.Folders.State, secrets.None("not needed"))
	for name, provider := range c.Providers {
		if provider.APIKeyEnv == "" {
			continue
		}
		if p.Getenv(provider.APIKeyEnv) != "" {
			found = append(found, name+" ("+provider.APIKeyEnv+")")
		} else if stored, err := keys.Load(name); keys.InKeyring(name) || err == nil && stored != "" {
			found = append(found, name+" (strata login)")
		}
	}
	const how = "set `model: PROVIDER/MODEL` in %s, STRATA_MODEL or --model, or choose in the HUD or the editor.\n"
	file := c.File
	if file == "" {
		file = filepath.Join(c.Folders.Config, config.FileName)
	}
	if len(found) == 0 {
		return fmt.Sprintf("           This model replies without a network. For another, "+how, file)
	}
	return fmt.Sprintf("           This model replies without a network. Keys are set for %s; Strata calls a paid service only if you select its model: "+how,
		strings.Join(slices.Sorted(slices.Values(found)), ", "), file)
}
