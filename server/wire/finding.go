package wire

import (
	"context"
	"time"

	"strata/history"
	"strata/session/finding"
)

// LocateParams are the parameters of _strata/context/find.
type LocateParams struct {
	SessionParams
	MessageID string `json:"messageId"`
	Path      string `json:"path"`
	Key       string `json:"key"`  // of an item of requests
	Text      string `json:"text"` // a text in it
}

// Subject returns what is looked for.
func (p *LocateParams) Subject() (finding.Subject, error) {
	named := 0
	for _, name := range []string{p.MessageID, p.Path, p.Key} {
		if name != "" {
			named++
		}
	}
	switch {
	case named != 1:
		return finding.Subject{}, InvalidParams("params: expected one of messageId, path and key, got %d", named)
	case len(p.Text) > finding.MaxText:
		return finding.Subject{}, InvalidParams("params.text: %d bytes exceeds the limit of %d", len(p.Text), finding.MaxText)
	}
	return finding.Subject{Message: p.MessageID, Path: p.Path, Key: p.Key, Text: p.Text}, nil
}

// Located is the result of _strata/context/find.
type Located struct {
	finding.Found
	Since *Since `json:"since,omitempty"`
}

// Since is when something began to be as it is.
type Since struct {
	At     *time.Time `json:"at,omitempty"`     // of the change
	CallID string     `json:"callId,omitempty"` // of the first call that contained it so; missing if there was none yet
	CallAt *time.Time `json:"callAt,omitempty"`
}

// CallLog finds the calls of sessions.
type CallLog interface {
	CallAfter(ctx context.Context, session string, at time.Time) (history.Call, bool, error)
	CallBack(ctx context.Context, session string, n int) (history.Call, bool, error)
}

// NewLocated returns the result of _strata/context/find.
func NewLocated(ctx context.Context, log CallLog, session string, found finding.Found) (Located, error) {
	result := Located{Found: found}
	var call history.Call
	var ok bool
	var err error
	switch {
	case !found.Since.IsZero():
		result.Since = &Since{At: &found.Since}
		call, ok, err = log.CallAfter(ctx, session, found.Since)
	case found.Requests > 0:
		result.Since = &Since{}
		call, ok, err = log.CallBack(ctx, session, found.Requests)
	}
	if err != nil {
		return Located{}, SessionError(session, err)
	}
	if ok {
		result.Since.CallID, result.Since.CallAt = call.ID, &call.At
	}
	return result, nil
}

// ArrangeParams are the parameters of _strata/history/arrange.
type ArrangeParams struct {
	SessionParams
	MessageID string `json:"messageId" need:"content"`
	Do        string `json:"action" need:"content"`
}

// Action returns what is to be done with the message.
func (p *ArrangeParams) Action() (finding.Action, error) {
	switch a := finding.Action(p.Do); a {
	case finding.Keep, finding.Release, finding.TakeOut:
		return a, nil
	}
	return "", InvalidParams("params.action: expected keep, release or take_out")
}
