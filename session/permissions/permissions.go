// Package permissions holds the approval rules that apply to a session: its own, which the user's answers have added and which
// are stored with the session, and those of the user's configuration.
//
// It must never decide on a call itself: package approval decides.
package permissions

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"strata/history"
	"strata/internal/clip"
	"strata/session/approval"
	"strata/session/choices"
	"strata/session/events"
	"strata/session/mailbox"
)

// Rule is a rule of a session or of the configuration.
type Rule = approval.Rule

// Services is what permissions need of the session and the server. The functions are called on the mailbox.
type Services struct {
	Session    string // its id
	Configured *Configured
	Choices    func() *choices.Choices
	Store      func(what string, change history.Change, then func()) mailbox.Work // stores a change; then runs on the mailbox
	Emit       func(events.Event) uint64
	Reconsider func() // decides anew on the call that waits for the user, if there is one
	Now        func() time.Time
	Log        *slog.Logger
}

// Permissions are the rules of a session. They belong to the session's mailbox, except for Grant.
type Permissions struct {
	mailbox  *mailbox.Mailbox
	services Services
	rules    approval.Rules // of the session, as its record has them
	newest   decided
}

// decided is the newest decision, and the call that it is on.
type decided struct {
	call     *approval.Call // nil for none
	decision approval.Decision
}

// New returns the permissions of a session that has no rules of its own; Restore loads them.
func New(m *mailbox.Mailbox, services Services) *Permissions {
	return &Permissions{mailbox: m, services: services}
}

// Restore loads the rules of the session's record. An invalid rule is ignored and logged; the next change of the rules removes
// the rule from the record.
func (p *Permissions) Restore() {
	rules, dropped := approval.RestoreRules(p.services.Choices().Record.Config.Rules)
	p.rules = rules
	if len(dropped) > 0 {
		p.services.Log.Error("rules of the session dropped", slog.String("session", p.services.Session), slog.Int("count", len(dropped)))
	}
}

// Decide decides on a call.
func (p *Permissions) Decide(c *approval.Call) approval.Decision {
	p.newest = decided{c, p.decide(c)}
	return p.newest.decision
}

func (p *Permissions) decide(c *approval.Call) approval.Decision {
	policy := approval.Policy{Mode: p.services.Choices().Approval, Session: p.rules}
	policy.Allow, policy.Deny = p.services.Configured.Rules()
	return policy.Decide(c)
}

// Grant adds a rule from an answer of the user to the session; it ignores the zero Rule. It returns when the rule is stored or
// ctx has ended. If the rule cannot be stored, it is not added, and subscribers receive a notice: the answer then applies to
// its call only. The goroutine of the turn calls Grant.
func (p *Permissions) Grant(ctx context.Context, rule approval.Rule) {
	if rule == (approval.Rule{}) {
		return
	}
	stored := make(chan struct{})
	p.change(func(_ struct{}, err error) {
		defer close(stored)
		if err != nil {
			p.notGranted(rule, err)
		}
	}, func() (approval.Rules, error) { return p.rules.With(rule), nil })
	select {
	case <-stored:
	case <-ctx.Done():
	}
}

// notGranted logs that a rule was not added, without its command line, and notifies subscribers. It may run outside the mailbox.
func (p *Permissions) notGranted(rule approval.Rule, err error) {
	p.services.Log.Error("rule of the session not stored", slog.String("session", p.services.Session), slog.String("tool", rule.Tool()), slog.Any("error", err))
	text := fmt.Sprintf("The rule %s was not stored. The answer applies to this call only.", clip.Name(rule.String()))
	p.mailbox.Tell(func() { p.services.Emit(events.Event{Kind: events.Notice, Text: text}) }, nil)
}

// Revoke removes the rule with the given text from the session, also for the call that waits for the user. If the session does
// not have the rule, the error wraps mailbox.ErrInvalid.
func (p *Permissions) Revoke(text string, reply func(struct{}, error)) {
	p.change(reply, func() (approval.Rules, error) {
		rule, err := p.find(text)
		return p.rules.Without(rule), err
	})
}

// Find returns the rule of the session with the given text. If there is none, the error wraps mailbox.ErrInvalid.
func (p *Permissions) Find(text string, reply func(approval.Rule, error)) {
	mailbox.Ask(p.mailbox, reply, func() { reply(p.find(text)) })
}

func (p *Permissions) find(text string) (approval.Rule, error) {
	named := func(rule approval.Rule) bool { return rule.String() == text }
	if at := slices.IndexFunc(p.rules, named); at >= 0 {
		return p.rules[at], nil
	}
	allow, deny := p.services.Configured.Rules()
	if slices.ContainsFunc(allow, named) || slices.ContainsFunc(deny, named) {
		return approval.Rule{}, fmt.Errorf("%w: rule %q belongs to the configuration, not to the session; edit the configuration file and restart the server", mailbox.ErrInvalid, clip.Name(text))
	}
	return approval.Rule{}, fmt.Errorf("%w: rule %q: the session has no such rule", mailbox.ErrInvalid, clip.Name(text))
}

// change stores the rules that next returns, and then applies them.
func (p *Permissions) change(reply func(struct{}, error), next func() (approval.Rules, error)) {
	mailbox.Change(p.mailbox, reply, func() (mailbox.Work, error) {
		rules, err := next()
		if err != nil {
			return nil, err
		}
		record := p.services.Choices().Record
		record.Config.Rules, record.UpdatedAt = rules.Texts(), p.services.Now()
		return p.services.Store("store the rules of session "+p.services.Session, history.Change{Update: &record}, func() {
			p.services.Choices().Record, p.rules = record, rules
			p.Changed()
			reply(struct{}{}, nil)
		}), nil
	})
}

// Changed notifies subscribers that rules have changed, and reconsiders the call that waits for the user if its decision
// changes.
func (p *Permissions) Changed() {
	p.services.Emit(events.Event{Kind: events.PermissionsChanged})
	if call := p.newest.call; call != nil && !p.newest.decision.Equal(p.decide(call)) {
		p.services.Reconsider()
	}
}

// ConfigurationChanged is Changed for a change of the configuration's rules. It may be called from any goroutine.
func (p *Permissions) ConfigurationChanged() {
	p.mailbox.Post(p.Changed, func(error) {}) // a session that is closing needs no rules
}
