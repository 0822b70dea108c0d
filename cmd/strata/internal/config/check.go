package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"strata/server/access"
	"strata/server/budgets"
	"strata/session/approval"
)

// check checks what depends on more than one value.
func (l *loader) check() {
	switch {
	case l.TLS.Cert != "" && l.TLS.Key == "":
		l.wrong("tls.cert", "tls.key is missing: a certificate needs its private key")
	case l.TLS.Key != "" && l.TLS.Cert == "":
		l.wrong("tls.key", "tls.cert is missing: a private key needs its certificate")
	}
	l.checkListen()
	l.checkRules("tools.allow", l.Tools.Allow)
	l.checkRules("tools.deny", l.Tools.Deny)
	for _, name := range slices.Sorted(maps.Keys(l.Providers)) {
		l.checkProvider("providers."+name, l.Providers[name])
	}
	l.checkMCPServers()
	l.checkBudgets()
	l.checkModel("model", l.Model)
	l.checkModel("detection_model", l.DetectionModel)
	l.checkModel("summary_model", l.SummaryModel)
	for _, name := range slices.Sorted(maps.Keys(l.Models)) {
		dotted, m := "models."+name, l.Models[name]
		l.checkModel(dotted, name)
		if m.Window != nil && m.MaxOutput != nil && *m.MaxOutput >= *m.Window {
			l.wrong(dotted+".max_output", "%d leaves no room in a window of %d tokens", *m.MaxOutput, *m.Window)
		}
	}
}

func (l *loader) checkBudgets() {
	if n := len(l.Budgets); n > budgets.Max {
		l.wrong("budgets", "%d budgets exceeds the limit of %d", n, budgets.Max)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Budgets)) {
		if key, fault := l.Budgets[name].fault(); fault != "" {
			l.wrong("budgets."+name+key, "%s", fault)
		}
	}
}

func (l *loader) wrong(dotted, format string, args ...any) {
	l.problems.add(l.Origin(dotted), dotted, fmt.Errorf(format, args...))
}

func (l *loader) checkListen() {
	if err := l.CheckListen(l.Listen); err != nil {
		l.wrong("listen", "%w", err)
	}
}

// CheckListen refuses an address beyond loopback unless all that makes it safe is configured.
func (c *Config) CheckListen(address string) error {
	opt := access.ListenOptions{Token: c.Token, TLS: c.TLS.Cert != "", BehindProxy: c.BehindProxy, Roots: c.Workspaces.Roots}
	if opt.Token.IsZero() {
		opt.Token = access.NewToken() // stands for the token file's, which the server creates if it is missing
	}
	return access.CheckListen(address, opt)
}

// checkRules checks the number of rules: each was read by itself.
func (l *loader) checkRules(dotted string, texts []string) {
	if _, err := approval.ParseRules(texts, approval.ParseDeny); err != nil {
		l.wrong(dotted, "%w", err)
	}
}

func (l *loader) checkProvider(dotted string, p *Provider) {
	switch {
	case p.Kind == "":
		l.wrong(dotted, "kind is missing: set one of offline, anthropic, openai")
	case p.Kind == "offline" && p.BaseURL != "":
		l.wrong(dotted+".base_url", "an offline provider has no address")
	case p.Kind == "offline" && p.APIKeyEnv != "":
		l.wrong(dotted+".api_key_env", "an offline provider has no key")
	case p.Kind != "offline" && p.DeltaGap != 0:
		l.wrong(dotted+".delta_gap", "only an offline provider has a gap between deltas")
	}
}

// checkModel checks that the provider of a model is configured. An empty model needs none.
func (l *loader) checkModel(dotted, model string) {
	provider, _, _ := strings.Cut(model, "/")
	if model != "" && l.Providers[provider] == nil {
		l.wrong(dotted, "%s: provider not configured; configured: %s", quote(model), strings.Join(slices.Sorted(maps.Keys(l.Providers)), ", "))
	}
}
