package main

import (
	"strata/cmd/strata/internal/config"
	"strata/llm"
)

// providers returns the configured providers by name, as package llm takes them.
func providers(c *config.Config) map[string]llm.ProviderConfig {
	all := make(map[string]llm.ProviderConfig, len(c.Providers))
	for name, p := range c.Providers {
		all[name] = providerConfig(p)
	}
	return all
}

func providerConfig(p *config.Provider) llm.ProviderConfig {
	headers := make(map[string]string, len(p.Headers))
	for name, value := range p.Headers {
		headers[name] = *value
	}
	return llm.ProviderConfig{
		Kind: llm.Kind(p.Kind), BaseURL: p.BaseURL, APIKeyEnv: p.APIKeyEnv, Headers: headers, DeltaGap: p.DeltaGap,
	}
}

// models returns the configured models by provider/model, as package llm takes them.
func models(c *config.Config) map[string]llm.ModelConfig {
	all := make(map[string]llm.ModelConfig, len(c.Models))
	for name, m := range c.Models {
		all[name] = modelConfig(m)
	}
	return all
}

func modelConfig(m *config.Model) llm.ModelConfig {
	return llm.ModelConfig{
		Window: deref(m.Window), MaxOutput: deref(m.MaxOutput), Encoding: m.Encoding,
		Vision: m.Vision, MinCacheTokens: m.MinCacheTokens, Price: price(m.Price),
	}
}

// price gives nil where nothing is set. Where only some prices are, a cached token costs what any other does.
func price(p config.Price) *llm.Price {
	if p == (config.Price{}) {
		return nil
	}
	full := llm.Price{Input: deref(p.Input), Output: deref(p.Output)}
	full.CacheRead, full.CacheWrite = full.Input, full.Input
	if p.CacheRead != nil {
		full.CacheRead = *p.CacheRead
	}
	if p.CacheWrite != nil {
		full.CacheWrite = *p.CacheWrite
	}
	return &full
}

// deref gives the zero value for nil, which package llm reads as not set.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
