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
	chosen, _, _ := strings.Cut(d.config.Model, "/")
	for _, p := range client.Providers() {
		d.checkProvider(ctx, client, p, p.Name == chosen)
	}
	if _, known := client.Model(d.config.Model); !known {
		d.warn("model", "nothing is known of %s: give its window and prices under models, or check its name", d.config.Model)
		return
	}
	d.ok("model", "%s", d.config.Model)
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
		complain("provider", "%s: %v", p.Name, err)
		return
	}
	d.ok("provider", "%s can be used", p.Name)
}
