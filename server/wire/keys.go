package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"strata/internal/apikey"
	"strata/internal/clip"
	"strata/rpc"
)

// keyMissing is the source of a provider's key if there is none.
const keyMissing = "missing"

// SetKeyParams are the parameters of _strata/providers/set_key. An empty key removes the key.
type SetKeyParams struct {
	Provider string `json:"provider" need:"content"`
	Key      string `json:"key" need:"value"`
}

func (p *SetKeyParams) validate() error {
	if p.Key == "" {
		return nil
	}
	return checkKey("params.key", p.Key)
}

// OfferKeysParams are the parameters of _strata/providers/offer_keys. Unknown providers are ignored.
type OfferKeysParams struct {
	Keys map[string]string `json:"keys" need:"value"` // by provider
}

// maxOffered is the maximum number of keys in one offer.
const maxOffered = 100

func (p *OfferKeysParams) validate() error {
	if len(p.Keys) > maxOffered {
		return InvalidParams("params.keys: %d exceeds the limit of %d", len(p.Keys), maxOffered)
	}
	for _, provider := range slices.Sorted(maps.Keys(p.Keys)) {
		if err := checkKey("params.keys."+clip.Name(provider), p.Keys[provider]); err != nil {
			return err
		}
	}
	return nil
}

// checkKey returns an error, without the key, for a text that is no API key.
func checkKey(field, key string) error {
	if err := apikey.Check(key); err != nil {
		return InvalidParams("%s: %v", field, err)
	}
	return nil
}

// KeysOffered is the result of _strata/providers/offer_keys.
type KeysOffered struct {
	Used        []string     `json:"used"`        // names of the providers that use the offered key from now on
	AuthMethods []AuthMethod `json:"authMethods"` // the remaining ones, as initialize would return them now
}

// NewKeysOffered returns the result of _strata/providers/offer_keys.
func NewKeysOffered(used []Provider, remaining []AuthMethod) KeysOffered {
	result := KeysOffered{Used: []string{}, AuthMethods: remaining}
	for _, p := range used {
		result.Used = append(result.Used, p.Name)
	}
	return result
}

// KeysNotice returns the notice that the server uses keys from a client's environment.
func KeysNotice(used []Provider) string {
	var names, logins []string
	for _, p := range used {
		names, logins = append(names, p.KeyEnv), append(logins, "`strata login "+p.Name+"`")
	}
	return fmt.Sprintf("The server has %s from your editor's environment, in memory until it stops. To store a key, run %s.",
		strings.Join(names, " and "), strings.Join(logins, " or "))
}

// AuthMethod is a way to give a provider its API key. A method without a type is one that authenticate checks; one of
// type terminal runs the agent's command, with more arguments, in a terminal.
type AuthMethod struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Type        string   `json:"type,omitempty"`
	Args        []string `json:"args,omitempty"`
}

// authPrefix is the part before the provider's name in the id of an authentication method.
const authPrefix = "login-"

// AuthMethods returns the authentication methods: one for each provider that lacks its key.
func AuthMethods(providers []Provider, can Capabilities) []AuthMethod {
	methods := []AuthMethod{}
	for _, p := range providers {
		if p.KeySource != keyMissing {
			continue
		}
		m := AuthMethod{
			ID: authPrefix + p.Name, Name: "API key of " + p.Name,
			Description: fmt.Sprintf("Run `strata login %s` in a terminal, or set %s for the editor or the server.", p.Name, p.KeyEnv),
		}
		if can.TerminalAuth {
			m.Type, m.Args = "terminal", []string{"--login", p.Name}
		}
		methods = append(methods, m)
	}
	return methods
}

// AuthenticateParams are the parameters of authenticate.
type AuthenticateParams struct {
	MethodID string `json:"methodId"`
}

// Unauthenticated returns an error if an authentication method is that of a provider without a key. Other methods need
// nothing: the transport has authenticated the client.
func Unauthenticated(providers []Provider, methodID string) error {
	name, isLogin := strings.CutPrefix(methodID, authPrefix)
	for _, p := range providers {
		if isLogin && p.Name == name && p.KeySource == keyMissing {
			return &rpc.Error{Code: CodeAuth, Message: fmt.Sprintf("provider %s has no key: run `strata login %s`, or set %s for the editor or the server",
				p.Name, p.Name, p.KeyEnv)}
		}
	}
	return nil
}
