package permissions

import (
	"strata/session/approval"
	"strata/session/mailbox"
)

// The effects and scopes of rules.
const (
	EffectAllow = "allow"
	EffectDeny  = "deny"

	ScopeSession = "session" // stored with the session
	ScopeConfig  = "config"  // of the user's configuration
)

// Listed is a rule of a list.
type Listed struct {
	Rule    string `json:"rule"`   // its text, which identifies the rule
	Effect  string `json:"effect"` // allow, deny
	Scope   string `json:"scope"`  // session, config
	Tool    string `json:"tool"`
	Command string `json:"command,omitempty"` // a line, or words and " *" for lines that begin with them
}

// List replies with the rules of the session, then with the allow and the deny rules of the configuration.
func (p *Permissions) List(reply func([]Listed, error)) {
	mailbox.Ask(p.mailbox, reply, func() {
		allow, deny := p.services.Configured.Rules()
		all := listed([]Listed{}, p.rules, EffectAllow, ScopeSession)
		all = listed(all, allow, EffectAllow, ScopeConfig)
		reply(listed(all, deny, EffectDeny, ScopeConfig), nil)
	})
}

// listed adds rules to a list.
func listed(all []Listed, rules approval.Rules, effect, scope string) []Listed {
	for _, rule := range rules {
		all = append(all, Listed{Rule: rule.String(), Effect: effect, Scope: scope, Tool: rule.Tool(), Command: rule.Command()})
	}
	return all
}
