package connect

import (
	"encoding/json"
	"errors"
	"fmt"

	"strata/internal/apikey"
	"strata/llm"
)

// Call calls a method of a server and decodes its result into result, which may be nil.
type Call func(method string, params, result any) error

// Handed is what OfferKeys handed over.
type Handed struct {
	Variables   []string        // environment variables whose keys the server now uses
	KeyEnv      []string        // all environment variables from which the server takes keys
	AuthMethods json.RawMessage // those of initialize, for the providers that still lack a key; nil if nothing was handed over
}

// OfferKeys hands the keys in this process's environment to a server that lacks them: a server has the environment of
// the terminal or editor that started it. The server keeps them in memory. The error contains no key; with an error,
// other keys can have been handed over.
func OfferKeys(call Call, getenv func(string) string) (Handed, error) {
	var list struct {
		Providers []struct {
			Name   string        `json:"name"`
			KeyEnv string        `json:"keyEnv"`
			Key    llm.KeySource `json:"key"`
		} `json:"providers"`
	}
	if err := call("_strata/providers/list", struct{}{}, &list); err != nil {
		return Handed{}, err
	}
	keys, variables := make(map[string]string), make(map[string]string)
	var handed Handed
	var unusable error
	for _, p := range list.Providers {
		handed.KeyEnv = append(handed.KeyEnv, p.KeyEnv)
		if p.KeyEnv == "" || p.Key != llm.KeyMissing && p.Key != llm.KeyOffered {
			continue
		}
		key := getenv(p.KeyEnv)
		if key == "" {
			continue
		}
		if err := apikey.Check(key); err != nil {
			unusable = errors.Join(unusable, fmt.Errorf("%s: %w", p.KeyEnv, err))
			continue
		}
		keys[p.Name], variables[p.Name] = key, p.KeyEnv
	}
	if len(keys) == 0 {
		return handed, unusable
	}
	var offered struct {
		Used        []string        `json:"used"`
		AuthMethods json.RawMessage `json:"authMethods"`
	}
	if err := call("_strata/providers/offer_keys", map[string]any{"keys": keys}, &offered); err != nil {
		return handed, err
	}
	handed.AuthMethods = offered.AuthMethods
	for _, provider := range offered.Used {
		handed.Variables = append(handed.Variables, variables[provider])
	}
	return handed, unusable
}
