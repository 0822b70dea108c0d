package llm

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Kind is the wire format of a provider.
type Kind string

// The kinds of providers.
const (
	Anthropic Kind = "anthropic" // Messages
	OpenAI    Kind = "openai"    // chat completions, and everything that speaks them
	Offline   Kind = "offline"   // no model at all
)

// ProviderConfig is one provider of the configuration.
type ProviderConfig struct {
	Kind      Kind
	BaseURL   string            // empty: the usual one of the kind
	APIKeyEnv string            // name of the variable that holds the key; empty: no key is needed
	Headers   map[string]string // sent with each request
	DeltaGap  time.Duration     // Offline: the pause before each delta

	RetryStatuses   []int // HTTP statuses that are tried again; nil: DefaultRetryStatuses
	MaxRequestBytes int   // of a request's body; 0: what the provider is known to take
	MaxImageBytes   int   // of a picture; 0: what the provider is known to take
}

func (p ProviderConfig) check() error {
	switch p.Kind {
	case Anthropic, OpenAI, Offline:
	default:
		return fmt.Errorf("kind %q is none of anthropic, openai, offline", p.Kind)
	}
	if p.BaseURL != "" && !strings.HasPrefix(p.BaseURL, "http://") && !strings.HasPrefix(p.BaseURL, "https://") {
		return errors.New("base_url must begin with http:// or https://")
	}
	return nil
}

// openAIHost is the host of OpenAI itself.
const openAIHost = "api.openai.com"

// official reports whether the provider is OpenAI itself.
func (p ProviderConfig) official() bool {
	address, err := url.Parse(p.BaseURL)
	return p.Kind == OpenAI && (p.BaseURL == "" || err == nil && address.Hostname() == openAIHost)
}

// DefaultRetryStatuses are the HTTP statuses that are tried again: the provider, or a proxy in front of it, has
// trouble that may pass. 520 to 524 and 530 are Cloudflare's, 529 is Anthropic's.
var DefaultRetryStatuses = []int{408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530}

func (p ProviderConfig) retryStatuses() []int {
	if p.RetryStatuses != nil {
		return p.RetryStatuses
	}
	return DefaultRetryStatuses
}
