package llm

import (
	"cmp"
	"slices"
	"strings"

	"strata/history"
	"strata/llm/reply"
)

// What a model that nobody described is taken to be.
const (
	DefaultWindow    = 128_000 // tokens
	DefaultMaxOutput = 4_096   // tokens
	DefaultEncoding  = "o200k_base"
)

// Model is what is known about a model.
type Model struct {
	Name        string // provider/model
	Provider    string // configured name
	ID          string // the provider's own name for it
	DisplayName string
	Window      int    // tokens, input and output together
	MaxOutput   int    // tokens
	Encoding    string // the tokenizer that comes closest
	Vision      bool
	Pictures    PictureLimits
	MaxBytes    int            // size of a request's body; 0: no limit
	Thought     []ThoughtLevel // the levels that can be chosen, ThoughtOff among them; empty where there is no choice

	MinCacheTokens int // the shortest prefix that is cached; 0 where unknown
	Price          Price
	Marks          bool // the provider caches prefixes that bear a mark; the others cache by themselves, or not at all
	NoCache        bool // nothing is cached, so that nothing is expected of a cache
	NoTools        bool // takes no tools: none are declared, and earlier calls and results are sent as text
	Known          bool // by the catalogue or the configuration

	wants    ModelConfig // what the configuration says of its requests
	adaptive bool        // Anthropic: thinks as much as it needs, told an effort instead of a budget
	effort   bool        // OpenAI: takes reasoning_effort, also to say "none"
	reasons  bool        // takes no temperature
}

// PictureLimits are the largest pictures that a provider takes. A zero limit is none.
type PictureLimits struct {
	Bytes  int // before base64
	Pixels int // along the longer side
}

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64
	CacheWrite float64 // of the short lifetime; the long one costs twice the input
}

// Cost is the price of a call in US dollars. All cache writes are taken to be of the short lifetime;
// Result.Cost knows better.
func (m Model) Cost(u history.Usage) float64 { return m.cost(u, 0) }

// CostLong is like Cost, for cache writes of the long lifetime.
func (m Model) CostLong(u history.Usage) float64 { return m.cost(u, u.CacheWrite) }

// cost is like Cost; long is the part of u.CacheWrite that lives for an hour.
func (m Model) cost(u history.Usage, long int) float64 {
	long = min(long, u.CacheWrite)
	longPrice := m.Price.CacheWrite
	if m.Price.CacheWrite > m.Price.Input {
		longPrice = 2 * m.Price.Input
	}
	const million = 1e6
	return (float64(u.Input)*m.Price.Input +
		float64(u.Output)*m.Price.Output +
		float64(u.CacheRead)*m.Price.CacheRead +
		float64(u.CacheWrite-long)*m.Price.CacheWrite +
		float64(long)*longPrice) / million
}

// result returns what the model's answer holds so far, with its cost. whole says that the stream came to its end.
func (m Model) result(a *reply.Answer, whole bool) reply.Result {
	res := a.Result(whole)
	res.Model, res.Cost = m.Name, m.cost(res.Usage, a.Long)
	return res
}

// thinks reports whether level asks for thinking that the model can do.
func (m Model) thinks(level ThoughtLevel) bool {
	return level != "" && level != ThoughtOff && slices.Contains(m.Thought, level)
}

// ModelConfig is what the configuration says about a model. Fields that are nil or zero leave the catalogue's value.
type ModelConfig struct {
	Window         int
	MaxOutput      int
	Encoding       string
	Vision         *bool
	MinCacheTokens *int
	Price          *Price

	// How the model wants its requests. Empty and nil leave it to what its provider is known to take, and to what its
	// refusals teach.
	OutputName    string // of the output limit: max_tokens, max_completion_tokens
	Temperature   *bool  // may be sent
	StreamOptions *bool  // may be sent
	Effort        *bool  // reasoning effort or thinking may be asked for
	Tools         *bool  // may be declared
	ThinkingBack  ThinkingBack
	UserAfterTool *bool // a user message may follow a tool result
}

func (c ModelConfig) apply(m Model) Model {
	m.Known = true
	m.wants = c
	if c.Window > 0 {
		m.Window = c.Window
		m.MaxOutput = min(m.MaxOutput, c.Window)
	}
	if c.MaxOutput > 0 {
		m.MaxOutput = c.MaxOutput
	}
	if c.Encoding != "" {
		m.Encoding = c.Encoding
	}
	if c.Vision != nil {
		m.Vision = *c.Vision
	}
	if c.MinCacheTokens != nil {
		m.MinCacheTokens = *c.MinCacheTokens
	}
	if c.Price != nil {
		m.Price = *c.Price
	}
	if c.Tools != nil {
		m.NoTools = !*c.Tools
	}
	return m
}

// limited returns m with no larger window than limit, a number of tokens; 0 limits nothing.
func (m Model) limited(limit int) Model {
	if limit > 0 && limit < m.Window {
		m.Window = limit
		m.MaxOutput = min(m.MaxOutput, limit)
	}
	return m
}

// The sizes that providers are known to take, in bytes and pixels.
const (
	maxBytesAnthropic   = 32 << 20 // of a request
	maxBytesOpenAI      = 50 << 20
	maxBytesDefault     = 64 << 20
	maxPictureAnthropic = 5 << 20 * 3 / 4 // 5 MiB in base64
	maxPictureDefault   = 20 << 20
	maxPixelsAnthropic  = 8000
)

// bounded returns m with the sizes that its provider takes.
func (m Model) bounded(config ProviderConfig) Model {
	switch {
	case config.Kind == Anthropic:
		m.MaxBytes, m.Pictures = maxBytesAnthropic, PictureLimits{Bytes: maxPictureAnthropic, Pixels: maxPixelsAnthropic}
	case config.official():
		m.MaxBytes, m.Pictures = maxBytesOpenAI, PictureLimits{Bytes: maxPictureDefault}
	case config.Kind == OpenAI:
		m.MaxBytes, m.Pictures = maxBytesDefault, PictureLimits{Bytes: maxPictureDefault}
	}
	m.MaxBytes = cmp.Or(config.MaxRequestBytes, m.MaxBytes)
	m.Pictures.Bytes = cmp.Or(config.MaxImageBytes, m.Pictures.Bytes)
	return m
}

// unknownModel is the model of which only the name is known.
func unknownModel(provider, id string) Model {
	return Model{Name: provider + "/" + id, Provider: provider, ID: id, DisplayName: id,
		Window: DefaultWindow, MaxOutput: DefaultMaxOutput, Encoding: DefaultEncoding}
}

// encodingOf names the tokenizer of an OpenAI model. For all others o200k_base comes closest.
func encodingOf(id string) string {
	id = id[strings.LastIndex(id, "/")+1:]
	if strings.HasPrefix(id, "gpt-4o") || strings.HasPrefix(id, "gpt-4.") {
		return "o200k_base"
	}
	if strings.HasPrefix(id, "gpt-4") || strings.HasPrefix(id, "gpt-3.5") {
		return "cl100k_base"
	}
	return DefaultEncoding
}

// minCache is the shortest prefix that a provider caches, in tokens; 0 for servers of which nothing is known.
func minCache(config ProviderConfig, id string) int {
	switch {
	case config.Kind == Anthropic:
		return minCacheOf(id)
	case config.official():
		return 1024 // OpenAI's documentation of prompt caching
	}
	return 0
}

// minCacheOf is the shortest prefix that Anthropic's models cache, in tokens, by the list in its documentation of
// prompt caching. Models that are newer than the list get the largest value: a mark too few costs less than one wasted.
func minCacheOf(id string) int {
	for _, family := range []struct {
		part string
		min  int
	}{
		{"opus-4-5", 4096}, {"opus-4-6", 4096}, {"haiku-4-5", 4096},
		{"sonnet-4-6", 2048}, {"haiku-3", 2048}, {"3-5-haiku", 2048}, {"3-haiku", 2048},
		{"sonnet-4", 1024}, {"opus-4-1", 1024}, {"opus-4-2025", 1024}, {"3-7-sonnet", 1024}, {"3-5-sonnet", 1024}, {"3-opus", 1024},
	} {
		if strings.Contains(id, family.part) {
			return family.min
		}
	}
	return 4096
}

// ThinkingBack says which thinking of earlier replies goes back to the model.
type ThinkingBack string

// The values of ThinkingBack.
const (
	ThinkingNone   ThinkingBack = "none"
	ThinkingOfTurn ThinkingBack = "turn" // that of the running turn
	ThinkingAlways ThinkingBack = "always"
)

// The ids of the offline provider's models. Any other id is taken for the digest.
const (
	digestID = "digest"
	actorID  = "actor"
)

func offlineModel(provider, id string) Model {
	m := unknownModel(provider, id)
	m.DisplayName = "Offline digest (no model)"
	if id == actorID {
		m.DisplayName = "Offline actor (no model)"
	}
	m.NoCache = true
	m.Known = true
	return m
}
