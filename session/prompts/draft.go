package prompts

import (
	"context"
	"errors"
	"fmt"

	"strata/history"
	"strata/session/assembly"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/session/requests"
	"strata/session/workspace"
)

// Host is a session as its drafts see it. Its methods belong to the mailbox.
type Host interface {
	// Next returns what the next request is made of now, with the user's present choices.
	Next() (assembly.State, compacting.Rules)
}

// Drafts measures prompts that are not sent, and changes nothing of the session. Its methods can be called from any goroutine.
type Drafts struct {
	host      Host
	mailbox   *mailbox.Mailbox
	workspace *workspace.Workspace
	requests  *requests.Requests
	newID     func(prefix string) string
}

// NewDrafts returns the Drafts of a session.
func NewDrafts(host Host, box *mailbox.Mailbox, files *workspace.Workspace, made *requests.Requests, newID func(prefix string) string) *Drafts {
	return &Drafts{host: host, mailbox: box, workspace: files, requests: made, newID: newID}
}

// Draft is a prompt that is not sent, and the request that it would be sent with. All tokens are those of the provider, as far
// as its counts were learned.
type Draft struct {
	Tokens         int `json:"tokens"` // that the prompt adds, with the files that it attaches
	Used           int `json:"used"`   // by the request
	Remaining      int `json:"remaining"`
	PercentUsed    int `json:"percentUsed"` // of the window, rounded down
	MaxInputTokens int `json:"maxInputTokens"`

	Evicts    []fit.Omitted `json:"evicts"`             // items that leave with this prompt, at most maxNamed
	Truncates []fit.Omitted `json:"truncates"`          // items that are shortened, likewise
	Compacts  *Compaction   `json:"compacts,omitempty"` // missing: none
	Unread    []fit.Omitted `json:"unread"`             // files and addresses of the prompt that are not read

	ExpectedRead int   `json:"expectedRead"`   // tokens of the request that are expected in the provider's cache
	Cost         *Cost `json:"cost,omitempty"` // of the input; missing if the model has no price

	Request *assembly.Assembled `json:"request,omitempty"` // if it was asked for

	TooLarge *TooLarge `json:"tooLarge,omitempty"` // the prompt would be refused: the other figures are those of the prompt alone
}

// Compaction is one that a prompt causes.
type Compaction struct {
	When     When `json:"when"`
	Messages int  `json:"messages,omitempty"` // that it removes, if it is before the request
	Saved    int  `json:"saved,omitempty"`    // tokens, likewise
}

// When says when a compaction happens.
type When string

// The times of a compaction: without a model, because the request does not fit otherwise, or after the reply.
const (
	BeforeRequest When = "before"
	AfterReply    When = "after"
)

// Cost is the cost of a request's input, in US dollars.
type Cost struct {
	Input float64 `json:"input"` // with the expected read from the cache
	Cold  float64 `json:"cold"`  // if nothing is read from the cache
}

// TooLarge says by how much a prompt is too large.
type TooLarge struct {
	Tokens int `json:"tokens"` // of the prompt, the required files and the system prompt
	Limit  int `json:"limit"`
}

// maxNamed limits the items that a draft names.
const maxNamed = 100

// Measure measures a prompt as if it were sent now. With whole, the Draft has the request. It ends with ctx.
func (d *Drafts) Measure(ctx context.Context, blocks []history.Block, whole bool, reply func(Draft, error)) {
	mailbox.Ask(d.mailbox, reply, func() {
		m := measuring{Drafts: d}
		m.state, m.rules = d.host.Next()
		reader := d.workspace.Reader()
		d.mailbox.Spawn(func() {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			defer context.AfterFunc(d.mailbox.Context(), stop)()
			draft, err := m.measure(ctx, &reader, blocks)
			if m.built.Plan != nil && whole {
				request := m.built.Assembled()
				draft.Request = &request
			}
			if ctx.Err() != nil {
				err = context.Cause(ctx) // nobody waits for it
			}
			reply(draft, err)
		})
	})
}

// measuring is a draft that is being measured.
type measuring struct {
	*Drafts
	state assembly.State
	rules compacting.Rules
	with  *workspace.With // the files of the session, with those of the draft
	made  *requests.Trial
	built assembly.Built
}

func (m *measuring) measure(ctx context.Context, reader *workspace.Reader, blocks []history.Block) (Draft, error) {
	if ctx.Err() != nil {
		return Draft{}, ctx.Err()
	}
	if content.Empty(blocks) {
		return Draft{}, fmt.Errorf("%w: the prompt holds no text, picture or resource", mailbox.ErrInvalid)
	}
	a, err := Admit(ctx, &m.state, reader, blocks, nil)
	if large, is := errors.AsType[*assembly.BudgetError](err); is {
		return m.refused(large, &a), nil
	}
	if err == nil {
		m.mailbox.Wait(func() { m.with, err = m.workspace.With(a.Files) })
	}
	if err != nil {
		return Draft{}, err
	}
	draft := &requests.Draft{Message: a.Message, Resent: a.Resent, Resume: a.Resume, Files: m.with.Files}
	if !a.Resent {
		draft.Message.ID = m.newID("msg_")
	}
	m.made, m.state, m.built, err = m.requests.Try(ctx, &m.state, draft)
	if err != nil {
		return Draft{}, err
	}
	return m.draft(&a), nil
}

// refused returns the figures of a prompt that would be refused.
func (m *measuring) refused(large *assembly.BudgetError, a *Admission) Draft {
	d := Draft{
		Tokens: m.state.Calibrated(a.Message.Tokens), Used: large.Tokens, MaxInputTokens: m.state.Model.Window,
		Evicts: []fit.Omitted{}, Truncates: []fit.Omitted{}, Unread: []fit.Omitted{}, TooLarge: &TooLarge{Tokens: large.Tokens, Limit: large.Limit},
	}
	if d.MaxInputTokens > 0 {
		d.PercentUsed = d.Used * 100 / d.MaxInputTokens
	}
	return d
}

// draft returns the figures of the request that was built.
func (m *measuring) draft(a *Admission) Draft {
	budget := m.state.Budget(&m.built)
	added := m.with.Tokens(m.state.Counter)
	if !a.Resent {
		added += a.Message.Tokens
	}
	d := Draft{
		Tokens: m.state.Calibrated(added), Used: budget.Used, Remaining: budget.Remaining, PercentUsed: budget.PercentUsed,
		MaxInputTokens: budget.MaxInputTokens, Compacts: m.compaction(),
		Unread:       named(append(append([]fit.Omitted{}, a.Omitted...), m.with.Omitted...)),
		ExpectedRead: m.built.ExpectedInput(&m.state.Measure, m.built.Plan.Expect).CacheRead,
	}
	evicted, truncated := m.built.Changes.Named()
	d.Evicts, d.Truncates = named(evicted), named(truncated)
	if input, cold, ok := m.built.InputCost(&m.state.Measure); ok {
		d.Cost = &Cost{Input: input, Cold: cold}
	}
	return d
}

func named(all []fit.Omitted) []fit.Omitted {
	all = fit.Runs(all)
	return append([]fit.Omitted{}, all[:min(len(all), maxNamed)]...)
}

// compaction returns the compaction that the prompt causes, nil for none.
func (m *measuring) compaction() *Compaction {
	for _, e := range m.made.Edits {
		if e.Kind == history.EditCompact {
			return &Compaction{When: BeforeRequest, Messages: len(e.Messages), Saved: m.state.Calibrated(e.SavedTokens)}
		}
	}
	if need := compacting.NeedOf(&m.state, &m.rules); need.Due {
		return &Compaction{When: AfterReply}
	}
	return nil
}
