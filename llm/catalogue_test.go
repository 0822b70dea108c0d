package llm

import (
	"math"
	"slices"
	"testing"

	"strata/history"
)

func newTestCatalogue(config map[string]ModelConfig) *catalogue {
	return newCatalogue(map[string]ProviderConfig{
		"anthropic":  {Kind: Anthropic},
		"openai":     {Kind: OpenAI},
		"openrouter": {Kind: OpenAI, BaseURL: "https://openrouter.ai/api/v1"},
		"work":       {Kind: Anthropic},
		"router":     {Kind: OpenAI, BaseURL: "https://openrouter.ai/api/v1/"},
		"local":      {Kind: OpenAI, BaseURL: "http://127.0.0.1:11434/v1"},
		"offline":    {Kind: Offline},
	}, config)
}

// TestPricesAreListPrices compares prices with the providers' price lists, in US dollars per million tokens. The
// catalogue's two cache prices have different meanings for different models.
func TestPricesAreListPrices(t *testing.T) {
	c := newTestCatalogue(nil)
	for name, want := range map[string]Price{
		"anthropic/claude-sonnet-4-5-20250929": {Input: 3, Output: 15, CacheRead: 0.30, CacheWrite: 3.75},
		"anthropic/claude-opus-4-5-20251101":   {Input: 5, Output: 25, CacheRead: 0.50, CacheWrite: 6.25},
		"anthropic/claude-haiku-4-5-20251001":  {Input: 1, Output: 5, CacheRead: 0.10, CacheWrite: 1.25},
		"anthropic/claude-opus-4-1-20250805":   {Input: 15, Output: 75, CacheRead: 1.50, CacheWrite: 18.75},
		"openai/gpt-5":                         {Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite: 1.25},
		"openai/gpt-4o":                        {Input: 2.50, Output: 10, CacheRead: 1.25, CacheWrite: 2.50},
		"openai/gpt-4.1":                       {Input: 2, Output: 8, CacheRead: 0.50, CacheWrite: 2},
		"openai/gpt-5.5":                       {Input: 5, Output: 30, CacheRead: 0.50, CacheWrite: 5},
		"openrouter/google/gemini-2.5-pro":     {Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite: 1.25},
	} {
		m, ok := c.find(name)
		if !ok || m.Price != want {
			t.Errorf("%s: known %v, price %+v, want %+v", name, ok, m.Price, want)
		}
	}
}

// TestEveryPriceIsPlausible detects a third convention for prices in a newer catalogue.
func TestEveryPriceIsPlausible(t *testing.T) {
	for _, m := range newTestCatalogue(nil).all() {
		p := m.Price
		if p.CacheRead > p.Input || p.CacheWrite < p.Input || p.CacheWrite > 1.3*p.Input {
			t.Errorf("%s: %+v", m.Name, p)
		}
		if m.Provider == "anthropic" && (!near(p.CacheRead, p.Input/10) || !near(p.CacheWrite, p.Input*1.25)) {
			t.Errorf("%s: %+v differs from Anthropic's prices", m.Name, p)
		}
		if m.Window <= 0 || m.MaxOutput <= 0 || m.MaxOutput > m.Window {
			t.Errorf("%s: window %d, output %d", m.Name, m.Window, m.MaxOutput)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestCost(t *testing.T) {
	sonnet, _ := newTestCatalogue(nil).find("anthropic/claude-sonnet-4-5")
	usage := history.Usage{Input: 10_000, Output: 2_000, CacheRead: 500_000, CacheWrite: 40_000}
	// 10,000 × 3 + 2,000 × 15 + 500,000 × 0.30 + 40,000 × 3.75, over a million
	if got := sonnet.Cost(usage); !near(got, 0.36) {
		t.Errorf("cost %v, want 0.36", got)
	}
	// 30,000 of the writes have a lifetime of one hour: 30,000 × 6 + 10,000 × 3.75 instead of 40,000 × 3.75
	if got := sonnet.cost(usage, 30_000); !near(got, 0.4275) {
		t.Errorf("cost %v, want 0.4275", got)
	}
	gpt, _ := newTestCatalogue(nil).find("openai/gpt-4o")
	// 20,000 × 2.50 + 580,000 × 1.25 + 500 × 10
	if got := gpt.Cost(history.Usage{Input: 20_000, CacheRead: 580_000, Output: 500}); !near(got, 0.78) {
		t.Errorf("cost %v, want 0.78", got)
	}
}

func TestUnknownModel(t *testing.T) {
	c := newTestCatalogue(nil)
	m, ok := c.find("local/qwen3:8b")
	want := Model{Name: "local/qwen3:8b", Provider: "local", ID: "qwen3:8b", DisplayName: "qwen3:8b", Window: 128_000, MaxOutput: 4_096, Encoding: "o200k_base"}
	if ok || m.Name != want.Name || m.Window != want.Window || m.MaxOutput != want.MaxOutput || m.Encoding != want.Encoding || m.Known || m.Vision || m.Thought != nil {
		t.Errorf("known %v: %+v", ok, m)
	}
	for _, name := range []string{"nobody/gpt-4o", "gpt-4o", "openai/", "", "/"} {
		if m, ok := c.find(name); ok || m.Name != "" {
			t.Errorf("%q: known %v: %+v", name, ok, m)
		}
	}
}

func TestConfiguredModel(t *testing.T) {
	yes, none := true, 0
	c := newTestCatalogue(map[string]ModelConfig{
		"local/qwen3":   {Window: 3_000, Vision: &yes, MinCacheTokens: &none, Encoding: "cl100k_base", Price: &Price{Input: 1}},
		"openai/gpt-4o": {Window: 64_000},
		"offline/small": {Window: 1_000},
	})
	m, ok := c.find("local/qwen3")
	if !ok || !m.Known || m.Window != 3_000 || m.MaxOutput != 3_000 || !m.Vision || m.Encoding != "cl100k_base" || m.Price.Input != 1 {
		t.Errorf("known %v: %+v", ok, m)
	}
	if m, _ := c.find("openai/gpt-4o"); m.Window != 64_000 || m.MaxOutput != 8_192 || m.Price.Input != 2.50 {
		t.Errorf("over the catalogue: %+v", m)
	}
	if m, ok := c.find("offline/small"); !ok || m.Window != 1_000 {
		t.Errorf("offline: %+v", m)
	}
}

func TestCatalogueIsFoundByNameAddressOrKind(t *testing.T) {
	c := newTestCatalogue(nil)
	for _, name := range []string{"work/claude-sonnet-4-5", "router/google/gemini-2.5-pro", "openrouter/google/gemini-2.5-pro", "anthropic/claude-opus-4-5"} {
		if m, ok := c.find(name); !ok || m.Name != name {
			t.Errorf("%s: known %v: %+v", name, ok, m)
		}
	}
	if m, _ := c.find("anthropic/claude-opus-4-5"); m.ID != "claude-opus-4-5" {
		t.Errorf("an alias is sent as %s", m.ID)
	}
	if _, ok := c.find("anthropic/claude-opus-4-"); ok {
		t.Error("half a name was found")
	}
}

func TestThoughtLevels(t *testing.T) {
	c := newTestCatalogue(nil)
	all := []ThoughtLevel{ThoughtOff, ThoughtLow, ThoughtMedium, ThoughtHigh}
	for name, want := range map[string][]ThoughtLevel{
		"anthropic/claude-sonnet-4-5": all,
		"anthropic/claude-opus-4-6":   all,
		"openai/gpt-5":                all,
		"openai/gpt-5.4-pro":          {ThoughtOff, ThoughtMedium, ThoughtHigh},
		"openai/gpt-4o":               nil,
		"local/any":                   nil,
	} {
		if m, _ := c.find(name); !slices.Equal(m.Thought, want) {
			t.Errorf("%s: %v, want %v", name, m.Thought, want)
		}
	}
}

func TestEncodingsAndMinimumPrefixes(t *testing.T) {
	for id, want := range map[string]string{
		"gpt-4o": "o200k_base", "gpt-4.1-mini": "o200k_base", "gpt-5": "o200k_base", "o3": "o200k_base", "openai/gpt-4o": "o200k_base",
		"gpt-4": "cl100k_base", "gpt-4-turbo": "cl100k_base", "openai/gpt-3.5-turbo": "cl100k_base", "claude-opus-4-5": "o200k_base",
	} {
		if got := encodingOf(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	for id, want := range map[string]int{
		"claude-opus-4-5-20251101": 4096, "claude-haiku-4-5-20251001": 4096, "claude-sonnet-4-6": 2048, "claude-3-5-haiku-20241022": 2048,
		"claude-sonnet-4-5-20250929": 1024, "claude-sonnet-4-20250514": 1024, "claude-opus-4-1-20250805": 1024, "claude-opus-4-20250514": 1024,
		"claude-something-new": 4096,
	} {
		if got := minCacheOf(id); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}

func TestModelsAreSortedAndOfConfiguredProviders(t *testing.T) {
	c := newCatalogue(map[string]ProviderConfig{"openai": {Kind: OpenAI}, "offline": {Kind: Offline}},
		map[string]ModelConfig{"openai/mine": {Window: 9}, "nobody/model": {Window: 9}})
	all := c.all()
	if !slices.IsSortedFunc(all, func(a, b Model) int { return map[bool]int{true: -1, false: 1}[a.Name < b.Name] }) {
		t.Error("not sorted")
	}
	seen := map[string]bool{}
	for _, m := range all {
		seen[m.Provider] = true
	}
	if !seen["openai"] || !seen["offline"] || len(seen) != 2 || !slices.ContainsFunc(all, func(m Model) bool { return m.Name == "openai/mine" }) {
		t.Errorf("providers %v", seen)
	}
}
