package serve

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/cmd/strata/internal/config"
	"strata/llm"
)

func TestUnsetPrices(t *testing.T) {
	one, two, three := 1.0, 2.0, 3.0
	if got := price(config.Price{}); got != nil {
		t.Errorf("got %+v without settings", got)
	}
	if got, want := *price(config.Price{Input: &two, Output: &three}), (llm.Price{Input: 2, Output: 3, CacheRead: 2, CacheWrite: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := *price(config.Price{Input: &two, CacheRead: &one}), (llm.Price{Input: 2, CacheRead: 1, CacheWrite: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSettingsReachPackageLLM(t *testing.T) {
	file := filepath.Join(t.TempDir(), "strata.yaml")
	err := os.WriteFile(file, []byte(`
providers:
  local: {kind: openai, base_url: "http://127.0.0.1:1/v1", headers: {X-Team: blue}, retry_statuses: [503], max_request_bytes: 1000, max_image_bytes: 100}
models:
  local/m: {output_name: max_tokens, temperature: false, stream_options: true, tools: false, reasoning_effort: true, thinking_back: always, user_after_tool: false}
timeouts: {first_byte: 1m, between_bytes: 2m}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		return map[string]string{"HOME": filepath.Dir(file), "APPDATA": filepath.Dir(file), "LOCALAPPDATA": filepath.Dir(file)}[name]
	}
	c, err := config.Load(config.Sources{File: file, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	got, want := Client(c, nil, nil), llm.Options{FirstByte: time.Minute, BetweenBytes: 2 * time.Minute,
		Providers: map[string]llm.ProviderConfig{
			"offline":   {Kind: llm.Offline, Headers: map[string]string{}, RetryStatuses: llm.DefaultRetryStatuses},
			"anthropic": {Kind: llm.Anthropic, APIKeyEnv: "ANTHROPIC_API_KEY", Headers: map[string]string{}, RetryStatuses: llm.DefaultRetryStatuses},
			"openai":    {Kind: llm.OpenAI, APIKeyEnv: "OPENAI_API_KEY", Headers: map[string]string{}, RetryStatuses: llm.DefaultRetryStatuses},
			"local": {Kind: llm.OpenAI, BaseURL: "http://127.0.0.1:1/v1", Headers: map[string]string{"X-Team": "blue"},
				RetryStatuses: []int{503}, MaxRequestBytes: 1000, MaxImageBytes: 100},
		},
		Models: map[string]llm.ModelConfig{"local/m": {OutputName: "max_tokens", Temperature: &no, StreamOptions: &yes, Tools: &no,
			Effort: &yes, ThinkingBack: llm.ThinkingAlways, UserAfterTool: &no}},
	}
	if got.StoredKey == nil {
		t.Error("stored keys are not used")
	}
	got.StoredKey = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestModelsWithoutAKeyAreNotOffered(t *testing.T) {
	keys := map[string]string{}
	client, err := llm.New(llm.Options{
		Providers: map[string]llm.ProviderConfig{"openai": {Kind: llm.OpenAI, APIKeyEnv: "KEY"}, "offline": {Kind: llm.Offline}},
		Models:    map[string]llm.ModelConfig{"openai/mine": {Window: 5000}},
		Getenv:    func(name string) string { return keys[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	offered := func(name string) bool {
		for _, m := range (catalogue{client}).Catalogue() {
			if m.Name == name {
				return true
			}
		}
		return false
	}
	if offered("openai/mine") || !offered(config.OfflineModel) {
		t.Errorf("without a key %+v are offered", catalogue{client}.Catalogue())
	}
	keys["KEY"] = "secret"
	if !offered("openai/mine") {
		t.Error("with a key it is not offered")
	}
	if m, ok := (catalogue{client}).Model("openai/unheard-of"); !ok || m.Window != llm.DefaultWindow {
		t.Errorf("got %+v, %v for an unlisted model", m, ok)
	}
	if _, ok := (catalogue{client}).Model("nowhere/gpt"); ok {
		t.Error("a model without a provider is accepted")
	}
}

func TestAServerForClientsUsesAFreePort(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	c := config.Default()
	c.Folders.State = t.TempDir()
	c.Listen = busy.Addr().String() // as a default
	adjustForClients(c)
	if c.Listen != "127.0.0.1:0" || c.Log.File != filepath.Join(c.Folders.State, "strata.log") {
		t.Errorf("listens on %s, logs to %s", c.Listen, c.Log.File)
	}
}
