package config

import (
	"errors"
	"fmt"
	"strings"

	"strata/server/access"
)

// validate checks what no value can be checked for alone.
func (l *loader) validate() {
	l.validateTLS()
	l.validateReach()
	l.validateProviders()
	l.validateModels()
}

func (l *loader) wrong(dotted, format string, args ...any) {
	l.problems.add(l.Origin(dotted), dotted, fmt.Errorf(format, args...))
}

func (l *loader) validateTLS() {
	switch {
	case l.TLS.Cert != "" && l.TLS.Key == "":
		l.wrong("tls.cert", "tls.key is missing: a certificate needs its private key")
	case l.TLS.Key != "" && l.TLS.Cert == "":
		l.wrong("tls.key", "tls.cert is missing: a private key needs its certificate")
	}
}

// validateReach refuses an address beyond loopback unless all that makes it safe is there.
func (l *loader) validateReach() {
	opt := access.ListenOptions{Token: l.Token, TLS: l.TLS.Cert != "", BehindProxy: l.BehindProxy, Roots: l.Workspaces.Roots}
	if opt.Token.IsZero() {
		opt.Token = access.NewToken() // stands for the token file's, which the server makes where it is missing
	}
	if err := access.CheckListen(l.Listen, opt); err != nil {
		l.wrong("listen", "%w", err)
	}
}

func (l *loader) validateProviders() {
	for _, name := range sortedKeys(l.Providers) {
		p, dotted := l.Providers[name], "providers."+name
		switch {
		case p.Kind == "":
			l.wrong(dotted, "kind is missing; it is one of offline, anthropic, openai")
		case p.Kind == "offline" && p.BaseURL != "":
			l.wrong(dotted+".base_url", "an offline provider has no address")
		case p.Kind == "offline" && p.APIKeyEnv != "":
			l.wrong(dotted+".api_key_env", "an offline provider has no key")
		case p.Kind != "offline" && p.DeltaGap != 0:
			l.wrong(dotted+".delta_gap", "only an offline provider can be slowed down")
		}
	}
}

func (l *loader) validateModels() {
	l.validateModel("model", l.Model)
	l.validateModel("detection_model", l.DetectionModel)
	l.validateModel("summary_model", l.SummaryModel)
	for _, name := range sortedKeys(l.Models) {
		dotted, m := "models."+name, l.Models[name]
		l.validateModel(dotted, name)
		if m.Window != nil && m.MaxOutput != nil && *m.MaxOutput >= *m.Window {
			l.wrong(dotted+".max_output", "%d leaves no room in a window of %d tokens", *m.MaxOutput, *m.Window)
		}
	}
}

func (l *loader) validateModel(dotted, model string) {
	if model == "" {
		return
	}
	if err := l.checkModel(model); err != nil {
		l.wrong(dotted, "%w", err)
	}
}

// checkModel says what is wrong with a model's name: its form, or a provider that is not configured.
func (c *Config) checkModel(model string) error {
	if !isModel(model) {
		return errors.New(quote(model) + " is not " + modelWanted)
	}
	provider, _, _ := strings.Cut(model, "/")
	if c.Providers[provider] == nil {
		return fmt.Errorf("%s names no configured provider; there are %s", quote(model), strings.Join(sortedKeys(c.Providers), ", "))
	}
	return nil
}
