// Package llm talks to language models: it turns a request's entries into a provider's messages, streams the answer
// as events, retries what may be retried, and knows the models with their windows and prices.
//
// It must never decide what a request holds, keep a key anywhere but in memory, put a key or a part of a request into
// an error or a log, or change an entry's bytes from one request to the next.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is the wire format of a provider.
type Kind string

// The kinds of providers.
const (
	Anthropic Kind = "anthropic" // Messages
	OpenAI    Kind = "openai"    // chat completions, and everything that speaks them
	Offline   Kind = "offline"   // no model at all
)

// ProviderConfig is one provider of the configuration.
type ProviderConfig struct {
	Kind      Kind
	BaseURL   string            // empty: the usual one of the kind
	APIKeyEnv string            // name of the variable that holds the key; empty: no key is needed
	Headers   map[string]string // sent with each request
	DeltaGap  time.Duration     // Offline: the pause before each delta
}

// Options are what a client is made of. Only Providers must be given.
type Options struct {
	Providers map[string]ProviderConfig // by name
	Models    map[string]ModelConfig    // by provider/model, over the catalogue

	Transport   http.RoundTripper // default: one that uses the proxies of the usual variables
	IdleTimeout time.Duration     // the longest that a stream may be silent; default 5 minutes
	Log         *slog.Logger

	Getenv func(string) string                        // default os.Getenv
	Now    func() time.Time                           // default time.Now
	Sleep  func(context.Context, time.Duration) error // returns the context's error when it ends first
	Jitter func() float64                             // in [0, 1)
}

const (
	defaultIdleTimeout = 5 * time.Minute
	checkTimeout       = 5 * time.Second
)

// Keys of log lines.
const (
	keyModel   = "model"
	keyPurpose = "purpose"
	keyElapsed = "elapsed"
	keyContext = "context_tokens"
	keyOutput  = "output_tokens"
)

// Client is safe for concurrent use. Only mu's fields change after New.
type Client struct {
	providers map[string]ProviderConfig
	catalogue *catalogue
	transport http.RoundTripper
	idle      time.Duration
	log       *slog.Logger
	getenv    func(string) string
	now       func() time.Time
	sleep     func(context.Context, time.Duration) error
	jitter    func() float64

	mu   sync.Mutex
	keys map[string]string // set by SetKey, by provider
}

// New checks the configuration and makes a client. It connects to nothing and reads no key yet.
func New(opt Options) (*Client, error) {
	for name, p := range opt.Providers {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		if name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("provider %q: a name must not be empty or hold a slash", name)
		}
	}
	c := &Client{
		providers: opt.Providers,
		catalogue: newCatalogue(opt.Providers, opt.Models),
		transport: opt.Transport,
		idle:      cmp.Or(opt.IdleTimeout, defaultIdleTimeout),
		log:       opt.Log,
		getenv:    opt.Getenv, now: opt.Now, sleep: opt.Sleep, jitter: opt.Jitter,
		keys: map[string]string{},
	}
	c.fillDefaults()
	return c, nil
}

func (p ProviderConfig) check() error {
	switch p.Kind {
	case Anthropic, OpenAI, Offline:
	default:
		return fmt.Errorf("kind %q is none of anthropic, openai, offline", p.Kind)
	}
	if p.BaseURL != "" && !strings.HasPrefix(p.BaseURL, "http://") && !strings.HasPrefix(p.BaseURL, "https://") {
		return errors.New("base_url must begin with http:// or https://")
	}
	return nil
}

func (c *Client) fillDefaults() {
	if c.transport == nil {
		c.transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.getenv == nil {
		c.getenv = os.Getenv
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.sleep == nil {
		c.sleep = sleep
	}
	if c.jitter == nil {
		c.jitter = rand.Float64
	}
}

// Close closes idle connections. Running streams go on.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Model returns what is known about a model, and whether anything is. One of a configured provider that nobody
// described gets the defaults; without a configured provider the zero Model is returned.
func (c *Client) Model(name string) (Model, bool) { return c.catalogue.find(name) }

// Models returns the known models of the configured providers, sorted by name.
func (c *Client) Models() []Model { return c.catalogue.all() }

// KeySource says where a provider's key comes from.
type KeySource string

// The sources of keys.
const (
	KeyNotNeeded KeySource = "not_needed"
	KeyMissing   KeySource = "missing"
	KeyEnv       KeySource = "env"
	KeyMemory    KeySource = "memory" // set with SetKey
)

// ProviderStatus is one configured provider.
type ProviderStatus struct {
	Name    string
	Kind    Kind
	BaseURL string // as configured
	KeyEnv  string // the variable that is looked at
	Key     KeySource
}

// Providers lists the configured providers, sorted by name.
func (c *Client) Providers() []ProviderStatus {
	var out []ProviderStatus
	for name, p := range c.providers {
		_, source := c.key(name)
		out = append(out, ProviderStatus{Name: name, Kind: p.Kind, BaseURL: p.BaseURL, KeyEnv: p.APIKeyEnv, Key: source})
	}
	slices.SortFunc(out, func(a, b ProviderStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// SetKey gives a provider a key, which is kept in memory only and goes before the environment's. An empty one takes it back.
func (c *Client) SetKey(provider, key string) error {
	if _, ok := c.providers[provider]; !ok {
		return &Error{Kind: KindUnknown, Provider: provider, err: errors.New("no such provider is configured")}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys[provider] = key
	return nil
}

func (c *Client) key(provider string) (string, KeySource) {
	c.mu.Lock()
	key := c.keys[provider]
	c.mu.Unlock()
	if key != "" {
		return key, KeyMemory
	}
	p := c.providers[provider]
	if p.APIKeyEnv == "" || p.Kind == Offline {
		return "", KeyNotNeeded
	}
	if key := c.getenv(p.APIKeyEnv); key != "" {
		return key, KeyEnv
	}
	return "", KeyMissing
}

// backend is one provider's side of a call.
type backend interface {
	// open sends the request and returns the body of the answer, an event stream.
	open(ctx context.Context, req Request, model Model) (io.ReadCloser, error)
	// decode reads the stream into a until its end. It returns errNoEnd where the end is missing.
	decode(events *sseReader, a *answer) error
	// ping asks for something that costs nothing.
	ping(ctx context.Context) error
}

func (c *Client) backend(provider string) (backend, error) {
	config, ok := c.providers[provider]
	if !ok {
		return nil, &Error{Kind: KindUnknown, err: errors.New("no such provider is configured")}
	}
	key, source := c.key(provider)
	if source == KeyMissing {
		return nil, &Error{Kind: KindAuth, err: fmt.Errorf(
			"no key: the server was started without %s; start it again with it, or give a key in the editor", config.APIKeyEnv)}
	}
	if config.Kind == Anthropic {
		return newAnthropic(c, config, key), nil
	}
	return newOpenAI(c, config, key), nil
}

// Stream asks a model and calls on, on this goroutine and in order, for each event of its answer.
// What fails before anything visible is retried. The error is an *Error; the Result then holds what arrived.
func (c *Client) Stream(ctx context.Context, req Request, on func(Event)) (Result, error) {
	provider, _, _ := strings.Cut(req.Model, "/")
	if c.providers[provider].Kind == Offline {
		return c.streamOffline(ctx, req, on)
	}
	back, err := c.backend(provider)
	if err != nil {
		return Result{Model: req.Model}, failure(ctx, provider, "", err)
	}
	key, _ := c.key(provider)
	model, _ := c.Model(req.Model)
	started := c.now()
	var res Result
	failed := c.withRetries(ctx, on, func() *Error {
		a := &answer{on: on, tools: len(req.Tools) > 0}
		err := c.try(ctx, back, req, model, a)
		res = a.result(model, err == nil)
		if err == nil {
			return nil
		}
		out := failure(ctx, provider, key, err)
		out.Partial = a.shown
		return out
	})
	c.log.Debug("model call", keyModel, req.Model, keyPurpose, req.Purpose, keyElapsed, c.now().Sub(started),
		keyContext, res.Usage.Context(), keyOutput, res.Usage.Output)
	if failed != nil {
		return res, failed
	}
	return res, nil
}

// try is one call. It fails when the stream is silent for longer than the idle timeout.
func (c *Client) try(ctx context.Context, back backend, req Request, model Model, a *answer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(c.idle, func() { cancel(errSilent) })
	defer watch.Stop()
	body, err := back.open(ctx, req, model)
	if err == nil {
		err = back.decode(newSSEReader(&watched{body, watch, c.idle}), a)
		body.Close()
	}
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// watched puts the idle timer off whenever something arrives, be it a comment.
type watched struct {
	io.Reader
	timer *time.Timer
	idle  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.timer.Reset(w.idle)
	}
	return n, err
}

// Check reports whether a provider can be reached and takes the key. It takes at most 5 seconds.
func (c *Client) Check(ctx context.Context, provider string) error {
	if c.providers[provider].Kind == Offline {
		return nil
	}
	back, err := c.backend(provider)
	if err != nil {
		return failure(ctx, provider, "", err)
	}
	key, _ := c.key(provider)
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := back.ping(limited); err != nil {
		return failure(ctx, provider, key, err)
	}
	return nil
}
