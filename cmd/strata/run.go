package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/ask"
	"strata/cmd/strata/internal/backup"
	"strata/cmd/strata/internal/bridge"
	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/doctor"
	"strata/cmd/strata/internal/health"
	"strata/cmd/strata/internal/hud"
	"strata/cmd/strata/internal/login"
	"strata/cmd/strata/internal/mcp"
	"strata/cmd/strata/internal/replay"
	"strata/cmd/strata/internal/serve"
	"strata/cmd/strata/internal/service"
	"strata/cmd/strata/internal/sessions"
	"strata/cmd/strata/internal/settings"
	"strata/cmd/strata/internal/token"
	"strata/cmd/strata/internal/upgrade"
)

// run executes one command line and returns the exit code. The end of ctx interrupts the command.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	p := &cli.Process{Stdin: stdin, Stdout: cli.NewOutput(stdout), Stderr: stderr, Getenv: getenv, Environ: os.Environ, Version: currentVersion(), Commit: currentCommit()}
	root := newRoot(p)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return int(cli.Interrupted) // the user who pressed Ctrl-C needs no message
	}
	return p.ExitCode(err)
}

func newRoot(p *cli.Process) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:           "strata",
		Short:         "Session server for AI chat in editors",
		Args:          cli.UsageArgs(cobra.NoArgs),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return writeVersion(p)
			}
			return cmd.Help()
		},
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.UsageError{Command: cmd, Err: err} })
	// Cobra's own flag for the version would take a template, and package text/template with it: see paragraph in web.
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "show the version")
	root.PersistentFlags().StringVar(&p.ConfigFile, "config", "", "configuration `FILE` (default: strata.yaml in the configuration folder)")
	cli.CompleteFlag(root, "config", cli.AnyFile)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddCommand(serve.Command(p), serve.StopCommand(p), service.Command(p), bridge.Command(p), ask.Command(p), sessions.Command(p), hud.Command(p), settings.Command(p),
		token.Command(p), mcp.Command(p), login.Command(p), login.LogoutCommand(p), replay.Command(p), doctor.Command(p), health.Command(p),
		backup.Command(p), backup.RestoreCommand(p), upgrade.Command(p), newVersion(p), cli.ExitCodesTopic())
	return root
}
