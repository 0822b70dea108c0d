package llm

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// catalogue knows the models of the configured providers. The embedded list of all providers is decoded when the
// first model is asked for that needs it (6 ms, 1 MB of garbage), and only the configured ones are kept.
type catalogue struct {
	providers map[string]ProviderConfig
	config    map[string]ModelConfig

	once   sync.Once
	models map[string]Model // by provider/model
}

func newCatalogue(providers map[string]ProviderConfig, config map[string]ModelConfig) *catalogue {
	return &catalogue{providers: providers, config: config}
}

// find returns the model called name and whether it is known. A provider that is not configured has no model.
func (c *catalogue) find(name string) (Model, bool) {
	provider, id, _ := strings.Cut(name, "/")
	kind := c.providers[provider].Kind
	if kind == "" || id == "" {
		return Model{}, false
	}
	model := offlineModel(provider, id)
	if kind != Offline {
		model = c.listed(provider, id)
	}
	if over, configured := c.config[name]; configured {
		model = over.apply(model)
	}
	model.Marks = kind == Anthropic
	return model.bounded(c.providers[provider]), model.Known
}

// listed is the catalogue's model, also under its name without a date, or one that is not known.
func (c *catalogue) listed(provider, id string) Model {
	c.once.Do(c.load)
	name := provider + "/" + id
	if m, ok := c.models[name]; ok {
		return m
	}
	newest := ""
	for listed := range c.models {
		if alias(listed, name) {
			newest = max(newest, listed)
		}
	}
	if newest == "" {
		m := unknownModel(provider, id)
		m.MinCacheTokens = minCache(c.providers[provider], id)
		return m
	}
	m := c.models[newest]
	m.Name, m.ID = name, id
	return m
}

var dated = regexp.MustCompile(`^-\d{8}$`)

// alias reports whether listed is name with a date behind it.
func alias(listed, name string) bool {
	rest, ok := strings.CutPrefix(listed, name)
	return ok && dated.MatchString(rest)
}

// all returns the known models, sorted by name.
func (c *catalogue) all() []Model {
	c.once.Do(c.load)
	names := map[string]bool{}
	for name := range c.models {
		names[name] = true
	}
	for name := range c.config {
		names[name] = true
	}
	for provider, config := range c.providers {
		if config.Kind == Offline {
			names[provider+"/"+offlineID] = true
		}
	}
	var out []Model
	for name := range names {
		if m, ok := c.find(name); ok {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (c *catalogue) load() {
	c.models = map[string]Model{}
	all := embedded.GetAll()
	for name, config := range c.providers {
		if listed := match(all, name, config); listed != nil {
			for _, m := range listed.Models {
				c.models[name+"/"+m.ID] = fromCatalogue(name, config, m)
			}
		}
	}
}

// match finds the catalogue's entry for a provider: by its name, by its address, or by its kind at the usual address.
func match(all []catwalk.Provider, name string, config ProviderConfig) *catwalk.Provider {
	if config.Kind == Offline {
		return nil
	}
	usual := ""
	if config.BaseURL == "" {
		usual = string(config.Kind)
	}
	byName := func(p catwalk.Provider) bool { return string(p.ID) == name }
	byAddress := func(p catwalk.Provider) bool {
		return config.BaseURL != "" && strings.TrimRight(p.APIEndpoint, "/") == strings.TrimRight(config.BaseURL, "/")
	}
	byKind := func(p catwalk.Provider) bool { return string(p.ID) == usual }
	for _, is := range []func(catwalk.Provider) bool{byName, byAddress, byKind} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return &all[i]
		}
	}
	return nil
}

func fromCatalogue(provider string, config ProviderConfig, in catwalk.Model) Model {
	m := unknownModel(provider, strings.Clone(in.ID))
	m.Known = true
	m.DisplayName = in.Name
	m.Window = cmp.Or(int(in.ContextWindow), DefaultWindow)
	m.MaxOutput = cmp.Or(int(in.DefaultMaxTokens), DefaultMaxOutput)
	m.Encoding = encodingOf(in.ID)
	m.Vision = in.SupportsImages
	m.Price = priceOf(in)
	m.reasons = in.CanReason
	m.MinCacheTokens = minCache(config, in.ID)
	if config.Kind == Anthropic {
		m.adaptive = slices.Contains(in.ReasoningLevels, "max")
	} else {
		m.effort = slices.Contains(in.ReasoningLevels, "none")
	}
	m.Thought = levelsOf(config.Kind, in)
	return m
}

// levelsOf lists the levels that can be asked for. Anthropic's older models take a budget instead of a level, so they have all.
func levelsOf(kind Kind, in catwalk.Model) []ThoughtLevel {
	if !in.CanReason {
		return nil
	}
	budget := kind == Anthropic && len(in.ReasoningLevels) == 0
	var out []ThoughtLevel
	for _, level := range []ThoughtLevel{ThoughtLow, ThoughtMedium, ThoughtHigh} {
		if budget || slices.Contains(in.ReasoningLevels, string(level)) {
			out = append(out, level)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]ThoughtLevel{ThoughtOff}, out...)
}

// priceOf sorts out the catalogue's two cache prices. They are called "in cached" and "out cached", but which of
// them is the price of a read and which that of a write differs between its sources: for Anthropic "in cached" is
// the write, for OpenAI's GPT-5.5 it is the read, for GPT-4o "out cached" is the read. The values tell: a read costs
// less than input, a write 1.25 times as much wherever it is billed at all.
func priceOf(in catwalk.Model) Price {
	p := Price{Input: in.CostPer1MIn, Output: in.CostPer1MOut, CacheRead: in.CostPer1MIn, CacheWrite: in.CostPer1MIn}
	for _, price := range []float64{in.CostPer1MInCached, in.CostPer1MOutCached} {
		switch {
		case price > 0 && price < p.CacheRead:
			p.CacheRead = price
		case price > p.Input && price <= 1.3*p.Input:
			p.CacheWrite = price
		}
	}
	return p
}
