package connect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/internal/environment"
)

const methodOfferEnvironment = "_strata/environment/offer"

// OfferEnvironment hands this process's environment to a server, for the programs that run on behalf of the connection, if
// the server takes one. Strata's own variables, those with API keys, and those that are not UTF-8 text are not handed over.
// agent is the result of initialize, keys are the variables from which the server takes keys. The error contains no value.
func OfferEnvironment(call Call, p *cli.Process, agent json.RawMessage, keys []string) error {
	if p.Environ == nil || !Serves(agent, methodOfferEnvironment) {
		return nil
	}
	env := offered(p.Environ(), append(ownKeys(p), keys...))
	if err := environment.Check(env); err != nil {
		return fmt.Errorf("not handed over: %w", err)
	}
	params, err := json.Marshal(map[string]any{"env": env})
	if err != nil {
		return err
	}
	if limit := FrameLimit(agent); int64(len(params)) > limit-maxEnvelope {
		return fmt.Errorf("not handed over: %d bytes is too large for the server's limit of %d bytes per message", len(params), limit)
	}
	return call(methodOfferEnvironment, json.RawMessage(params), nil)
}

// maxEnvelope is the maximum size of a message without its parameters, in bytes.
const maxEnvelope = 256

// offered returns the variables that a server gets.
func offered(environ, hidden []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case !environment.IsName(name) || !utf8.ValidString(variable): // Windows has hidden variables such as =C:
		case strings.HasPrefix(strings.ToUpper(name), "STRATA_"):
		case slices.ContainsFunc(hidden, func(h string) bool { return strings.EqualFold(h, name) }): // Windows has no case in names
		default:
			env[name] = value
		}
	}
	return env
}

// ownKeys returns the variables from which the configuration of this process takes keys: a running server can have
// another one.
func ownKeys(p *cli.Process) []string {
	c, err := p.Load(nil)
	if err != nil {
		c = config.Default()
	}
	return c.KeyVariables()
}
