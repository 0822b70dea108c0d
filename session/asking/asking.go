// Package asking asks the user, through all clients of a session that can ask, whether a call of a tool may run.
//
// It must never decide by itself: what a call may do is the business of package approval. It must never know how a question
// reaches a client.
package asking

import (
	"context"
	"time"

	"strata/internal/clip"
	"strata/session/approval"
	"strata/session/clients"
	"strata/session/mailbox"
	"strata/session/tools"
)

// Question is whether a call may run.
type Question struct {
	Tool   string                   // its name
	Call   tools.Progress           // as clients are shown it
	Decide func() approval.Decision // what becomes of the call now; it is called on the mailbox
}

// Outcome is what became of a question.
type Outcome struct {
	Allowed bool
	By      string        // of an allowed call: what allowed it, as in approval.Decision, or "the user"
	Rule    approval.Rule // that the user's answer makes for the session; the zero Rule for none
	Refusal string        // of a call that must not run: a sentence for the model
}

// Services is what asking needs of the session.
type Services struct {
	Clients func() []clients.Client // that are subscribed and can ask; called on the mailbox
	Newest  func() uint64           // sequence number of the newest event, which tells of the call; called on the mailbox
	Timeout time.Duration           // longest wait while nobody can be asked
}

// Asking is the open question of a session, at most one. It belongs to the session's mailbox, except for Ask.
type Asking struct {
	mailbox  *mailbox.Mailbox
	services Services
	open     *question // nil for none
}

// New returns an Asking without a question.
func New(m *mailbox.Mailbox, services Services) *Asking {
	return &Asking{mailbox: m, services: services}
}

// question is a question without an outcome.
type question struct {
	Question
	decision approval.Decision // it asks
	requests map[clients.Client]*request
	absence  *absence     // while nobody is asked; nil otherwise
	outcome  chan Outcome // capacity 1
}

// request is a request to one client.
type request struct{ cancel context.CancelFunc }

// absence is the time in which nobody is asked.
type absence struct{ end context.CancelFunc }

// Ask asks until a client answers, a changed approval decides, nobody was there for too long, or ctx ends. When it returns,
// all requests are cancelled, and it does not wait for their clients. It is for the goroutine of the turn. The error is that
// of ctx.
func (a *Asking) Ask(ctx context.Context, q Question) (Outcome, error) {
	asked := &question{Question: q, outcome: make(chan Outcome, 1)}
	a.mailbox.Wait(func() { a.begin(asked) })
	select {
	case outcome := <-asked.outcome:
		return outcome, nil
	case <-ctx.Done():
	}
	a.mailbox.Wait(func() { a.drop(asked) })
	return Outcome{}, ctx.Err()
}

// Subscribed records that a client that can ask has subscribed: new, or again. It is asked unless it is being asked.
func (a *Asking) Subscribed(client clients.Client) {
	if a.open == nil || a.open.requests[client] != nil {
		return
	}
	a.request(client)
	a.attend()
}

// Left records that a client has unsubscribed, or that its connection has ended.
func (a *Asking) Left(client clients.Client) {
	if a.open != nil {
		a.out(client)
	}
}

// Reconsider decides anew on the open question, after a change of what decisions depend on. Those who were asked are asked
// again if it still takes the user.
func (a *Asking) Reconsider() {
	if a.open != nil {
		a.decide()
	}
}

func (a *Asking) begin(q *question) {
	if a.open != nil {
		panic("a question is open")
	}
	a.open = q
	a.decide()
}

// decide decides on the open question, or asks everybody who is there.
func (a *Asking) decide() {
	q := a.open
	q.cancelAll()
	switch d := q.Decide(); d.Verdict {
	case approval.Allowed:
		a.settle(Outcome{Allowed: true, By: d.By})
	case approval.Refused:
		a.settle(Outcome{Refusal: d.Refusal})
	default:
		q.decision, q.requests = d, make(map[clients.Client]*request)
		for _, client := range a.services.Clients() {
			a.request(client)
		}
		a.attend()
	}
}

// request asks one client.
func (a *Asking) request(client clients.Client) {
	q := a.open
	ctx, cancel := context.WithCancel(a.mailbox.Context())
	r := &request{cancel}
	q.requests[client] = r
	p, after := clients.Permission{Call: q.Call, Options: q.decision.Options()}, a.services.Newest()
	a.mailbox.Spawn(func() {
		var answer clients.Answer
		var err error
		if failed := a.mailbox.Guard(func() { answer, err = client.RequestPermission(ctx, p, after) }); failed != nil {
			err = failed
		}
		a.mailbox.Tell(func() {
			if q.requests[client] == r {
				a.responded(client, answer, err)
			}
		}, nil)
	})
}

// responded takes the response of a client that is being asked. Without a valid answer that client is out.
func (a *Asking) responded(client clients.Client, answer clients.Answer, err error) {
	if err == nil {
		if option, unknown := a.open.decision.Option(answer.OptionID); unknown == nil {
			a.settle(a.open.answered(option, answer.Words))
			return
		}
	}
	a.out(client)
}

// answered returns the outcome of an answer.
func (q *question) answered(option approval.Option, words string) Outcome {
	if option.Allows {
		return Outcome{Allowed: true, By: "the user", Rule: option.Rule}
	}
	refusal := q.Tool + " was not run: the user rejected the call."
	if words == "" {
		return Outcome{Refusal: refusal + " Do not repeat it; go on without it, or ask the user what to do instead."}
	}
	return Outcome{Refusal: refusal + " The user says: " + clip.Bytes(words, clients.MaxWords)}
}

// out ends the request to a client, if there is one.
func (a *Asking) out(client clients.Client) {
	if r := a.open.requests[client]; r != nil {
		r.cancel()
		delete(a.open.requests, client)
		a.attend()
	}
}

// attend begins an absence if nobody is asked, and ends it if somebody is.
func (a *Asking) attend() {
	q := a.open
	switch nobody := len(q.requests) == 0; {
	case nobody && q.absence == nil:
		ctx, cancel := context.WithTimeout(a.mailbox.Context(), a.services.Timeout)
		alone := &absence{cancel}
		q.absence = alone
		a.mailbox.After(ctx, func() {
			a.mailbox.Tell(func() {
				if a.open == q && q.absence == alone {
					a.settle(Outcome{Refusal: q.Tool + " was not run: nobody was there to allow it. Go on without it, or tell the user what is left to do."})
				}
			}, nil)
		})
	case !nobody && q.absence != nil:
		q.absence.end()
		q.absence = nil
	}
}

// settle ends the open question with an outcome.
func (a *Asking) settle(outcome Outcome) {
	q := a.open
	a.drop(q)
	q.outcome <- outcome
}

// drop ends a question. It has no effect if the question has ended.
func (a *Asking) drop(q *question) {
	if a.open != q {
		return
	}
	a.open = nil
	q.cancelAll()
	if q.absence != nil {
		q.absence.end()
	}
}

// cancelAll cancels all requests. Later responses to them do not count.
func (q *question) cancelAll() {
	for _, r := range q.requests {
		r.cancel()
	}
	q.requests = nil
}
