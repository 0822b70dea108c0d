// Package doctor is `strata doctor`: it checks configuration, folders, token, database, address, MCP servers and providers.
//
// Without --fix it must never change anything, beyond a temporary file that shows whether a folder is writable. With --fix
// it must never change data that cannot be made again from other data.
package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/serve"
	"strata/historystore"
	"strata/server/access"
)

// Command returns `strata doctor`.
func Command(p *cli.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, folders, token, database, port, MCP servers and providers",
		Long: "Check everything that the server needs, and print for each check whether it is ok, or how to correct it.\n" +
			"Providers with a key are asked for their models; no prompt is sent. MCP servers are not started: see strata mcp test.\n" +
			"With --fix, doctor also corrects the faults whose correction loses nothing: permissions of Strata's files, files that a\n" +
			"crash left, damaged indexes of the database, and a log that was not written into it. Each fix is printed before and after.\n" +
			"The exit code is 1 if a check fails and is not fixed.",
		Args: cli.UsageArgs(cobra.NoArgs),
	}
	var fix, asJSON bool
	cmd.Flags().BoolVar(&fix, "fix", false, "fix the faults that can be corrected without a loss")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the checks and fixes as JSON")
	config.AddFlags(cmd.Flags(), "listen", "db", "token_file", "model", "workspaces.roots", "behind_proxy", "tls.cert", "tls.key")
	cli.CompleteSettings(cmd)
	cli.CompleteFlag(cmd, "model", serve.CompleteModels(p))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d := &doctor{Process: p, fixes: fix, json: asJSON, lines: []line{}}
		d.examine(cmd.Context(), cmd.Flags())
		if err := d.report(); err != nil {
			return err
		}
		if d.failed {
			return cli.Failed
		}
		return nil
	}
	return cmd
}

// doctor runs the checks in order and prints a line for each.
type doctor struct {
	*cli.Process
	config  *config.Config
	running access.ServerFile // PID 0 if no server runs
	failed  bool
	fixes   bool // --fix
	json    bool // --json
	lines   []line
}

// line is the result of a check, or a fix. Level is ok, warn or fail; fix before a fix, and done after it.
type line struct {
	Level   string `json:"level"`
	Subject string `json:"subject"`
	Message string `json:"message"`
}

func (d *doctor) ok(subject, format string, args ...any)   { d.line("ok", subject, format, args) }
func (d *doctor) warn(subject, format string, args ...any) { d.line("warn", subject, format, args) }
func (d *doctor) fail(subject, format string, args ...any) {
	d.failed = true
	d.line("fail", subject, format, args)
}

func (d *doctor) line(level, subject, format string, args []any) {
	l := line{level, subject, fmt.Sprintf(format, args...)}
	d.lines = append(d.lines, l)
	if !d.json {
		fmt.Fprintf(d.Stdout, "%-4s  %-10s %s\n", l.Level, l.Subject, l.Message)
	}
}

// report prints all lines, if they are wanted as JSON.
func (d *doctor) report() error {
	if !d.json {
		return nil
	}
	return d.WriteJSON(struct {
		Failed bool   `json:"failed"`
		Checks []line `json:"checks"`
	}{d.failed, d.lines})
}

func (d *doctor) examine(ctx context.Context, flags *pflag.FlagSet) {
	if !d.checkConfig(flags) {
		return // all other checks need a configuration
	}
	d.checkPermissions(ctx) // which other checks need
	d.checkServer()
	d.checkFolder("data", filepath.Dir(d.config.DB), d.config.IsDefault("db"))
	d.checkFolder("state", d.config.Folders.State, true)
	d.checkLog()
	d.checkToken()
	d.checkDatabase(ctx)
	d.checkAddress()
	d.checkTLS()
	d.checkRoots()
	d.checkMCPServers()
	d.checkProviders(ctx)
}

func (d *doctor) checkConfig(flags *pflag.FlagSet) bool {
	c, err := d.Load(flags)
	if err == nil {
		_, err = serve.Rules(c)
	}
	switch {
	case err != nil:
		d.fail("config", "%v", err)
		return false
	case c.File == "":
		d.ok("config", "defaults; no file at %s", filepath.Join(c.Folders.Config, config.FileName))
	default:
		d.ok("config", "%s", c.File)
	}
	d.config = c
	return true
}

func (d *doctor) checkServer() {
	running, err := connect.FindServer(d.Process)
	switch {
	case err == nil:
		d.running = running
		d.ok("server", "process %d at %s", running.PID, running.URL)
	case errors.Is(err, fs.ErrNotExist):
		d.ok("server", "not running; serve, stdio and ask start a server")
	case errors.Is(err, access.ErrStale):
		d.staleServer(err)
	default:
		d.fail("server", "%v", err)
	}
}

// checkFolder checks that a folder is writable or can be created, and that it is private if it is Strata's own: the mode
// of a folder with other content is not Strata's to judge.
func (d *doctor) checkFolder(subject, folder string, own bool) {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.checkParent(subject, folder)
		return
	case err != nil:
		d.fail(subject, "%v", err)
		return
	case !info.IsDir():
		d.fail(subject, "%s is not a folder: move it", folder)
		return
	}
	if err := writable(folder); err != nil {
		d.fail(subject, "%v: make the folder writable, free disk space, or configure another folder", err)
		return
	}
	if own && exposed(info) {
		return // a line says so
	}
	d.ok(subject, "%s", folder)
}

// checkParent checks that a missing folder or file can be created.
func (d *doctor) checkParent(subject, path string) {
	parent := filepath.Dir(path)
	for {
		info, err := os.Stat(parent)
		if err == nil && info.IsDir() {
			break
		}
		if next := filepath.Dir(parent); err != nil && next != parent {
			parent = next
			continue
		}
		d.fail(subject, "%s cannot be created: %s is not a folder", path, parent)
		return
	}
	if err := writable(parent); err != nil {
		d.fail(subject, "%s cannot be created: %v", path, err)
		return
	}
	d.ok(subject, "%s will be created", path)
}

// leastRoom is the free space, in bytes, of a folder that counts as writable: a few prompts and replies.
const leastRoom = 1 << 20

// writable writes a file, because permissions alone do not show read-only and full disks.
func writable(folder string) error {
	f, err := os.CreateTemp(folder, ".strata-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, leastRoom))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func (d *doctor) checkLog() {
	name := d.config.Log.File
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.checkParent("log", name)
	case err != nil:
		d.fail("log", "%v: set log.file to another file", err)
	default:
		f.Close()
		d.ok("log", "%s", name)
	}
}

func (d *doctor) checkToken() {
	if !d.config.Token.IsZero() {
		d.ok("token", "from STRATA_TOKEN")
		return
	}
	_, err := access.LoadToken(d.config.TokenFile)
	switch {
	case err == nil:
		d.ok("token", "%s", d.config.TokenFile)
	case errors.Is(err, fs.ErrNotExist):
		d.ok("token", "%s will be created", d.config.TokenFile)
	default:
		d.fail("token", "%v", err)
	}
}

func (d *doctor) checkDatabase(ctx context.Context) {
	path := d.config.DB
	d.unfinishedRestore(path)
	err := historystore.Check(ctx, path)
	if errors.Is(err, historystore.ErrDamaged) && d.damagedIndexes(ctx, path) {
		err = historystore.Check(ctx, path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok("database", "%s will be created", path)
		return
	case errors.Is(err, historystore.ErrReadOnly):
		d.fail("database", "%v: make the file writable", err)
		return
	case err != nil:
		d.fail("database", "%v", err)
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		d.fail("database", "%v", err)
		return
	}
	pid, held := historystore.Holder(path)
	switch {
	case !held:
		d.leftLog(ctx, path)
		d.ok("database", "%s, %d bytes, intact, not in use", path, info.Size())
	case pid == d.running.PID:
		d.ok("database", "%s, %d bytes, intact, in use by the running server", path, info.Size())
	default:
		d.warn("database", "%s is in use by process %d, which no server.json names: end that process, or check whether it was started with another XDG_RUNTIME_DIR", path, pid)
	}
}

func (d *doctor) checkAddress() {
	address := d.config.Listen
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		l.Close()
		d.ok("address", "%s is free", address)
	case d.running.PID != 0 && samePort(d.running.URL, address):
		d.ok("address", "%s is in use by the running server", address)
	case d.ofService(address):
		d.ok("address", "%s is in use by the socket of the service", address)
	default:
		d.fail("address", "%v: end the program that listens there, or set another address with --listen or the key listen", err)
	}
}

func (d *doctor) ofService(address string) bool {
	s, err := connect.Service(d.Process, d.config)
	return err == nil && s.Listen == address
}

func (d *doctor) checkTLS() {
	if d.config.TLS.Cert == "" {
		return
	}
	if _, err := tls.LoadX509KeyPair(d.config.TLS.Cert, d.config.TLS.Key); err != nil {
		d.fail("tls", "%s, %s: %v: tls.cert and tls.key must be a certificate and its private key, in PEM", d.config.TLS.Cert, d.config.TLS.Key, err)
		return
	}
	d.ok("tls", "%s", d.config.TLS.Cert)
}

func (d *doctor) checkRoots() {
	for _, root := range d.config.Workspaces.Roots {
		info, err := os.Stat(root)
		switch {
		case err != nil:
			d.fail("root", "%v: create the folder, or remove it from workspaces.roots", err)
		case !info.IsDir():
			d.fail("root", "%s is not a folder: remove it from workspaces.roots", root)
		default:
			d.ok("root", "%s", root)
		}
	}
}

// samePort reports whether the address of a server and an address to listen on have the same port.
func samePort(server, listen string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	_, port, err := net.SplitHostPort(listen)
	return err == nil && port == u.Port()
}
