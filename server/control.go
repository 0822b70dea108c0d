package server

import (
	"context"
	"runtime"
	"slices"
	"time"

	"strata/internal/environment"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/events"
)

func serverInfo(p *peer, r *rpc.Request, _ struct{}) {
	r.Go(func(ctx context.Context) (any, error) {
		stats, err := p.store.Stats(ctx)
		if err != nil {
			return nil, err
		}
		return wire.ServerInfo{
			Version: p.Version, Go: runtime.Version(), StartedAt: p.started.UTC(),
			Address: wire.Address{WebSocket: p.endpoint.socket(), ServerFile: p.ServerFile, TokenFile: p.TokenFile},
			LogFile: p.LogFile, Executable: p.Executable,
			Database: wire.Database{
				Path: stats.Path, Bytes: stats.Bytes, WALBytes: stats.WALBytes, Sessions: stats.Sessions, Messages: stats.Messages,
			},
			Model: p.Sessions.DefaultConfig.Model, Models: p.Models.Catalogue(),
			Limits: wire.Limits{
				FrameBytes: p.FrameBytes, Connections: p.Connections, Requests: p.Requests,
				Subscriptions: p.Memory, Sessions: p.Memory, EventsKept: events.MaxEvents,
				RetentionSec: int64(p.Retention.Seconds()),
			},
			Connections: p.clients.count(), Loaded: p.sessions.count(), MCPServers: wire.NewMCPServers(p.mcp.List()),
		}, nil
	})
}

// subscribeServer subscribes the connection to the events of all sessions, once.
func subscribeServer(p *peer, r *rpc.Request, _ struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.monitor == nil {
		m, err := p.monitors.add(p.conn.Attach)
		if err != nil {
			r.Fail(tooManySubscriptions(p.Memory))
			return
		}
		p.monitor = m
	}
	r.Go(func(ctx context.Context) (any, error) {
		return map[string]wire.Counts{"counts": p.counts(ctx)}, nil
	})
}

// authMethods returns how the user gives the providers that lack one a key.
func (p *peer) authMethods() []wire.AuthMethod { return wire.AuthMethods(p.Models.Providers(), p.can) }

// authenticate checks that the provider of an authentication method has a key.
func authenticate(p *peer, r *rpc.Request, params wire.AuthenticateParams) {
	if err := wire.Unauthenticated(p.Models.Providers(), params.MethodID); err != nil {
		r.Fail(err)
		return
	}
	r.Reply(struct{}{})
}

func listProviders(p *peer, r *rpc.Request, _ struct{}) {
	r.Reply(map[string][]wire.Provider{"providers": p.Models.Providers()})
}

func setKey(p *peer, r *rpc.Request, params wire.SetKeyParams) {
	if !slices.ContainsFunc(p.Models.Providers(), func(q wire.Provider) bool { return q.Name == params.Provider }) {
		r.Fail(wire.NotFound("provider", params.Provider))
		return
	}
	if err := p.Models.SetKey(params.Provider, params.Key); err != nil {
		r.Fail(err)
		return
	}
	r.Reply(struct{}{})
}

// offerKeys takes the keys that the client has in its environment, for the providers that lack one. The user learns of it
// in the next session that the connection opens.
func offerKeys(p *peer, r *rpc.Request, params wire.OfferKeysParams) {
	var used []wire.Provider
	for _, provider := range p.Models.Providers() {
		if key, offered := params.Keys[provider.Name]; offered && p.Models.OfferKey(provider.Name, key) {
			used = append(used, provider)
		}
	}
	if len(used) > 0 {
		p.tellLater(wire.KeysNotice(used))
	}
	r.Reply(wire.NewKeysOffered(used, p.authMethods()))
}

// offerEnvironment takes the client's environment, for the programs that run on its behalf. A later one replaces it.
func offerEnvironment(p *peer, r *rpc.Request, params wire.OfferEnvironmentParams) {
	list := environment.List(params.Env)
	p.environment.Store(&list)
	r.Reply(struct{}{})
}

// hudCode returns an address that opens the HUD once.
func hudCode(p *peer, r *rpc.Request, _ struct{}) {
	r.Reply(map[string]string{"url": p.endpoint.newHUD()})
}

// stopServer stops the server once the client has received the response or has disconnected.
func stopServer(p *peer, r *rpc.Request, _ struct{}) {
	p.Log.Info("a client stops the server")
	r.Reply(struct{}{})
	p.conn.Close(closeGoingAway, "the server stops")
	p.clients.all.Go(func() {
		<-p.conn.Done()
		p.stop()
	})
}

// quiesceEvery is the interval at which quiesce looks at the sessions.
const quiesceEvery = 5 * time.Millisecond

// quiesce responds when no session has work to do.
func quiesce(p *peer, r *rpc.Request, _ struct{}) {
	r.Go(func(ctx context.Context) (any, error) {
		for {
			quiet := true
			for _, s := range p.sessions.all() {
				idle, err := wait(ctx, s.Idle)
				quiet = quiet && (idle || err != nil)
			}
			if quiet {
				return struct{}{}, nil
			}
			select {
			case <-time.After(quiesceEvery):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	})
}
