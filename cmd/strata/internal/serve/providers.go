package serve

import (
	"log/slog"
	"time"

	"strata/cmd/strata/internal/config"
	"strata/llm"
	"strata/server/access"
	"strata/server/access/secrets"
)

// keyringLimit is the time that the system's keyring may take for a key. A locked keyring asks the user.
const keyringLimit = 10 * time.Second

// Client returns the options of a client of the configured providers. log may be nil.
func Client(c *config.Config, getenv func(string) string, log *slog.Logger) llm.Options {
	opt := llm.Options{
		Providers: make(map[string]llm.ProviderConfig, len(c.Providers)),
		Models:    make(map[string]llm.ModelConfig, len(c.Models)),
		FirstByte: c.Timeouts.FirstByte, BetweenBytes: c.Timeouts.BetweenBytes,
		Getenv: getenv, StoredKey: access.KeysIn(c.Folders.State, secrets.System(getenv, keyringLimit)).Load, Log: log,
	}
	for name, p := range c.Providers {
		opt.Providers[name] = providerConfig(p)
	}
	for name, m := range c.Models {
		opt.Models[name] = modelConfig(m)
	}
	return opt
}

func providerConfig(p *config.Provider) llm.ProviderConfig {
	headers := make(map[string]string, len(p.Headers))
	for name, value := range p.Headers {
		headers[name] = *value
	}
	return llm.ProviderConfig{
		Kind: llm.Kind(p.Kind), BaseURL: p.BaseURL, APIKeyEnv: p.APIKeyEnv, Headers: headers, DeltaGap: p.DeltaGap,
		RetryStatuses: p.RetryStatuses, MaxRequestBytes: p.MaxRequestBytes, MaxImageBytes: p.MaxImageBytes,
	}
}

func modelConfig(m *config.Model) llm.ModelConfig {
	return llm.ModelConfig{
		Window: deref(m.Window), MaxOutput: deref(m.MaxOutput), Encoding: m.Encoding,
		Vision: m.Vision, MinCacheTokens: m.MinCacheTokens, Price: price(m.Price),
		OutputName: m.OutputName, Temperature: m.Temperature, StreamOptions: m.StreamOptions,
		Tools: m.Tools, Effort: m.ReasoningEffort, ThinkingBack: llm.ThinkingBack(m.ThinkingBack), UserAfterTool: m.UserAfterTool,
	}
}

// price returns nil if no price is set. A cached token without a price of its own costs as much as any other.
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

// deref returns the zero value for nil. Package llm takes it as not set.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
