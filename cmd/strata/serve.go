package main

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
	"sync"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/config"
	"strata/historystore"
	"strata/internal/failpoint"
	"strata/llm"
	"strata/server"
	"strata/server/access"
	"strata/tokens"
)

// serveOptions are the flags of strata serve that are no settings.
type serveOptions struct {
	print    bool
	debug    bool
	exitIdle time.Duration
}

func newServe(p *process) *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server until Ctrl-C",
		Args:  usageArgs(cobra.NoArgs),
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&opt.print, "print-config", false, "print every setting with where it came from, and end")
	cmd.Flags().BoolVar(&opt.debug, "debug", false, "log at debug level and serve the methods for tests")
	cmd.Flags().DurationVar(&opt.exitIdle, "exit-idle", 0, "end when nobody was connected for this `DURATION`; 0 never ends")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if opt.exitIdle < 0 {
			return usageError{cmd, fmt.Errorf("--exit-idle: %v is below 0", opt.exitIdle)}
		}
		c, err := p.load(cmd.Flags())
		switch {
		case err != nil:
			return err
		case opt.print:
			return c.Print(p.stdout)
		}
		return p.serve(cmd.Context(), c, opt)
	}
	return cmd
}

// serve runs a server on the configured database until ctx ends.
func (p *process) serve(ctx context.Context, c *config.Config, opt serveOptions) error {
	if err := failpoint.Arm(p.getenv(failpoint.Env)); err != nil {
		return err
	}
	if opt.exitIdle > 0 {
		settleForClients(c)
	}
	log, closeLog, err := newLog(c, p.stderr, opt.debug)
	if err != nil {
		return err
	}
	defer closeLog.Close()
	if err := os.MkdirAll(c.Folders.State, 0o700); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	metrics := server.NewMetrics()
	store, err := historystore.Open(ctx, c.DB, historystore.Options{Log: log, Observe: metrics.StoreLatency})
	switch {
	case errors.Is(err, historystore.ErrLocked):
		fmt.Fprintf(p.stderr, "strata: %v\n", err)
		return exitError(exitLocked)
	case err != nil:
		return err
	}
	return errors.Join(p.serveStore(ctx, c, opt, store, metrics, log), store.Close())
}

// serveStore runs a server on an open store until ctx ends.
func (p *process) serveStore(ctx context.Context, c *config.Config, opt serveOptions, store *historystore.Store, metrics *server.Metrics, log *slog.Logger) error {
	client, err := llm.New(llm.Options{Providers: providers(c), Models: models(c), Log: log, Getenv: p.getenv})
	if err != nil {
		return err
	}
	defer client.Close()
	var preparing sync.WaitGroup
	preparing.Go(func() { prepare(client, c.Model) })
	defer preparing.Wait()
	options, err := p.serverOptions(c, opt, client, log)
	if err != nil {
		return err
	}
	options.Metrics = metrics
	first := p.firstServer(log)
	if first.PID != 0 {
		options.ServerFile = ""
	}
	options.OnReady = func(r server.Ready) { p.welcome(c, r, first) }
	s, err := server.New(store, options)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// firstServer gives the server, on another database, that clients find already; PID 0 if there is none. It keeps the
// file that they find it by: taken over, it would be gone for good when this server ends, and nobody could reach the first.
func (p *process) firstServer(log *slog.Logger) access.ServerFile {
	first, err := p.findServer()
	if err != nil {
		return access.ServerFile{}
	}
	log.Warn("clients find another server, which was here first", slog.Int("pid", first.PID), slog.String("database", first.Database))
	return first
}

// prepare makes, beside the start, what the first prompt would have to wait for: the list of models and the table that
// counts the model's tokens, which take some 50 ms of processor time.
func prepare(client *llm.Client, model string) {
	client.Models()
	m, _ := client.Model(model)
	tokens.For(m.Encoding).Count("")
}

// settleForClients adjusts a server that was started for a client, with nobody at its terminal: it logs to a file,
// and where another program, maybe another user's server, has the usual port, it takes a free one.
func settleForClients(c *config.Config) {
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

// welcome tells the user at the terminal where everything is. first is the server that clients find instead, if any.
func (p *process) welcome(c *config.Config, r server.Ready, first access.ServerFile) {
	token, log := c.TokenFile, c.Log.File
	if !c.Token.IsZero() {
		token = "from STRATA_TOKEN"
	}
	if log == "" {
		log = "standard error"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HUD        %s  (works once, for 10 minutes; `strata hud` gives another)\n", r.HUD)
	fmt.Fprintf(&b, "WebSocket  %s\n", r.WebSocket)
	fmt.Fprintf(&b, "token      %s\n", token)
	fmt.Fprintf(&b, "database   %s\n", r.Database)
	fmt.Fprintf(&b, "log        %s\n", log)
	fmt.Fprintf(&b, "model      %s\n", c.Model)
	b.WriteString(p.modelAdvice(c))
	if first.PID != 0 {
		fmt.Fprintf(&b, "clients    find process %d, which was here first, on %s.\n", first.PID, first.Database)
		b.WriteString("           This server is reached at the addresses above only; end that one to change this.\n")
	}
	fmt.Fprint(p.stdout, b.String())
}

// modelAdvice says how to choose a model where nobody did and the offline one answers.
func (p *process) modelAdvice(c *config.Config) string {
	if c.Model != config.OfflineModel || !c.IsDefault("model") {
		return ""
	}
	var keys []string
	for name, provider := range c.Providers {
		if provider.APIKeyEnv != "" && p.getenv(provider.APIKeyEnv) != "" {
			keys = append(keys, name+" ("+provider.APIKeyEnv+")")
		}
	}
	const how = "set `model: PROVIDER/MODEL` in %s, STRATA_MODEL or --model, or choose in the HUD or the editor.\n"
	file := c.File
	if file == "" {
		file = filepath.Join(c.Folders.Config, config.FileName)
	}
	if len(keys) == 0 {
		return fmt.Sprintf("           It answers without a network. For another, "+how, file)
	}
	return fmt.Sprintf("           It answers without a network. There is a key for %s, and nothing is sent there unasked: "+how,
		strings.Join(slices.Sorted(slices.Values(keys)), ", "), file)
}
