// Package settings is `strata config`: it prints the configuration in force, prints the path of its file, and opens the
// file in an editor.
//
// It must never print a secret.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/connect"
)

// Command returns `strata config`.
func Command(p *cli.Process) *cobra.Command {
	return cli.Group("config", "Print or edit the configuration", newShow(p), newEdit(p), newPath(p))
}

func newShow(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "show [KEY...]",
		Short: "Print settings with their origins, by default all; secrets are masked",
		Long: "Print settings with their origins, by default all; secrets are masked.\n" +
			"A key is written with dots, such as tools.max_steps. The key of a group, such as tools, prints all of its settings.",
		ValidArgsFunction: completeKeys(p),
		RunE: func(_ *cobra.Command, keys []string) error {
			c, err := p.Load(nil)
			if err != nil {
				return err
			}
			return c.Print(p.Stdout, keys...)
		},
	}
}

// completeKeys completes the keys of settings.
func completeKeys(p *cli.Process) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := p.Load(nil)
		if err != nil {
			c = config.Default()
		}
		return cli.Beginning(typed, c.Keys()), cobra.ShellCompDirectiveNoFileComp
	}
}

func newPath(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print the path of the configuration file, which may not exist yet",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			path, err := p.ConfigPath()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.Stdout, path)
			return err
		},
	}
}

func newEdit(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "edit",
		Short: "Open the configuration file in an editor, and check it afterwards",
		Long: "Open the configuration file in the editor that VISUAL or EDITOR names, and check it afterwards.\n" +
			"The file is created if it is missing. A running server uses a change after its next start.",
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return edit(p) },
	}
}

// template is the content of a new file.
const template = "# Settings of Strata: docs/configuration.md lists them, `strata config show` prints those in force.\n"

// edit opens the file in the user's editor and reports mistakes in it.
func edit(p *cli.Process) error {
	path, err := p.ConfigPath()
	if err != nil {
		return err
	}
	changed, err := change(p, path)
	if err != nil {
		return err
	}
	if !changed {
		fmt.Fprintln(p.Stderr, "Nothing was changed.")
	}
	if _, err := p.Load(nil); err != nil && (changed || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if _, err := connect.FindServer(p); err == nil && changed {
		fmt.Fprintln(p.Stderr, "The running server keeps its settings until it is stopped: strata stop")
	}
	return nil
}

// change runs the user's editor on a file and reports whether the file changed. A file that did not exist is created, and
// removed again if the user leaves it as it is.
func change(p *cli.Process, path string) (changed bool, err error) {
	before, err := os.ReadFile(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		before, err = []byte(template), create(path)
	}
	if err != nil {
		return false, fmt.Errorf("configuration: %w", err)
	}
	err = runEditor(p, path)
	after, readErr := os.ReadFile(path)
	changed = !bytes.Equal(before, after)
	if isNew && readErr == nil && !changed {
		readErr = os.Remove(path)
	}
	if readErr != nil {
		err = errors.Join(err, fmt.Errorf("configuration: %w", readErr))
	}
	return changed, err
}

// create creates a file of the user's own.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(template)
	return errors.Join(err, f.Close())
}

// runEditor runs the user's editor on a file and waits for it. As long as it runs, Ctrl-C is its own.
func runEditor(p *cli.Process, path string) error {
	cmd := editor(p.Getenv, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	if f, ok := cli.File(p.Stdout); ok {
		cmd.Stdout = f // a terminal
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the editor: %w; set EDITOR to another one", err)
	}
	signal.Ignore(os.Interrupt) // not before the start: the editor would inherit it
	defer signal.Reset(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("editor: %w", err)
	}
	return nil
}

// editor returns the command of the user's editor. VISUAL and EDITOR may contain arguments, as for git.
func editor(getenv func(string) string, path string) *exec.Cmd {
	line := getenv("VISUAL")
	if strings.TrimSpace(line) == "" {
		line = getenv("EDITOR")
	}
	blank := strings.TrimSpace(line) == ""
	if runtime.GOOS == "windows" {
		if blank {
			line = "notepad"
		}
		words := strings.Fields(line)
		return exec.Command(words[0], append(words[1:], path)...)
	}
	if blank {
		line = "vi"
	}
	return exec.Command("sh", "-c", line+` "$1"`, "sh", path)
}
