// Package login is `strata login` and `strata logout`: it stores and removes the API keys of providers.
//
// It must never print, log or return a key, or take one as an argument, which other users of the machine could see.
package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/internal/apikey"
	"strata/server/access"
	"strata/server/access/secrets"
)

// Command returns `strata login`.
func Command(p *cli.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login PROVIDER",
		Short: "Store the API key of a provider",
		Long: "Read the API key of a provider, from a terminal without echo or else from standard input, and store it in the keyring of\n" +
			"the system, or, if there is none, in a file that only you can read. A running server uses it immediately.",
		Args:              cli.UsageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: completeProvider(p),
	}
	config.AddFlags(cmd.Flags(), "key_store")
	cli.CompleteSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), p, cmd.Flags(), args[0]) }
	return cmd
}

// LogoutCommand returns `strata logout`.
func LogoutCommand(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "logout PROVIDER",
		Short: "Remove the stored API key of a provider",
		Args:  cli.UsageArgs(cobra.ExactArgs(1)),

		ValidArgsFunction: completeProvider(p),
		RunE:              func(_ *cobra.Command, args []string) error { return logout(p, args[0]) },
	}
}

// completeProvider completes the names of the configured providers that need a key.
func completeProvider(p *cli.Process) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := p.Load(nil)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return cli.Beginning(typed, withKeys(c)), cobra.ShellCompDirectiveNoFileComp
	}
}

// withKeys returns the names of the configured providers that need a key, in order.
func withKeys(c *config.Config) []string {
	var names []string
	for name, p := range c.Providers {
		if p.APIKeyEnv != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Run reads the key of a provider and stores it. The end of ctx interrupts it.
func Run(ctx context.Context, p *cli.Process, provider string) error {
	return run(ctx, p, nil, provider)
}

func run(ctx context.Context, p *cli.Process, flags *pflag.FlagSet, provider string) error {
	c, err := p.Load(flags)
	if err != nil {
		return err
	}
	variable, err := keyVariable(c, provider)
	if err != nil {
		return err
	}
	key, err := read(ctx, p, "API key of "+provider+": ")
	if err != nil {
		return err
	}
	if err := store(p, c, provider, strings.TrimSpace(key)); err != nil {
		return err
	}
	if p.Getenv(variable) != "" {
		fmt.Fprintf(p.Stderr, "A server whose environment has %s, as here, uses that key instead.\n", variable)
	}
	return nil
}

// keysOf returns the stored keys of the configuration.
func keysOf(p *cli.Process, c *config.Config) *access.ProviderKeys {
	return access.KeysIn(c.Folders.State, secrets.System(p.Getenv, secrets.DefaultLimit))
}

// store stores a key in the system's keyring, or else in a file, and says where.
func store(p *cli.Process, c *config.Config, provider, key string) error {
	keys := keysOf(p, c)
	if c.KeyStore != config.KeyFile {
		err := keys.SaveInKeyring(provider, key)
		if err == nil {
			fmt.Fprintf(p.Stderr, "Stored the key of %s in the system's keyring.\n", provider)
		}
		if !errors.Is(err, secrets.ErrUnavailable) {
			return err
		}
	}
	if err := keys.Save(provider, key); err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "Stored the key of %s in %s.\n", provider, keys.Path(provider))
	return nil
}

func logout(p *cli.Process, provider string) error {
	c, err := p.Load(nil)
	if err != nil {
		return err
	}
	// The provider need not be configured any more, but its name must not lead to another folder.
	if !config.IsProviderName(provider) {
		return fmt.Errorf("no key of %s is stored", cli.OneLine(provider))
	}
	keys := keysOf(p, c)
	inKeyring := keys.InKeyring(provider)
	switch err := keys.Remove(provider); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no key of %s is stored", provider)
	case err != nil:
		return err
	case inKeyring:
		fmt.Fprintf(p.Stderr, "Removed the key of %s from the system's keyring.\n", provider)
		return nil
	}
	fmt.Fprintf(p.Stderr, "Removed %s.\n", keys.Path(provider))
	return nil
}

// keyVariable returns the environment variable of a provider's key.
func keyVariable(c *config.Config, provider string) (string, error) {
	known, ok := c.Providers[provider]
	if !ok {
		return "", fmt.Errorf("provider %s is not configured; configured with keys: %s", cli.OneLine(provider), strings.Join(withKeys(c), ", "))
	}
	if known.APIKeyEnv == "" {
		return "", fmt.Errorf("provider %s needs no key: its api_key_env is empty", provider)
	}
	return known.APIKeyEnv, nil
}

// read returns a line that the user types without echo, or all of standard input if that is no terminal.
func read(ctx context.Context, p *cli.Process, prompt string) (string, error) {
	terminal, ok := p.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		text, err := io.ReadAll(io.LimitReader(p.Stdin, 2*apikey.MaxBytes))
		return string(text), err
	}
	state, err := term.GetState(int(terminal.Fd()))
	if err != nil {
		return "", err
	}
	fmt.Fprint(p.Stderr, prompt)
	defer fmt.Fprintln(p.Stderr)
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() { // ends with the process if the user types nothing
		text, err := term.ReadPassword(int(terminal.Fd()))
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return string(l.text), l.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(terminal.Fd()), state))
	}
}
