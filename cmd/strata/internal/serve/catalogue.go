package serve

import (
	"strata/llm"
	"strata/server"
)

// catalogue provides the models and providers of package llm in the types of package server.
type catalogue struct{ *llm.Client }

// configured returns a model; ok is false if its provider is not configured.
func (c catalogue) configured(name string) (m llm.Model, ok bool) {
	m, _ = c.Client.Model(name)
	return m, m.Name != ""
}

// Models returns the models whose providers have the keys that they need.
func (c catalogue) Models() []server.Model {
	callable := make(map[string]bool)
	for _, p := range c.Client.Providers() {
		callable[p.Name] = p.Key != llm.KeyMissing
	}
	var all []server.Model
	for _, m := range c.Client.Models() {
		if callable[m.Provider] {
			all = append(all, serverModel(m))
		}
	}
	return all
}

func serverModel(m llm.Model) server.Model {
	thought := make([]string, len(m.Thought))
	for i, level := range m.Thought {
		thought[i] = string(level)
	}
	title := m.DisplayName
	if title == "" {
		title = m.Name
	}
	return server.Model{
		Name: m.Name, Title: title, Window: m.Window, MaxOutput: m.MaxOutput, Vision: m.Vision, Thought: thought, Known: m.Known,
	}
}

// Providers returns the configured providers.
func (c catalogue) Providers() []server.Provider {
	statuses := c.Client.Providers()
	all := make([]server.Provider, len(statuses))
	for i, p := range statuses {
		all[i] = server.Provider{Name: p.Name, Kind: string(p.Kind), BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, KeySource: string(p.Key)}
	}
	return all
}
