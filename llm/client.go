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
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
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

	RetryStatuses   []int // HTTP statuses that are tried again; nil: DefaultRetryStatuses
	MaxRequestBytes int   // of a request's body; 0: what the provider is known to take
	MaxImageBytes   int   // of a picture; 0: what the provider is known to take
}

// Options are what a client is made of. Only Providers must be given.
type Options struct {
	Providers map[string]ProviderConfig // by name
	Models    map[string]ModelConfig    // by provider/model, over the catalogue

	Transport    http.RoundTripper // default: one that uses the proxies of the usual variables
	FirstByte    time.Duration     // longest wait for the first byte of a reply; default 10 minutes; no limit on loopback
	BetweenBytes time.Duration     // longest silence within a reply; default 5 minutes
	Log          *slog.Logger

	Getenv func(string) string                        // default os.Getenv
	Now    func() time.Time                           // default time.Now
	Sleep  func(context.Context, time.Duration) error // returns the context's error when it ends first
	Jitter func() float64                             // in [0, 1)

	NewCallID func() string // makes ids of tool calls, unique; default "tc_" and a ULID
}

const (
	defaultFirstByte    = 10 * time.Minute
	defaultBetweenBytes = 5 * time.Minute
	checkTimeout        = 5 * time.Second
)

// Keys of log lines.
const (
	keyModel   = "model"
	keyPurpose = "purpose"
	keyElapsed = "elapsed"
	keyContext = "context_tokens"
	keyOutput  = "output_tokens"
	keyRefused = "refused"
)

// Client is safe for concurrent use. Only mu's fields change after New.
type Client struct {
	providers map[string]ProviderConfig
	catalogue *catalogue
	http      *http.Client
	drains    sync.WaitGroup // bodies that are read to their end
	log       *slog.Logger
	getenv    func(string) string
	now       func() time.Time
	sleep     func(context.Context, time.Duration) error
	jitter    func() float64
	newCallID func() string

	firstByte, betweenBytes time.Duration

	mu       sync.Mutex
	keys     map[string]string  // set by SetKey, by provider
	dialects map[string]dialect // learned, by model
	windows  map[string]int     // learned, in tokens, by model
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
		log:       opt.Log,
		getenv:    opt.Getenv, now: opt.Now, sleep: opt.Sleep, jitter: opt.Jitter, newCallID: opt.NewCallID,
		firstByte: cmp.Or(opt.FirstByte, defaultFirstByte), betweenBytes: cmp.Or(opt.BetweenBytes, defaultBetweenBytes),
		keys: map[string]string{}, dialects: map[string]dialect{}, windows: map[string]int{},
	}
	if opt.Transport == nil {
		opt.Transport = newTransport()
	}
	c.http = newHTTPClient(opt.Transport)
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
	if c.newCallID == nil {
		c.newCallID = func() string { return "tc_" + ulid.Make().String() }
	}
}

// Close closes idle connections. Running streams go on.
func (c *Client) Close() {
	c.drains.Wait()
	c.http.CloseIdleConnections()
}

// Model returns what is known about a model, and whether anything is. One of a configured provider that nobody
// described gets the defaults; without a configured provider the zero Model is returned.
// Its window is no larger than what was learned from its provider.
func (c *Client) Model(name string) (Model, bool) {
	m, known := c.catalogue.find(name)
	return m.limited(c.window(name)), known
}

// Models returns the known models of the configured providers, sorted by name.
func (c *Client) Models() []Model {
	all := c.catalogue.all()
	for i := range all {
		all[i] = all[i].limited(c.window(all[i].Name))
	}
	return all
}

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

// Stream asks a model and calls on, on this goroutine and in order, for each event of its reply.
// A failure before anything visible is retried. The error is an *Error; the Result then holds what arrived.
func (c *Client) Stream(ctx context.Context, req Request, on func(Event)) (Result, error) {
	provider := providerOf(req.Model)
	if c.providers[provider].Kind == Offline {
		return c.streamOffline(ctx, req, on)
	}
	call, err := c.newCall(provider)
	if err != nil {
		return Result{Model: req.Model}, failure(ctx, provider, "", err)
	}
	call.req, call.on = req, on
	call.model, _ = c.Model(req.Model)
	started := c.now()
	failed := c.withRetries(ctx, call.retryStatuses(), on, func() *Error { return call.attempt(ctx) })
	res := call.result
	c.log.Debug("model call", keyModel, req.Model, keyPurpose, req.Purpose, keyElapsed, c.now().Sub(started),
		keyContext, res.Usage.Context(), keyOutput, res.Usage.Output)
	if failed == nil {
		return res, nil
	}
	if failed.Kind == KindContext {
		c.LimitWindow(req.Model, failed.Limit)
	}
	return res, failed
}

// newCall returns a call of a provider, without its request.
func (c *Client) newCall(provider string) (*modelCall, error) {
	config, ok := c.providers[provider]
	if !ok {
		return nil, &Error{Kind: KindUnknown, err: errors.New("no such provider is configured")}
	}
	key, source := c.key(provider)
	if source == KeyMissing {
		return nil, &Error{Kind: KindAuth, err: fmt.Errorf("no key: set %s and restart the server, or give a key in the editor", config.APIKeyEnv)}
	}
	out := &modelCall{client: c, config: config, format: wireFormats[config.Kind], key: key}
	if config.Kind == Anthropic {
		out.endpoint = anthropicEndpoint(config, key)
	} else {
		out.endpoint = openAIEndpoint(config, key)
	}
	for name, value := range config.Headers {
		out.endpoint.header.Set(name, value)
	}
	return out, nil
}

func (c *modelCall) retryStatuses() []int {
	if c.config.RetryStatuses != nil {
		return c.config.RetryStatuses
	}
	return DefaultRetryStatuses
}

// Check reports whether a provider can be reached and takes the key. It takes at most 5 seconds.
func (c *Client) Check(ctx context.Context, provider string) error {
	if c.providers[provider].Kind == Offline {
		return nil
	}
	call, err := c.newCall(provider)
	if err != nil {
		return failure(ctx, provider, "", err)
	}
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.ping(limited, call.endpoint, call.format.listPath); err != nil {
		return failure(ctx, provider, call.key, err)
	}
	return nil
}

// dialect returns how a model wants its requests, as far as that is known.
func (c *Client) dialect(config ProviderConfig, model Model) dialect {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d, learned := c.dialects[model.Name]; learned {
		return d
	}
	return dialectOf(config, model)
}

// maxLearned bounds the models of which something is remembered: names of models come from clients.
const maxLearned = 1000

// learn remembers how a model wants its requests.
func (c *Client) learn(model string, d dialect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.dialects) >= maxLearned {
		clear(c.dialects)
	}
	c.dialects[model] = d
}

// LimitWindow remembers that a model has no larger window than so many tokens, until the process ends: a local server
// may be started with another one. A limit that is not positive, or above an earlier one, changes nothing.
func (c *Client) LimitWindow(model string, tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.windows[model]; tokens <= 0 || old > 0 && old <= tokens {
		return
	}
	if len(c.windows) >= maxLearned {
		clear(c.windows)
	}
	c.windows[model] = tokens
}

func (c *Client) window(model string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.windows[model]
}
