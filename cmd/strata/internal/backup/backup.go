// Package backup is `strata backup` and `strata restore`: it copies the database to a file, and makes such a file the
// database.
//
// It must never need a server, or remove a file.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/connect"
	"strata/historystore"
	store "strata/historystore/backup"
	"strata/historystore/schema"
	"strata/internal/failpoint"
	"strata/internal/plural"
	"strata/internal/shellword"
)

// Command returns `strata backup`.
func Command(p *cli.Process) *cobra.Command {
	var force, asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database to a file",
		Long: "Copy the database, with all sessions, to a file that only you can read. The server may be running: the file contains the\n" +
			"state of one moment. The file is checked, and gets its name when it is complete. `strata restore FILE` brings it back.",
		Args:              cli.UsageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: cli.AnyFile,
	}
	config.AddFlags(cmd.Flags(), "db")
	cli.CompleteSettings(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "replace the file if it exists")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return backup(cmd.Context(), p, cmd.Flags(), args[0], force, asJSON)
	}
	return cmd
}

func backup(ctx context.Context, p *cli.Process, flags *pflag.FlagSet, file string, force, asJSON bool) error {
	c, err := p.Load(flags)
	if err != nil {
		return err
	}
	path := connect.Database(p, c)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("backup: %s does not exist: nothing to back up", path)
	}
	content, err := store.Create(ctx, path, file, store.Options{Replace: force, Progress: progress(p)})
	if errors.Is(err, store.ErrExists) {
		err = fmt.Errorf("%w; --force replaces it", err)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	warnOfResults(p, c)
	if asJSON {
		return p.WriteJSON(struct {
			File string `json:"file"`
			store.Content
		}{file, content})
	}
	_, err = fmt.Fprintf(p.Stdout, "backed up %s to %s\n", describe(content), file)
	return err
}

// warnOfResults names results of turns that are not in the database yet.
func warnOfResults(p *cli.Process, c *config.Config) {
	found, err := filepath.Glob(filepath.Join(c.Folders.State, "recovery-*.json"))
	if err == nil && len(found) > 0 {
		fmt.Fprintf(p.Stderr, "strata: the backup lacks %s that could not be stored yet: start the server, which stores them, and back up again (%s)\n",
			plural.Of(len(found), "turn result"), filepath.Join(c.Folders.State, "recovery-*.json"))
	}
}

func describe(c store.Content) string {
	return fmt.Sprintf("%s, %s, %d bytes, schema %d", plural.Of(int(c.Sessions), "session"), plural.Of(int(c.Messages), "message"), c.Bytes, c.Schema)
}

// progress returns a function that shows progress if standard error is a terminal, else nil.
func progress(p *cli.Process) store.Progress {
	if !cli.IsTerminal(p.Stderr) {
		return nil
	}
	shown := int64(-1)
	return func(copied, all int64) {
		percent := copied * 100 / max(all, 1)
		if percent == shown {
			return
		}
		shown = percent
		end := ""
		if copied == all {
			end = "\r\x1b[K" // the result follows
		}
		fmt.Fprintf(p.Stderr, "\r%3d %% of %d bytes%s", percent, all, end)
	}
}

// RestoreCommand returns `strata restore`.
func RestoreCommand(p *cli.Process) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the database by a backup",
		Long: "Check a file of `strata backup`, or a copy that the server kept before an upgrade, and make it the database. The previous\n" +
			"database is kept beside it. Stop the server first. The next start migrates an older database.",
		Args:              cli.UsageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: cli.AnyFile,
	}
	config.AddFlags(cmd.Flags(), "db")
	cli.CompleteSettings(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return restore(cmd.Context(), p, cmd.Flags(), args[0], asJSON)
	}
	return cmd
}

func restore(ctx context.Context, p *cli.Process, flags *pflag.FlagSet, file string, asJSON bool) error {
	if err := failpoint.Arm(p.Getenv(failpoint.Env)); err != nil {
		return err
	}
	c, err := p.Load(flags)
	if err != nil {
		return err
	}
	path := connect.Database(p, c)
	if original := store.Original(file); original != "" && !flags.Changed("db") && !cli.SameFile(original, path) {
		return fmt.Errorf("restore: %s is a copy of another database than %s: add --db %s to restore that one", file, path, shellword.Quote(original))
	}
	r, err := store.Restore(ctx, file, path, progress(p))
	switch {
	case errors.Is(err, historystore.ErrLocked):
		fmt.Fprintf(p.Stderr, "strata: restore: %v; run `strata stop` first\n", err)
		return cli.Locked
	case err != nil:
		return fmt.Errorf("restore: %w", err)
	case asJSON:
		return p.WriteJSON(struct {
			Database string `json:"database"`
			store.Restored
		}{path, r})
	}
	fmt.Fprintf(p.Stdout, "restored %s from %s\n", describe(r.Content), file)
	if r.Schema < schema.Newest() {
		fmt.Fprintf(p.Stdout, "the next start of this program migrates the database to schema %d\n", schema.Newest())
	}
	if r.Replaced != "" {
		fmt.Fprintf(p.Stdout, "the previous database is kept: %s\n", r.Replaced)
	}
	return nil
}
