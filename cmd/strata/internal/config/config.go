// Package config reads what the user wants of Strata: one strict YAML file, environment variables over it, flags
// over them. Every value knows where it came from, and every error names its place and what is allowed there.
//
// It must never start anything, write anything, or repeat a secret in an error or a listing.
package config

import (
	"slices"
	"time"

	"strata/server/access"
)

// Config is a complete, checked configuration. Load makes it.
type Config struct {
	File    string  // the file that was read; empty if there is none
	Folders Folders // where Strata keeps its files

	Listen      string
	BehindProxy bool
	TLS         TLS
	Token       access.Token // from STRATA_TOKEN only; zero: the token file's
	TokenFile   string
	Origins     []string
	Hosts       []string
	Workspaces  Workspaces

	DB         string
	Log        Log
	Retention  time.Duration
	IdleUnload time.Duration

	Model          string // provider/model
	DetectionModel string // empty: lexical
	SummaryModel   string // empty: DetectionModel
	ThoughtLevel   string
	SystemPrompt   string // empty: the profile's

	Providers map[string]*Provider
	Models    map[string]*Model

	Profile    string
	Profiles   map[string][]Override
	Stability  Stability
	Compaction Compaction
	Timeouts   Timeouts
	Limits     Limits

	origins map[string]Origin // of each value that is not the default, by dotted key
}

// TLS names the files of the server's certificate and its key in PEM; both or neither are set.
type TLS struct{ Cert, Key string }

// Workspaces narrows where sessions may work.
type Workspaces struct {
	Roots []string // absolute; empty: anywhere
}

// Log says what is logged and where to.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // auto: text on a terminal, JSON otherwise
	File   string // empty: stderr
}

// Provider is one service that answers prompts.
type Provider struct {
	Kind      string // offline, anthropic, openai
	BaseURL   string // empty: the service's own
	APIKeyEnv string // the name of a variable, not a key
	Headers   map[string]string
	DeltaGap  time.Duration // between deltas of an offline answer

	RetryStatuses   []int // HTTP statuses after which a request is sent again
	MaxRequestBytes int   // 0: the kind's own limit
	MaxImageBytes   int   // before base64; 0: the kind's own limit
}

// defaultRetryStatuses are the HTTP statuses that a later attempt may not get: a request that came too early or too
// often, a server or the proxy before it in trouble. 520 to 530 are Cloudflare's, 529 also Anthropic's "overloaded".
var defaultRetryStatuses = []int{408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530}

func newProvider(kind, apiKeyEnv string) *Provider {
	return &Provider{Kind: kind, APIKeyEnv: apiKeyEnv, Headers: map[string]string{}, RetryStatuses: slices.Clone(defaultRetryStatuses)}
}

// Model overrides what the embedded catalogue says of a model. Nil fields override nothing.
type Model struct {
	Window         *int // tokens
	MaxOutput      *int // tokens
	Encoding       *string
	Vision         *bool
	MinCacheTokens *int
	Price          Price

	// What its API takes. Nil and empty: learned from its answers.
	OutputName      string // of the output limit: max_tokens, max_completion_tokens
	Temperature     *bool
	StreamOptions   *bool
	Tools           *bool
	ReasoningEffort *bool
	ThinkingBack    string // none, turn, always
	UserAfterTool   *bool  // a user message right after a tool result
}

// Price is in US dollars per million tokens. Nil fields override nothing.
type Price struct{ Input, Output, CacheRead, CacheWrite *float64 }

// Stability says how requests are laid out for prompt caches.
type Stability struct {
	Layout            string // log, ripple
	Strict            bool
	CacheTTL          string // auto, 5m, 1h
	CacheTargetTokens int
}

// Compaction says whether histories are compacted by themselves, and how many at once.
type Compaction struct {
	Enabled bool
	Workers int
}

// Timeouts bound the silence of a provider.
type Timeouts struct {
	FirstByte    time.Duration // does not count on loopback, where large models may load
	BetweenBytes time.Duration
}

// Limits bound what clients can make the server hold.
type Limits struct {
	FrameBytes  int64
	Connections int
	Requests    int // in flight, each connection
	FileBytes   int64
}

// Default gives the configuration of a user who sets nothing. Empty paths are filled in by Load.
func Default() *Config {
	return &Config{
		Listen:       "127.0.0.1:7717",
		Log:          Log{Level: "info", Format: "auto"},
		Retention:    7 * 24 * time.Hour,
		IdleUnload:   30 * time.Minute,
		Model:        OfflineModel,
		ThoughtLevel: "off",
		Providers: map[string]*Provider{
			"offline":   newProvider("offline", ""),
			"anthropic": newProvider("anthropic", "ANTHROPIC_API_KEY"),
			"openai":    newProvider("openai", "OPENAI_API_KEY"),
		},
		Models:     map[string]*Model{},
		Profile:    "chat",
		Profiles:   map[string][]Override{},
		Stability:  Stability{Layout: "log", CacheTTL: "auto", CacheTargetTokens: 1536},
		Compaction: Compaction{Enabled: true, Workers: 2},
		Timeouts:   Timeouts{FirstByte: 10 * time.Minute, BetweenBytes: 5 * time.Minute},
		Limits:     Limits{FrameBytes: 16 << 20, Connections: 256, Requests: 64, FileBytes: 1 << 20},
		origins:    map[string]Origin{},
	}
}

// OfflineModel answers without a network. It is the default, so that nothing is sent to a paid service unasked.
const OfflineModel = "offline/digest"

// Origin says where the value of a dotted key came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// IsDefault reports whether nobody set the dotted key.
func (c *Config) IsDefault(key string) bool { return c.origins[key] == Origin{} }
