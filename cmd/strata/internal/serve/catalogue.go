package serve

import (
	"strata/llm"
	"strata/server/wire"
)

// catalogue implements server.Models with a client of package llm.
type catalogue struct{ *llm.Client }

// Model returns a model; ok is false if its provider is not configured.
func (c catalogue) Model(name string) (m llm.Model, ok bool) {
	m, _ = c.Client.Model(name)
	return m, m.Name != ""
}

// Catalogue returns the models whose providers have the keys that they need.
func (c catalogue) Catalogue() []wire.Model {
	callable := make(map[string]llm.ProviderStatus)
	for _, p := range c.Client.Providers() {
		if p.Key != llm.KeyMissing {
			callable[p.Name] = p
		}
	}
	var all []wire.Model
	for _, m := range c.Client.Models() {
		p, ok := callable[m.Provider]
		if !ok {
			continue
		}
		model := wireModel(m)
		if p.Kind == llm.Offline {
			model.Price = new(wire.Price) // free
		}
		all = append(all, model)
	}
	return all
}

func wireModel(m llm.Model) wire.Model {
	thought := make([]string, len(m.Thought))
	for i, level := range m.Thought {
		thought[i] = string(level)
	}
	title := m.DisplayName
	if title == "" {
		title = m.Name
	}
	return wire.Model{
		Name: m.Name, Title: title, Window: m.Window, MaxOutput: m.MaxOutput, Vision: m.Vision, Thought: thought, Known: m.Known,
		Price: wirePrice(m.Price),
	}
}

// wirePrice returns nil for a price that is not known.
func wirePrice(p llm.Price) *wire.Price {
	if p == (llm.Price{}) {
		return nil
	}
	return &wire.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
}

// Providers returns the configured providers.
func (c catalogue) Providers() []wire.Provider {
	statuses := c.Client.Providers()
	all := make([]wire.Provider, len(statuses))
	for i, p := range statuses {
		all[i] = wire.Provider{Name: p.Name, Kind: string(p.Kind), BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, KeySource: string(p.Key)}
	}
	return all
}
