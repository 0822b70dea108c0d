package server

import (
	"context"

	"strata/internal/clip"
	"strata/rpc"
	"strata/server/wire"
)

func listDeleted(p *peer, r *rpc.Request, params wire.CursorParams) {
	r.Go(func(ctx context.Context) (any, error) { return p.bin.List(ctx, params.Cursor) })
}

func purgeSession(p *peer, r *rpc.Request, params wire.SessionParams) {
	r.Go(func(ctx context.Context) (any, error) { return struct{}{}, p.bin.Purge(ctx, params.SessionID) })
}

func completeFolder(p *peer, r *rpc.Request, params wire.CompleteParams, limit int) {
	r.Go(func(ctx context.Context) (any, error) {
		found, err := p.folders.Complete(ctx, params.Prefix, limit)
		if err != nil {
			return nil, wire.InvalidParams("params.prefix: %s %s", clip.Path(params.Prefix), err)
		}
		return wire.Completion{Folders: append([]string{}, found.Folders...), More: found.More}, nil
	})
}
