package mcp

import (
	"context"
	"log/slog"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/session/servers"
)

// newClient returns a client that has no capabilities but the folders of a place. Requests for anything else get an error.
func newClient(version string, at servers.Place) *sdk.Client {
	client := sdk.NewClient(&sdk.Implementation{Name: "strata", Title: "Strata", Version: version}, &sdk.ClientOptions{
		Logger:                 slog.New(slog.DiscardHandler),
		Capabilities:           capabilities(),
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {}, // the inbox has it; this asks the server for it
	})
	addRoots(client, at)
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
			err = protected(func() (err error) {
				result, err = next(ctx, method, req)
				return err
			})
			return result, err
		}
	})
	return client
}
