package main

import (
	"context"
	"strings"

	"strata/llm"
)

// checkProviders asks the providers that can be asked. Only what the chosen model needs can fail.
func (d *doctor) checkProviders(ctx context.Context) {
	client, err := llm.New(llm.Options{Providers: providers(d.config), Models: models(d.config), Getenv: d.getenv})
	if err != nil {
		d.fail("providers", "%v", err)
		return
	}
	defer client.Close()
	missing := d.missingKeys(ctx)
	chosen, _, _ := strings.Cut(d.config.Model, "/")
	for _, p := range client.Providers() {
		d.checkProvider(ctx, client, p, p.Name == chosen)
		if p.Key == llm.KeyEnv && missing[p.Name] {
			d.warn("provider", "%s: %s is set here, and was not where the running server was started: end process %d, and the next server has it", p.Name, p.KeyEnv, d.running.PID)
		}
	}
	if _, known := client.Model(d.config.Model); !known {
		d.warn("model", "nothing is known of %s: give its window and prices under models, or check its name", d.config.Model)
		return
	}
	d.ok("model", "%s", d.config.Model)
}

// missingKeys gives the providers for which the running server has no key. It sees the variables of the terminal, or
// the editor, that it was started from, and no others.
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
		d.fail("server", "process %d runs and cannot be asked: %v", d.running.PID, err)
		return nil
	}
	missing := make(map[string]bool)
	for _, p := range list.Providers {
		missing[p.Name] = p.Key == llm.KeyMissing
	}
	return missing
}

// callServer calls one method of the running server.
func (d *doctor) callServer(ctx context.Context, method string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	stream, err := dialServer(ctx, d.running)
	if err != nil {
		return err
	}
	client, err := initialized(ctx, stream, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Call(ctx, method, struct{}{}, result)
}

func (d *doctor) checkProvider(ctx context.Context, client *llm.Client, p llm.ProviderStatus, chosen bool) {
	complain := d.warn
	if chosen {
		complain = d.fail
	}
	if p.Key == llm.KeyMissing {
		if !chosen {
			complain = d.ok // nobody needs it
		}
		complain("provider", "%s has no key: set %s to use it", p.Name, p.KeyEnv)
		return
	}
	if err := client.Check(ctx, p.Name); err != nil {
		complain("provider", "%v", err) // which names the provider
		return
	}
	d.ok("provider", "%s can be used", p.Name)
}
