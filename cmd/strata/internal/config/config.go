// Package config reads the configuration of Strata: one strict YAML file, environment variables over it, flags over
// them. Each value records its origin; each error names its place and the allowed values.
//
// It must never start anything, write anything, or repeat a secret in an error or a listing.
package config

import (
	"reflect"
	"slices"
	"time"

	"strata/server/access"
)

// Config is a complete, checked configuration, made by Load. Its fields with a yaml tag are all there is to configure:
// the reader of the file, the names of variables and flags, --print-config and the table in docs/configuration.md
// follow from their tags, which type setting explains.
type Config struct {
	File    string  // the file that was read; empty if there is none
	Folders Folders // of Strata's files

	Listen      string       `yaml:"listen" default:"127.0.0.1:7717" allow:"listen" doc:"Address to listen on; port 0 picks a free port."`
	BehindProxy bool         `yaml:"behind_proxy" doc:"A reverse proxy terminates TLS."`
	TLS         TLS          `yaml:"tls"`
	Token       access.Token `yaml:"token" allow:"token" only:"env" secret:"value" doc:"Token that clients must send. Default: the content of the token file."`
	TokenFile   string       `yaml:"token_file" allow:"path" doc:"File that holds the token; created if missing. Default: in the user's state folder."`
	KeyStore    string       `yaml:"key_store" default:"auto" oneof:"auto file" doc:"Where strata login stores API keys: in the system's keyring if it has one, or in a private file."`
	Origins     []string     `yaml:"origins" allow:"origin" doc:"Further allowed origins of web pages and editor views."`
	Hosts       []string     `yaml:"hosts" allow:"host" doc:"Further allowed Host values."`
	Workspaces  Workspaces   `yaml:"workspaces"`
	Files       Files        `yaml:"files"`

	DB         string        `yaml:"db" allow:"path" doc:"Database file. Default: in the user's data folder."`
	Log        Log           `yaml:"log"`
	Retention  time.Duration `yaml:"retention" default:"168h" min:"1s" doc:"Time during which a deleted session can be undeleted."`
	IdleUnload time.Duration `yaml:"idle_unload" default:"30m" min:"1s" doc:"Idle time before a session is unloaded from memory."`

	Storage Storage `yaml:"storage"`

	Model          string `yaml:"model" default:"offline/digest" allow:"model" doc:"Model of new sessions."`
	DetectionModel string `yaml:"detection_model" allow:"model" empty:"yes" doc:"Model that finds topic boundaries. Empty: lexical detection without a model."`
	SummaryModel   string `yaml:"summary_model" allow:"model" empty:"yes" doc:"Model that writes summaries. Empty: detection_model."`
	ThoughtLevel   string `yaml:"thought_level" default:"off" oneof:"off low medium high" doc:"Thinking effort of new sessions."`
	SystemPrompt   string `yaml:"system_prompt" allow:"text" doc:"System prompt of new sessions. Empty: the profile's."`

	Providers map[string]*Provider `yaml:"providers" names:"provider"`
	Models    map[string]*Model    `yaml:"models" names:"model"`

	Profile    string     `yaml:"profile" default:"chat" allow:"profile" doc:"Context rules of new sessions."`
	Profiles   []Override `yaml:"profiles" names:"profile"`
	Stability  Stability  `yaml:"stability"`
	Compaction Compaction `yaml:"compaction"`
	Outlines   Outlines   `yaml:"outlines"`
	Tools      Tools      `yaml:"tools"`

	MCPServers map[string]*MCPServer `yaml:"mcp_servers" names:"mcpserver"`

	Budgets map[string]*Budget `yaml:"budgets" names:"budget"`

	Timeouts Timeouts `yaml:"timeouts"`
	Limits   Limits   `yaml:"limits"`

	origins map[string]Origin // of each value that is not the default, by dotted key
}

// TLS names the PEM files of the server's certificate and its key; both or neither are set.
type TLS struct {
	Cert string `yaml:"cert" allow:"path" doc:"Certificate chain, a PEM file."`
	Key  string `yaml:"key" allow:"path" doc:"Private key of the certificate, a PEM file."`
}

// Workspaces restricts the folders of sessions.
type Workspaces struct {
	Roots []string `yaml:"roots" allow:"folder" doc:"Folders that contain all workspaces. Empty: no restriction."` // absolute
}

// Files restricts the files of sessions.
type Files struct {
	Secrets []string `yaml:"secrets" default:"default" allow:"secret" doc:"Files that look like secrets and need an explicit allow. Empty: none."`
}

// Storage limits the kept requests.
type Storage struct {
	RequestAge   time.Duration `yaml:"request_age" default:"720h" min:"1s" doc:"Time for which the request of a call is kept, without its texts."`
	RequestBytes int64         `yaml:"request_bytes" default:"67108864" min:"1" doc:"Maximum total size of kept requests, in bytes; the oldest are deleted first."`
}

// Log is the configuration of the server's log.
type Log struct {
	Level  string `yaml:"level" default:"info" oneof:"debug info warn error" doc:"Lowest level that is logged."`
	Format string `yaml:"format" default:"auto" oneof:"auto text json" doc:"Log format; auto is text on a terminal and json otherwise."`
	File   string `yaml:"file" allow:"path" doc:"Log file. Empty: standard error."`
}

// Provider is a service that answers prompts. Requests are sent again after statuses that a later attempt may avoid: a
// request too early or too frequent, and trouble of a server or of the proxy in front of it. 520 to 530 are Cloudflare's;
// 529 is also Anthropic's "overloaded".
type Provider struct {
	Kind      string             `yaml:"kind" oneof:"offline anthropic openai" doc:"Protocol of the provider."`
	BaseURL   string             `yaml:"base_url" allow:"url" empty:"yes" secret:"error" doc:"Address of the API. Empty: the service's own."`
	APIKeyEnv string             `yaml:"api_key_env" allow:"variable" empty:"yes" secret:"error" doc:"Environment variable that holds the API key. Empty: no key is sent."`
	Headers   map[string]*string `yaml:"headers" names:"header" allow:"line" secret:"value" doc:"A header of each request."`

	RetryStatuses   []int         `yaml:"retry_statuses" default:"408,409,425,429,500,502,503,504,520,521,522,523,524,529,530" allow:"status" doc:"HTTP statuses after which a request is sent again."`
	MaxRequestBytes int           `yaml:"max_request_bytes" doc:"Largest request, in bytes. 0: the limit of the kind."`
	MaxImageBytes   int           `yaml:"max_image_bytes" doc:"Largest image, in bytes before base64. 0: the limit of the kind."`
	DeltaGap        time.Duration `yaml:"delta_gap" min:"0s" doc:"Pause between deltas of an offline reply."`
}

// Model overrides the embedded catalogue. Nil and empty fields override nothing.
type Model struct {
	Window         *int   `yaml:"window" min:"1" doc:"Context window, in tokens."`
	MaxOutput      *int   `yaml:"max_output" min:"1" doc:"Longest reply, in tokens."`
	Encoding       string `yaml:"encoding" oneof:"o200k_base cl100k_base" empty:"yes" doc:"Tokenizer that counts tokens. Empty: the catalogue's."`
	Vision         *bool  `yaml:"vision" doc:"The model accepts images; auto: as the catalogue says."`
	MinCacheTokens *int   `yaml:"min_cache_tokens" doc:"Shortest prefix that the provider caches, in tokens."`
	Price          Price  `yaml:"price"`

	OutputName      string `yaml:"output_name" oneof:"max_tokens max_completion_tokens" empty:"yes" doc:"Parameter that limits the output. Empty: learned from the API."`
	Temperature     *bool  `yaml:"temperature" doc:"The model accepts a temperature; auto: learned from the API."`
	StreamOptions   *bool  `yaml:"stream_options" doc:"The API accepts stream options, which request usage; auto: learned from the API."`
	Tools           *bool  `yaml:"tools" doc:"The model accepts tools; auto: learned from the API."`
	ReasoningEffort *bool  `yaml:"reasoning_effort" doc:"The model accepts a reasoning effort; auto: learned from the API."`
	ThinkingBack    string `yaml:"thinking_back" oneof:"none turn always" empty:"yes" doc:"Thinking that is sent back: none, that of the current turn, or all. Empty: as the model requires."`
	UserAfterTool   *bool  `yaml:"user_after_tool" doc:"The model accepts a user message directly after a tool result; auto: learned from the API."`
}

// Price is in US dollars per million tokens. Nil fields override nothing.
type Price struct {
	Input      *float64 `yaml:"input" doc:"US dollars per million tokens of input."`
	Output     *float64 `yaml:"output" doc:"US dollars per million tokens of output."`
	CacheRead  *float64 `yaml:"cache_read" doc:"US dollars per million tokens read from the cache."`
	CacheWrite *float64 `yaml:"cache_write" doc:"US dollars per million tokens written to the cache."`
}

// Stability is how requests are laid out for prompt caches.
type Stability struct {
	Layout            string `yaml:"layout" default:"log" oneof:"log ripple" doc:"Layout of requests for prompt caches."`
	Strict            bool   `yaml:"strict" doc:"Rebuild the request immediately when a file is removed, at any cost."`
	CacheTTL          string `yaml:"cache_ttl" default:"auto" oneof:"auto 5m 1h" doc:"Lifetime of cache breakpoints."`
	CacheTargetTokens int    `yaml:"cache_target_tokens" default:"1536" doc:"Smallest tier worth a cache breakpoint, in tokens; 0 turns tiers off."`
}

// Compaction is the configuration of automatic compaction.
type Compaction struct {
	Enabled bool `yaml:"enabled" default:"true" doc:"Compact histories automatically."`
	Workers int  `yaml:"workers" default:"2" min:"1" doc:"Maximum concurrent compactions."`
}

// Timeouts bound the silence of a provider.
type Timeouts struct {
	FirstByte    time.Duration `yaml:"first_byte" default:"10m" min:"1ms" doc:"Longest wait for the first byte of a provider's reply; unlimited for providers on loopback."`
	BetweenBytes time.Duration `yaml:"between_bytes" default:"5m" min:"1ms" doc:"Longest silence of a provider during a reply."`
}

// Outlines configures the index of workspaces.
type Outlines struct {
	Enabled    bool  `yaml:"enabled" default:"true" doc:"Index the folders of sessions, for outlines of source files and for the tree of files."`
	Files      int   `yaml:"files" default:"20000" min:"1" doc:"Maximum number of files in the index of a folder."`
	TotalBytes int64 `yaml:"total_bytes" default:"67108864" min:"1" doc:"Maximum total size of the source files of a folder that have outlines, in bytes."`
}

// Tools configures what the model can do.
type Tools struct {
	Enabled  bool   `yaml:"enabled" default:"true" doc:"Let the model use tools: for the folders of a session, for commands, and those of clients and MCP servers."`
	Commands string `yaml:"commands" default:"any" oneof:"client any off" doc:"Where commands of the model run: only in terminals of the client (client), also on the server's machine (any), or nowhere (off)."`
	MaxSteps int    `yaml:"max_steps" default:"100" min:"1" doc:"Maximum number of calls of the model in one turn."`

	Allow           []string      `yaml:"allow" allow:"allowing" doc:"Calls that run without asking, if they can change something."`
	Deny            []string      `yaml:"deny" allow:"denying" doc:"Calls that are refused, also if another rule allows them."`
	ApprovalTimeout time.Duration `yaml:"approval_timeout" default:"1h" min:"1s" doc:"Longest wait for an approval while no client can be asked."`
}

// Limits bound the resources that clients can use.
type Limits struct {
	FrameBytes  int64 `yaml:"frame_bytes" default:"16777216" min:"1" doc:"Largest frame from a client, in bytes."`
	Connections int   `yaml:"connections" default:"256" min:"1" doc:"Maximum concurrent connections."`
	Requests    int   `yaml:"requests" default:"64" min:"1" doc:"Maximum requests in flight on one connection."`
	FileBytes   int64 `yaml:"file_bytes" default:"1048576" min:"1" doc:"Largest file in a session, in bytes."`
}

// KeyFile is the value of KeyStore that keeps API keys out of the system's keyring.
const KeyFile = "file"

// OfflineModel replies without a network. It is the default: Strata calls a paid service only if the user selects its model.
const OfflineModel = "offline/digest"

// Default returns the built-in configuration. Load fills in its empty paths.
func Default() *Config {
	c := &Config{origins: map[string]Origin{}}
	c.all().reset()
	for kind, key := range map[string]string{"offline": "", "anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"} {
		setting{field: reflect.ValueOf(c.Providers)}.entry(kind)
		c.Providers[kind].Kind, c.Providers[kind].APIKeyEnv = kind, key
	}
	return c
}

// KeyVariables returns the names of the environment variables that hold the API keys of providers, sorted.
func (c *Config) KeyVariables() []string {
	var names []string
	for _, p := range c.Providers {
		if p.APIKeyEnv != "" {
			names = append(names, p.APIKeyEnv)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Origin returns where the value of a dotted key came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// IsDefault reports whether no source set the dotted key.
func (c *Config) IsDefault(key string) bool { return c.origins[key] == Origin{} }
