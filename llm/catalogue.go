package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"strata/internal/lazy"
)

// catalogue knows the models of the configured providers. The embedded list is read when the first model is asked
// for that needs it, and only the models of configured providers are kept.
type catalogue struct {
	providers map[string]ProviderConfig
	config    map[string]ModelConfig

	once   sync.Once
	models map[string]Model // by provider/model
	sorted func() []Model   // the known models by name, collected once; the slice must not be changed
}

func newCatalogue(providers map[string]ProviderConfig, config map[string]ModelConfig) *catalogue {
	c := &catalogue{providers: providers, config: config}
	c.sorted = sync.OnceValue(c.collect)
	return c
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

var dated = lazy.Regexp(`^-\d{8}$`)

// alias reports whether listed is name with a date behind it.
func alias(listed, name string) bool {
	rest, ok := strings.CutPrefix(listed, name)
	return ok && dated().MatchString(rest)
}

// all returns the known models, sorted by name.
func (c *catalogue) all() []Model { return slices.Clone(c.sorted()) }

func (c *catalogue) collect() []Model {
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
			names[provider+"/"+digestID] = true
			names[provider+"/"+actorID] = true
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
	all := parseList(modelList)
	for name, config := range c.providers {
		for _, row := range match(all, name, config).rows {
			listed, err := parseModel(row)
			if err != nil {
				panic(fmt.Sprintf("llm/models.tsv: %v", err)) // a fault of the build, which a test guards against
			}
			m := fromList(name, config, listed)
			c.models[m.Name] = m
		}
	}
}

// match finds the list's entry for a provider: by its name, by its address, or by its kind at the usual address.
// An empty listing stands for none.
func match(all []listing, name string, config ProviderConfig) listing {
	if config.Kind == Offline {
		return listing{}
	}
	usual := ""
	if config.BaseURL == "" {
		usual = string(config.Kind)
	}
	byName := func(l listing) bool { return l.id == name }
	byAddress := func(l listing) bool {
		return config.BaseURL != "" && strings.TrimRight(l.address, "/") == strings.TrimRight(config.BaseURL, "/")
	}
	byKind := func(l listing) bool { return l.id == usual }
	for _, is := range []func(listing) bool{byName, byAddress, byKind} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i]
		}
	}
	return listing{}
}

func fromList(provider string, config ProviderConfig, in listedModel) Model {
	m := unknownModel(provider, in.id)
	m.Known = true
	m.DisplayName = in.name
	m.Window = cmp.Or(in.window, DefaultWindow)
	m.MaxOutput = cmp.Or(in.maxOutput, DefaultMaxOutput)
	m.Encoding = encodingOf(in.id)
	m.Vision = in.vision
	m.Price = priceOf(in)
	m.reasons = in.reasons
	m.MinCacheTokens = minCache(config, in.id)
	if config.Kind == Anthropic {
		m.adaptive = slices.Contains(in.levels, "max")
	} else {
		m.effort = slices.Contains(in.levels, "none")
	}
	m.Thought = levelsOf(config.Kind, in)
	return m
}

// levelsOf lists the levels that can be asked for. Anthropic's older models take a budget instead of a level, so they have all.
func levelsOf(kind Kind, in listedModel) []ThoughtLevel {
	if !in.reasons {
		return nil
	}
	budget := kind == Anthropic && len(in.levels) == 0
	var out []ThoughtLevel
	for _, level := range []ThoughtLevel{ThoughtLow, ThoughtMedium, ThoughtHigh} {
		if budget || slices.Contains(in.levels, string(level)) {
			out = append(out, level)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]ThoughtLevel{ThoughtOff}, out...)
}

// priceOf sorts out the list's two cache prices. They are called "in cached" and "out cached", but which of
// them is the price of a read and which that of a write differs between its sources: for Anthropic "in cached" is
// the write, for OpenAI's GPT-5.5 it is the read, for GPT-4o "out cached" is the read. The values tell: a read costs
// less than input, a write 1.25 times as much wherever it is billed at all.
func priceOf(in listedModel) Price {
	p := Price{Input: in.input, Output: in.output, CacheRead: in.input, CacheWrite: in.input}
	for _, price := range []float64{in.inCached, in.outCached} {
		switch {
		case price > 0 && price < p.CacheRead:
			p.CacheRead = price
		case price > p.Input && price <= 1.3*p.Input:
			p.CacheWrite = price
		}
	}
	return p
}
