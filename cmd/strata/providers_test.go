package main

import (
	"net"
	"path/filepath"
	"testing"

	"strata/cmd/strata/internal/config"
	"strata/llm"
)

func TestPricesThatAreNotSet(t *testing.T) {
	one, two, three := 1.0, 2.0, 3.0
	if got := price(config.Price{}); got != nil {
		t.Errorf("got %+v where nothing is set", got)
	}
	if got, want := *price(config.Price{Input: &two, Output: &three}), (llm.Price{Input: 2, Output: 3, CacheRead: 2, CacheWrite: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := *price(config.Price{Input: &two, CacheRead: &one}), (llm.Price{Input: 2, CacheRead: 1, CacheWrite: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestModelsThatCannotBeCalledAreNotOffered(t *testing.T) {
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
		for _, m := range (catalogue{client}).Models() {
			if m.Name == name {
				return true
			}
		}
		return false
	}
	if offered("openai/mine") || !offered(config.OfflineModel) {
		t.Errorf("without a key %+v are offered", catalogue{client}.Models())
	}
	keys["KEY"] = "secret"
	if !offered("openai/mine") {
		t.Error("with a key it is not offered")
	}
	if m, ok := (catalogue{client}).configured("openai/unheard-of"); !ok || m.Window != llm.DefaultWindow {
		t.Errorf("got %+v, %v for a model that nobody described", m, ok)
	}
	if _, ok := (catalogue{client}).configured("nowhere/gpt"); ok {
		t.Error("a model of no provider is taken")
	}
}

func TestAServerForClientsMakesWay(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	c := config.Default()
	c.Folders.State = t.TempDir()
	c.Listen = busy.Addr().String() // as a default: nobody asked for it
	settleForClients(c)
	if c.Listen != "127.0.0.1:0" || c.Log.File != filepath.Join(c.Folders.State, "strata.log") {
		t.Errorf("listens on %s, logs to %s", c.Listen, c.Log.File)
	}
}
