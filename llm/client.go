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

// Options are what a client is made of. Only Providers must be given.
type Options struct {
	Providers map[string]ProviderConfig // by name
	Models    map[string]ModelConfig    // by provider/model, over the catalogue

	Transport    http.RoundTripper // default: one that uses the proxies of the usual variables
	FirstByte    time.Duration     // longest wait for the first byte of a reply; default 10 minutes; no limit on loopback
	BetweenBytes time.Duration     // longest silence within a reply; default 5 minutes
	Log          *slog.Logger

	Getenv    func(string) string                           // default os.Getenv
	StoredKey func(provider string) (key string, err error) // key that the user stored; empty if there is none; default: none

	Now    func() time.Time                           // default time.Now
	Sleep  func(context.Context, time.Duration) error // returns the context's error when it ends first
	Jitter func() float64                             // in [0, 1)

	NewCallID func() string // makes ids of tool calls, unique; default "tc_" and a ULID
}

const (
	defaultFirstByte    = 10 * time.Minute
	defaultBetweenBytes = 5 * time.Minute
)

// Client is safe for concurrent use. Only mu's fields change after New.
type Client struct {
	providers map[string]ProviderConfig
	catalogue *catalogue
	transport *transport
	log       *slog.Logger
	getenv    func(string) string
	storedKey func(provider string) (string, error)
	now       func() time.Time
	sleep     func(context.Context, time.Duration) error
	jitter    func() float64
	newCallID func() string

	firstByte, betweenBytes time.Duration

	mu       sync.Mutex
	keys     map[string]string  // set by SetKey, by provider
	offered  map[string]string  // by OfferKey, by provider
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
		getenv:    opt.Getenv, storedKey: opt.StoredKey, now: opt.Now, sleep: opt.Sleep, jitter: opt.Jitter, newCallID: opt.NewCallID,
		firstByte: cmp.Or(opt.FirstByte, defaultFirstByte), betweenBytes: cmp.Or(opt.BetweenBytes, defaultBetweenBytes),
		keys: map[string]string{}, offered: map[string]string{}, dialects: map[string]dialect{}, windows: map[string]int{},
	}
	c.fillDefaults()
	c.transport = newTransport(opt.Transport, c.now)
	return c, nil
}

func (c *Client) fillDefaults() {
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.getenv == nil {
		c.getenv = os.Getenv
	}
	if c.storedKey == nil {
		c.storedKey = func(string) (string, error) { return "", nil }
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
func (c *Client) Close() { c.transport.close() }

// Model returns what is known about a model, and whether anything is. One of a configured provider that nobody
// described gets the defaults; without a configured provider the zero Model is returned.
// Its window and its tools are limited by what the refusals of its provider taught.
func (c *Client) Model(name string) (Model, bool) {
	m, known := c.catalogue.find(name)
	return c.learned(m), known
}

// Models returns the known models of the configured providers, sorted by name.
func (c *Client) Models() []Model {
	all := c.catalogue.all()
	for i := range all {
		all[i] = c.learned(all[i])
	}
	return all
}

// KeySource says where a provider's key comes from.
type KeySource string

// The sources of keys, those with a key in the order of their precedence.
const (
	KeyNotNeeded KeySource = "not_needed"
	KeyMemory    KeySource = "memory" // set with SetKey
	KeyEnv       KeySource = "env"
	KeyStored    KeySource = "stored"  // by the user, see Options.StoredKey
	KeyOffered   KeySource = "offered" // with OfferKey
	KeyMissing   KeySource = "missing"
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
		_, source, _ := c.key(name)
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

// OfferKey gives a provider a key for use if it has no other, and reports whether it is used from now on. Such a key is
// kept in memory only; a later one replaces it.
func (c *Client) OfferKey(provider, key string) (used bool) {
	if _, source, _ := c.key(provider); key == "" || source != KeyMissing && source != KeyOffered {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	used = c.offered[provider] != key
	c.offered[provider] = key
	return used
}

// key returns the key of a provider and its source. The error says why a stored key is not used.
func (c *Client) key(provider string) (key string, source KeySource, err error) {
	c.mu.Lock()
	set, offered := c.keys[provider], c.offered[provider]
	c.mu.Unlock()
	if set != "" {
		return set, KeyMemory, nil
	}
	p, configured := c.providers[provider]
	if p.APIKeyEnv == "" || p.Kind == Offline || !configured {
		return "", KeyNotNeeded, nil
	}
	if key := c.getenv(p.APIKeyEnv); key != "" {
		return key, KeyEnv, nil
	}
	stored, err := c.storedKey(provider)
	switch {
	case err == nil && stored != "":
		return stored, KeyStored, nil
	case offered != "":
		return offered, KeyOffered, err
	}
	return "", KeyMissing, err
}

// noKey returns the error for a provider whose key is missing. unusable says why a stored key is not used.
func (c *Client) noKey(provider string, unusable error) *Error {
	how := fmt.Errorf("no key: run `strata login %s`, or set %s for the server or the editor", provider, c.providers[provider].APIKeyEnv)
	if unusable != nil {
		how = fmt.Errorf("%w (%w)", how, unusable)
	}
	return &Error{Kind: KindAuth, err: how}
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

// learned returns m with the limits that its provider's refusals taught.
func (c *Client) learned(m Model) Model {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, known := c.dialects[m.Name]
	m.NoTools = m.NoTools || known && !d.tools
	return m.limited(c.windows[m.Name])
}
