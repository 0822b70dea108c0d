// Package upgrade is `strata upgrade --check`: it prints the versions of the program, the running server and the
// database.
//
// It must never use the network, start a server, or change anything.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/connect"
	"strata/historystore/backup"
	"strata/historystore/schema"
	"strata/internal/plural"
	"strata/server/access"
)

// Command returns `strata upgrade`.
func Command(p *cli.Process) *cobra.Command {
	var check, asJSON bool
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Compare the versions of the program, the running server and the database",
		Long: "Print the versions of this program, the program on the search path, the running server and the database, and what the\n" +
			"next start changes. It uses no network, so it does not know whether a newer version exists. Strata does not replace\n" +
			"itself: install a new version as you installed this one.",
		Args: cli.UsageArgs(cobra.NoArgs),
	}
	config.AddFlags(cmd.Flags(), "db")
	cli.CompleteSettings(cmd)
	cmd.Flags().BoolVar(&check, "check", false, "print the versions")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !check {
			return cli.UsageError{Command: cmd, Err: errors.New("strata does not replace itself: install a new version as you installed this one; --check compares the versions")}
		}
		return compare(cmd.Context(), p, cmd.Flags(), asJSON)
	}
	return cmd
}

// report is the result of the comparison.
type report struct {
	Program  program   `json:"program"`
	OnPath   *program  `json:"onPath,omitempty"` // if the search path names another program
	Server   *server   `json:"server,omitempty"`
	Database *database `json:"database,omitempty"`
	Advice   []string  `json:"advice,omitempty"`
}

type program struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Schema  int    `json:"schema,omitempty"`
}

type server struct {
	PID     int    `json:"pid"`
	Version string `json:"version,omitempty"`
	Differs bool   `json:"differs"` // from this program
	Older   bool   `json:"older"`
	Turns   int    `json:"runningTurns"`
}

type database struct {
	Path    string   `json:"path"`
	Schema  int      `json:"schema"`
	Program string   `json:"program,omitempty"` // that brought the database to its schema
	Bytes   int64    `json:"bytes"`
	Migrate bool     `json:"migrate"` // by the next start of this program
	Newer   bool     `json:"newer"`   // than this program supports
	Copies  []string `json:"copies,omitempty"`
}

func compare(ctx context.Context, p *cli.Process, flags *pflag.FlagSet, asJSON bool) error {
	c, err := p.Load(flags)
	if err != nil {
		return err
	}
	r := report{Program: program{Version: p.Version, Commit: p.Commit, Schema: schema.Newest()}}
	if r.Program.Path, err = os.Executable(); err != nil {
		return err
	}
	r.lookPath(ctx)
	if running, err := connect.FindServer(p); err == nil {
		if err := r.addServer(ctx, running); err != nil {
			return err
		}
	}
	if err := r.addDatabase(ctx, connect.Database(p, c)); err != nil {
		return err
	}
	if asJSON {
		return p.WriteJSON(r)
	}
	return r.print(p)
}

// otherLimit is the time that another program may take to print its version.
const otherLimit = 5 * time.Second

// lookPath asks the program on the search path for its version, if that is another one.
func (r *report) lookPath(ctx context.Context) {
	path, err := exec.LookPath("strata")
	if err != nil || cli.SameFile(path, r.Program.Path) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, otherLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version")
	cmd.WaitDelay = time.Second // for the output, which a child of the program can keep open
	out, err := cmd.Output()
	other := program{Path: path, Version: "unknown"}
	if words := strings.Fields(string(out)); err == nil && len(words) > 1 && words[0] == "strata" {
		other.Version = cli.OneLine(words[1])
	}
	r.OnPath = &other
	r.advise("`strata` on the search path is another program: %s", path)
}

func (r *report) addServer(ctx context.Context, running access.ServerFile) error {
	turns, err := backup.RunningTurns(ctx, running.Database)
	if err != nil {
		return err
	}
	version, own := running.Version, r.Program.Version
	s := server{PID: running.PID, Version: version, Differs: version != own, Older: older(version, own), Turns: turns}
	r.Server = &s
	what := "has another version"
	if s.Older {
		what = "is older"
	}
	switch {
	case !s.Differs:
	case turns > 0:
		r.advise("the running server %s than this program, and runs %s: `strata stop --wait` ends it after that, "+
			"`strata stop` now; the next command or editor starts this version", what, plural.Of(turns, "turn"))
	default:
		r.advise("the running server %s than this program: `strata stop` ends it, and the next command or editor starts this version", what)
	}
	return nil
}

func (r *report) addDatabase(ctx context.Context, path string) error {
	v, err := backup.VersionOf(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	db := database{Path: path, Schema: v.Schema, Program: v.Program, Bytes: v.Bytes, Migrate: v.Schema < r.Program.Schema, Newer: v.Schema > r.Program.Schema}
	copies, err := backup.Copies(path)
	if err != nil {
		return err
	}
	for _, c := range copies {
		db.Copies = append(db.Copies, c.Path)
	}
	r.Database = &db
	switch {
	case db.Newer:
		r.advise("this program cannot open the database: install version %s or a newer one, or go back with %s", orNewer(db.Program), backup.WayBack(path))
	case db.Migrate && db.Bytes > backup.MaxCopyBytes:
		r.advise("the next start migrates the database to schema %d; it is too large for an automatic copy, so run `strata backup FILE` first", r.Program.Schema)
	case db.Migrate:
		r.advise("the next start migrates the database to schema %d, and keeps a copy beside it (%d bytes)", r.Program.Schema, db.Bytes)
	}
	return nil
}

func orNewer(version string) string {
	if version == "" {
		return "with that schema"
	}
	return cli.OneLine(version)
}

func (r *report) advise(format string, args ...any) {
	r.Advice = append(r.Advice, fmt.Sprintf(format, args...))
}

func (r *report) print(p *cli.Process) error {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	commit := ""
	if r.Program.Commit != "" {
		commit = ", commit " + r.Program.Commit
	}
	row("program", "%s%s, schema %d, %s", r.Program.Version, commit, r.Program.Schema, r.Program.Path)
	if r.OnPath != nil {
		row("on path", "%s, %s", r.OnPath.Version, r.OnPath.Path)
	}
	if r.Server == nil {
		row("server", "not running")
	} else {
		row("server", "%s, process %d, %s running", cli.OneLine(r.Server.Version), r.Server.PID, plural.Of(r.Server.Turns, "turn"))
	}
	if d := r.Database; d == nil {
		row("database", "does not exist yet")
	} else {
		by := ""
		if d.Program != "" {
			by = " of " + cli.OneLine(d.Program)
		}
		row("database", "schema %d%s, %d bytes, %s", d.Schema, by, d.Bytes, d.Path)
		for _, path := range d.Copies {
			row("copy", "%s", path)
		}
	}
	for _, line := range r.Advice {
		row("note", "%s", line)
	}
	if len(r.Advice) == 0 {
		row("note", "nothing to do")
	}
	_, err := p.Stdout.Write([]byte(b.String()))
	return err
}
