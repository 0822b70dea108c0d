// Package accounts tells what the next request of a session would contain, and how full the model's window is.
//
// It must never send a request or change the session: it builds requests and drops them.
package accounts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/history"
	"strata/session/assembly"
	"strata/session/cachetime"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/mailbox"
)

// Host is a session as its accounts see it. Its methods belong to the mailbox.
type Host interface {
	// Next returns what the next request is made of now, with the user's present choices.
	Next() (assembly.State, compacting.Rules)
	// Spent returns the sums over the session's calls of the model, and the newest one.
	Spent() (history.Totals, history.Call)
	// Edits returns the edits of the view, oldest first.
	Edits() []history.Edit
	// Title returns the session's title.
	Title() string
}

// Accounts tell what the next request would contain, without sending it. They belong to the session's mailbox; the methods
// with a reply can be called from any goroutine.
type Accounts struct {
	host    Host
	mailbox *mailbox.Mailbox
	events  *events.Stream

	told    uint64                // how often the usage was told
	telling bool                  // a request is being built to tell the usage
	again   bool                  // and what it is built of has changed since
	moves   []assembly.TierChange // between tiers, told since the last reply
	plans   int                   // number of plans made to tell the moves with a reply
	awaited int                   // the one that is under way; 0 for none
}

// New returns the accounts of a session.
func New(host Host, box *mailbox.Mailbox, stream *events.Stream) *Accounts {
	return &Accounts{host: host, mailbox: box, events: stream}
}

// next is the next request as it was built, with what it was built of.
type next struct {
	assembly.State
	built assembly.Built
	rules compacting.Rules
}

// budget returns how the request uses the window, and whether a compaction is due.
func (n *next) budget() assembly.Budget {
	budget, need := n.State.Budget(&n.built), compacting.NeedOf(&n.State, &n.rules)
	budget.NeedsCompaction = need.Due
	return budget
}

// build builds the next request and calls use with it in a goroutine of the session. Nothing of the session changes.
func (a *Accounts) build(use func(*next), fail func(error)) {
	a.mailbox.Post(func() {
		var n next
		n.State, n.rules = a.host.Next()
		a.mailbox.Spawn(func() {
			var err error
			if n.built, err = n.Build(a.mailbox.Context()); err != nil {
				fail(err)
				return
			}
			use(&n)
		})
	}, fail)
}

// Budget tells how the next request would use the model's window.
func (a *Accounts) Budget(reply func(assembly.Budget, error)) {
	a.build(func(n *next) { reply(n.budget(), nil) }, func(err error) { reply(assembly.Budget{}, err) })
}

// Breakdown tells what the next request would contain.
func (a *Accounts) Breakdown(reply func(assembly.Breakdown, error)) {
	mailbox.Ask(a.mailbox, reply, func() {
		totals, last := a.host.Spent()
		a.build(func(n *next) { reply(n.Breakdown(&n.built, totals, &last), nil) },
			func(err error) { reply(assembly.Breakdown{}, err) })
	})
}

// Cache reports how long the provider's cache keeps the prefix of the next request, and the cost of that request. newest
// returns the newest calls of the session, oldest first.
func (a *Accounts) Cache(newest func(context.Context) ([]history.Call, error), reply func(cachetime.Outlook, error)) {
	mailbox.Ask(a.mailbox, reply, func() {
		edits := a.host.Edits()
		a.build(func(n *next) { reply(n.outlook(a.mailbox.Context(), newest, edits)) },
			func(err error) { reply(cachetime.Outlook{}, err) })
	})
}

// outlook returns the outlook for the request.
func (n *next) outlook(ctx context.Context, newest func(context.Context) ([]history.Call, error), edits []history.Edit) (cachetime.Outlook, error) {
	calls, err := newest(ctx)
	if err != nil {
		return cachetime.Outlook{}, err
	}
	return cachetime.Of(ctx, &n.State, &n.built, calls, edits)
}

// Report tells as text what the next request would contain, for a terminal with so many columns; 0: unknown.
func (a *Accounts) Report(columns int, reply func(assembly.Report, error)) {
	mailbox.Ask(a.mailbox, reply, func() {
		totals, last := a.host.Spent()
		title := a.host.Title()
		a.build(func(n *next) {
			d, budget := n.Breakdown(&n.built, totals, &last), n.budget()
			reply(n.Report(title, columns, &n.built, &d, &budget), nil)
		}, func(err error) { reply(assembly.Report{}, err) })
	})
}

// Count counts the tokens of a text and of messages as a request to the session's model would contain them, the framing of
// messages included. Without a text and without messages it is an error.
func (a *Accounts) Count(text string, messages []history.Message, reply func(int, error)) {
	if text == "" && len(messages) == 0 {
		reply(0, fmt.Errorf("%w: a text or messages are required", mailbox.ErrInvalid))
		return
	}
	mailbox.Ask(a.mailbox, reply, func() {
		state, _ := a.host.Next()
		a.mailbox.Spawn(func() {
			ctx := a.mailbox.Context()
			n := state.Counter.CountContext(ctx, text)
			if err := content.Measure(ctx, state.Counter, messages); err != nil {
				reply(0, err)
				return
			}
			for i := range messages {
				n += messages[i].Tokens
			}
			reply(state.Calibrations.Apply(state.Model.Name, n), nil)
		})
	})
}

// TellUsage tells how full the window is now, which takes a plan of the next request to know. One is built at a time: changes
// that come meanwhile are told together.
func (a *Accounts) TellUsage() {
	if a.telling {
		a.again = true
		return
	}
	a.telling = true
	before := a.told
	a.build(func(n *next) {
		used, size := n.Calibrated(n.built.Counted), n.Model.Window
		a.mailbox.Tell(func() {
			if a.told == before { // else a reply has told what is newer
				a.EmitUsage("", used, size)
			}
			a.usageTold()
		}, nil)
	}, func(error) { a.mailbox.Tell(a.usageTold, nil) })
}

func (a *Accounts) usageTold() {
	again := a.again
	a.telling, a.again = false, false
	if again {
		a.TellUsage()
	}
}

// EmitUsage tells how many tokens of the window are used, after a turn or without one.
func (a *Accounts) EmitUsage(turn string, used, size int) {
	a.told++
	totals, _ := a.host.Spent()
	a.events.Emit(events.Event{Kind: events.Usage, Turn: turn, Data: events.UsageInfo{Used: used, Size: size, Cost: totals.Cost}})
}

// TellTiers tells attached subscribers what moved between tiers with the reply that was just stored. It takes a plan of the
// next request to know, so it is only done if somebody listens.
func (a *Accounts) TellTiers(turn string) {
	a.moves, a.awaited = nil, 0
	if !a.events.Attached() {
		return
	}
	a.plans++
	plan := a.plans
	a.awaited = plan
	a.build(func(n *next) {
		a.mailbox.Tell(func() {
			if a.awaited == plan { // else a request with a newer plan was sent
				a.awaited = 0
				a.tellMoves(turn, assembly.TierChanges(n.built.Plan))
			}
		}, nil)
	}, func(error) {})
}

// TellSent tells attached subscribers what moved between tiers with a request that is sent, other than with the reply before
// it: what was edited or removed. New messages were told already, unless that plan is still under way.
func (a *Accounts) TellSent(turn string, b *assembly.Built) {
	changes := assembly.TierChanges(b.Plan)
	if a.awaited == 0 {
		changes = slices.DeleteFunc(changes, func(c assembly.TierChange) bool {
			return c.From == "" && strings.HasPrefix(c.Key, fit.MessagePrefix)
		})
	}
	a.awaited = 0
	a.tellMoves(turn, changes)
}

// tellMoves tells attached subscribers of moves that they were not told since the last reply.
func (a *Accounts) tellMoves(turn string, changes []assembly.TierChange) {
	changes = slices.DeleteFunc(changes, func(c assembly.TierChange) bool { return slices.Contains(a.moves, c) })
	if len(changes) > 0 && a.events.Attached() {
		a.moves = append(a.moves, changes...)
		a.events.Emit(events.Event{Kind: events.TiersChanged, Turn: turn, Data: assembly.TiersChanged{Changes: changes}})
	}
}
