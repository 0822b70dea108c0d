package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
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

// validateReach refuses an address beyond loopback unless all that makes it safe is there. A token always is:
// the server makes one where none is set.
func (l *loader) validateReach() {
	if IsLoopback(l.Listen) {
		return
	}
	var missing []string
	if l.TLS.Cert == "" && !l.BehindProxy {
		missing = append(missing, "TLS (tls.cert and tls.key, or --tls-cert and --tls-key), or behind_proxy (--behind-proxy) where a proxy in front ends TLS")
	}
	if len(l.Workspaces.Roots) == 0 {
		missing = append(missing, "workspaces.roots (--workspaces-roots), the folders that sessions may use")
	}
	if len(missing) > 0 {
		l.wrong("listen", "%s can be reached from other machines, which also needs: %s", l.Listen, strings.Join(missing, "; and "))
	}
}

// IsLoopback reports whether an address in the form of the key listen can be reached from this machine only.
func IsLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
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
	if err := l.CheckModel(model); err != nil {
		l.wrong(dotted, "%w", err)
	}
}

// CheckModel says what is wrong with a model's name: its form, or a provider that is not configured.
func (c *Config) CheckModel(model string) error {
	if !isModel(model) {
		return errors.New(quote(model) + " is not " + modelWanted)
	}
	provider, _, _ := strings.Cut(model, "/")
	if c.Providers[provider] == nil {
		return fmt.Errorf("%s names no configured provider; there are %s", quote(model), strings.Join(sortedKeys(c.Providers), ", "))
	}
	return nil
}
