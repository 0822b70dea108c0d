package serve

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/llm"
	"strata/rpc"
	"strata/server/wire"
)

// CompleteModels returns the function that completes the names of models in shells: those of the running server, or
// those that a server with the present configuration would offer.
func CompleteModels(p *cli.Process) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var info struct {
			Models []wire.Model `json:"models"`
		}
		err := connect.WithRunning(cmd.Context(), p, func(ctx context.Context, client *rpc.Client) error {
			return client.Call(ctx, "_strata/server/info", struct{}{}, &info)
		})
		if err != nil {
			info.Models, err = configuredModels(p)
		}
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
		}
		all := make([]cobra.Completion, len(info.Models))
		for i, m := range info.Models {
			all[i] = cobra.CompletionWithDesc(m.Name, cli.OneLine(m.Title))
		}
		return cli.Beginning(typed, all), cobra.ShellCompDirectiveNoFileComp
	}
}

// configuredModels returns the models that a server with the present configuration would offer.
func configuredModels(p *cli.Process) ([]wire.Model, error) {
	c, err := p.Load(nil)
	if err != nil {
		return nil, err
	}
	client, err := llm.New(Client(c, p.Getenv, nil))
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	defer client.Close()
	return catalogue{client}.Catalogue(), nil
}
