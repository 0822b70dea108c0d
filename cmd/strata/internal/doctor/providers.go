package doctor

import (
	"context"
	"strings"
	"time"

	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/serve"
	"strata/llm"
)

const callTimeout = 5 * time.Second

// checkProviders calls the providers that have their keys. Only the provider of the configured model can fail.
func (d *doctor) checkProviders(ctx context.Context) {
	opt, unread := serve.Client(d.config, d.Getenv, nil), make(map[string]error)
	load := opt.StoredKey
	opt.StoredKey = func(provider string) (string, error) {
		key, err := load(provider)
		unread[provider] = err
		return key, err
	}
	client, err := llm.New(opt)
	if err != nil {
		d.fail("providers", "%v", err)
		return
	}
	defer client.Close()
	missing := d.missingKeys(ctx)
	chosen, _, _ := strings.Cut(d.config.Model, "/")
	for _, p := range client.Providers() {
		d.checkProvider(ctx, client, p, p.Name == chosen, unread[p.Name])
		if p.Key == llm.KeyEnv && missing[p.Name] {
			d.warn("provider", "%s: %s is set here, but not in the running server (process %d): `strata stdio` and `strata ask` hand it over, and `strata login %s` stores it",
				p.Name, p.KeyEnv, d.running.PID, p.Name)
		}
	}
	if _, known := client.Model(d.config.Model); !known {
		d.warn("model", "%s is unknown: set its window and prices under models, or check its name", d.config.Model)
		return
	}
	d.ok("model", "%s", d.config.Model)
}

// missingKeys returns the providers without a key in the running server, which has the environment variables of the
// terminal or editor that started it.
func (d *doctor) missingKeys(ctx context.Context) map[string]bool {
	if d.running.PID == 0 {
		return nil
	}
	var list struct {
		Providers []struct {
			Name string        `json:"name"`
			Key  llm.KeySource `json:"key"`
		} `json:"providers"`
	}
	if err := d.callServer(ctx, "_strata/providers/list", &list); err != nil {
		d.fail("server", "process %d does not respond: %v", d.running.PID, err)
		return nil
	}
	missing := make(map[string]bool)
	for _, p := range list.Providers {
		missing[p.Name] = p.Key == llm.KeyMissing
	}
	return missing
}

// callServer calls a method of the running server.
func (d *doctor) callServer(ctx context.Context, method string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	client, err := connect.OpenServer(ctx, d.Process, d.running)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Call(ctx, method, struct{}{}, result)
}

// checkProvider checks one provider; unread is the error of reading its stored key.
func (d *doctor) checkProvider(ctx context.Context, client *llm.Client, p llm.ProviderStatus, chosen bool, unread error) {
	complain := d.warn
	if chosen {
		complain = d.fail
	}
	if p.Key == llm.KeyMissing && unread != nil {
		complain("provider", "%v", unread) // which names the provider
		return
	}
	if p.Key == llm.KeyMissing {
		if !chosen {
			complain = d.ok // the configured model does not need it
		}
		complain("provider", "%s has no key: run `strata login %s` or set %s to use it", p.Name, p.Name, p.KeyEnv)
		return
	}
	if err := client.Check(ctx, p.Name); err != nil {
		complain("provider", "%v", err) // which names the provider
		return
	}
	d.ok("provider", "%s is available", p.Name)
}
