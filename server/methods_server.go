package server

import (
	"context"
	"runtime"
	"slices"
	"time"

	"strata/rpc"
	"strata/session"
)

// Catalogue is what the server needs to know of models and providers. Methods are safe for concurrent use.
type Catalogue interface {
	// Models returns the models that can be chosen: those whose provider could be called now.
	Models() []Model
	// Providers returns the configured providers, sorted by name.
	Providers() []Provider
	// SetKey gives a provider a key for the life of the process; an empty one takes it back.
	SetKey(provider, key string) error
}

// Model is a model as clients are told of it.
type Model struct {
	Name      string   `json:"name"` // provider/model
	Title     string   `json:"title"`
	Window    int      `json:"window"`    // tokens
	MaxOutput int      `json:"maxOutput"` // tokens
	Vision    bool     `json:"vision"`
	Thought   []string `json:"thoughtLevels"`
	Known     bool     `json:"known"` // false: window and output are stated defaults
}

// Provider is a configured provider as clients are told of it. It holds no key.
type Provider struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	BaseURL   string `json:"baseUrl,omitempty"`
	KeyEnv    string `json:"keyEnv,omitempty"`
	KeySource string `json:"key"` // not_needed, missing, env, memory
}

// The ids of the config options, and their categories in ACP.
const (
	categoryModel   = "model"
	categoryThought = "thought_level"
)

// options returns the config options of a session.
func (s *Server) options(i session.Info) []configOption {
	model := configOption{
		ID: session.OptionModel, Name: "Model", Category: categoryModel, Type: "select", CurrentValue: i.Config.Model,
		Description: "Which model answers",
	}
	for _, m := range s.opt.Catalogue.Models() {
		model.Options = append(model.Options, configValue{Value: m.Name, Name: m.Title})
	}
	if !slices.ContainsFunc(model.Options, func(v configValue) bool { return v.Value == i.Config.Model }) {
		model.Options = append([]configValue{{Value: i.Config.Model, Name: i.Config.Model}}, model.Options...)
	}
	options := []configOption{model}
	if len(i.Model.Thought) > 1 {
		options = append(options, thoughtOption(i))
	}
	return append(options, s.ruleOptions(i)...)
}

func thoughtOption(i session.Info) configOption {
	o := configOption{
		ID: session.OptionThought, Name: "Thought level", Category: categoryThought, Type: "select",
		CurrentValue: i.Config.ThoughtLevel, Description: "How much the model thinks before it answers",
	}
	for _, level := range i.Model.Thought {
		o.Options = append(o.Options, configValue{Value: string(level), Name: string(level)})
	}
	return o
}

func listProviders(p *peer, r *rpc.Request, _ struct{}) {
	providers := p.server.opt.Catalogue.Providers()
	r.Reply(map[string][]Provider{"providers": providers})
}

type setKeyParams struct {
	Provider string `json:"provider"`
	Key      string `json:"key"`
}

func setKey(p *peer, r *rpc.Request, params setKeyParams) {
	known := slices.ContainsFunc(p.server.opt.Catalogue.Providers(), func(q Provider) bool { return q.Name == params.Provider })
	if !known {
		r.Fail(notFound("provider", clip(params.Provider)))
		return
	}
	if err := p.server.opt.Catalogue.SetKey(params.Provider, params.Key); err != nil {
		r.Fail(err)
		return
	}
	r.Reply(struct{}{})
}

// wireServer is the answer to _strata/server/info.
type wireServer struct {
	Version     string       `json:"version"`
	Go          string       `json:"go"`
	StartedAt   time.Time    `json:"startedAt"`
	Address     wireAddress  `json:"address"`
	LogFile     string       `json:"logFile,omitempty"` // path
	Database    wireDatabase `json:"database"`
	Model       string       `json:"model"` // of sessions that chose none
	Models      []Model      `json:"models"`
	Limits      wireLimits   `json:"limits"`
	Connections int          `json:"connections"`
	Loaded      int          `json:"sessionsInMemory"`
}

// wireAddress is how an editor connects: by the server file on its own, or with the address and the token.
type wireAddress struct {
	WebSocket  string `json:"webSocket"`
	ServerFile string `json:"serverFile,omitempty"` // path; empty where none is written
	TokenFile  string `json:"tokenFile,omitempty"`  // path; empty where the token is kept nowhere
}

type wireDatabase struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	WALBytes int64  `json:"walBytes"`
	Sessions int    `json:"sessions"`
	Messages int    `json:"messages"`
}

type wireLimits struct {
	FrameBytes    int64 `json:"frameBytes"`
	Connections   int   `json:"connections"`
	Requests      int   `json:"requests"`
	Subscriptions int   `json:"subscriptions"`
	Sessions      int   `json:"sessions"`
	EventsKept    int   `json:"eventsKept"`
	RetentionSec  int64 `json:"retentionSeconds"`
}

func serverInfo(p *peer, r *rpc.Request, _ struct{}) {
	s := p.server
	r.Go(func(ctx context.Context) (any, error) {
		stats, err := s.store.Stats(ctx)
		if err != nil {
			return nil, err
		}
		return wireServer{
			Version: s.opt.Version, Go: runtime.Version(), StartedAt: s.started.UTC(),
			Address:  wireAddress{WebSocket: s.address.socket(), ServerFile: s.opt.ServerFile, TokenFile: s.opt.TokenFile},
			LogFile:  s.opt.LogFile,
			Database: wireDatabase{Path: stats.Path, Bytes: stats.Bytes, WALBytes: stats.WALBytes, Sessions: stats.Sessions, Messages: stats.Messages},
			Model:    s.opt.Sessions.DefaultConfig.Model, Models: s.opt.Catalogue.Models(),
			Limits: wireLimits{
				FrameBytes: s.opt.FrameBytes, Connections: s.opt.Connections, Requests: s.opt.Requests,
				Subscriptions: rpc.MaxSources, Sessions: s.opt.Memory, EventsKept: session.DefaultLogEvents,
				RetentionSec: int64(s.opt.Retention.Seconds()),
			},
			Connections: s.connected(), Loaded: s.sessions.count(),
		}, nil
	})
}

func (s *Server) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// hudCode makes an address that opens the HUD once.
func hudCode(p *peer, r *rpc.Request, _ struct{}) {
	r.Reply(map[string]string{"url": p.server.hudAddress()})
}

// stopServer ends the server when the connection that asks for it has got its answer, or has gone.
func stopServer(p *peer, r *rpc.Request, _ struct{}) {
	p.server.opt.Log.Info("a client ends the server")
	r.Reply(struct{}{})
	p.conn.Close(closeGoingAway, "the server ends")
	p.server.conns.Go(func() {
		<-p.conn.Done()
		p.server.stop()
	})
}

// quiesce answers when no session has anything to do.
func quiesce(p *peer, r *rpc.Request, _ struct{}) {
	r.Go(func(ctx context.Context) (any, error) {
		for {
			quiet := true
			for _, s := range p.server.sessions.all() {
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

const quiesceEvery = 5 * time.Millisecond
