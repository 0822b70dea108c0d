package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"strata/compaction"
	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/session"
)

// The error codes of the protocol beside those of JSON-RPC.
const (
	codeInvalidParams = rpc.CodeInvalidParams
	codeNotFound      = -32002
	codeBusy          = -32010
	codeOverBudget    = -32011
	codeProvider      = -32012
	codeRefusedPath   = -32013
	codeEditRefused   = -32014
	codeStorage       = -32015
)

var errShutdown = errors.New("the server is shutting down")

// missing is an error for something that there is not.
type missing struct{ kind, id string }

func notFound(kind, id string) error { return &missing{kind: kind, id: id} }

func (m *missing) Error() string { return fmt.Sprintf("%s %s not found", m.kind, m.id) }

// wireError maps an error to what a client is told. It is the only place where domain errors become
// codes. nil means that the error is not one of the domain's: it is logged and its text kept back.
func wireError(err error) *rpc.Error {
	for _, m := range errorTable {
		if e := m(err); e != nil {
			return e
		}
	}
	return nil
}

// errorTable is gone through in order; the more special error stands first.
var errorTable = []func(error) *rpc.Error{
	as(func(e *rpc.Error) *rpc.Error { return e }),
	as(func(e *missing) *rpc.Error {
		return &rpc.Error{Code: codeNotFound, Message: e.Error(), Data: map[string]string{"kind": e.kind, "id": e.id}}
	}),
	as(func(e *session.MissingError) *rpc.Error {
		return &rpc.Error{Code: codeNotFound, Message: e.Error(), Data: map[string]string{"kind": e.Kind, "id": e.ID}}
	}),
	as(func(e *session.StoredError) *rpc.Error {
		return &rpc.Error{Code: e.Failure.Code, Message: e.Failure.Message, Data: rawOrNil(e.Failure.Data)}
	}),
	as(func(e *session.BusyError) *rpc.Error {
		return &rpc.Error{Code: codeBusy, Message: e.Error(), Data: map[string]string{"turnId": e.TurnID}}
	}),
	as(func(e *session.BudgetError) *rpc.Error {
		return &rpc.Error{Code: codeOverBudget, Message: e.Error(), Data: map[string]int{"tokens": e.Tokens, "limit": e.Limit}}
	}),
	as(func(e *session.RefusedError) *rpc.Error {
		return &rpc.Error{Code: codeRefusedPath, Message: e.Error(), Data: map[string]string{"path": e.Path, "reason": string(e.Reason)}}
	}),
	as(func(e *session.UnknownFileError) *rpc.Error {
		return &rpc.Error{Code: codeNotFound, Message: e.Error(), Data: map[string]string{"kind": "file", "id": e.Path}}
	}),
	as(func(e *session.EditRefusedError) *rpc.Error {
		return &rpc.Error{Code: codeEditRefused, Message: e.Error(), Data: map[string]string{"path": e.Path, "reason": string(e.Reason)}}
	}),
	as(providerError),
	summaryError,
	is(compaction.ErrQueueFull, codeBusy, compaction.ErrQueueFull.Error()),
	is(history.ErrNotFound, codeNotFound, "not found"),
	is(historystore.ErrCursor, codeInvalidParams, "cursor: it is not one of this list"),
	is(session.ErrInterrupted, codeProvider, session.ErrInterrupted.Error()),
	is(session.ErrTooLong, codeProvider, session.ErrTooLong.Error()),
	is(session.ErrUnsaved, codeStorage, session.ErrUnsaved.Error()),
	is(historystore.ErrFull, codeStorage, "the disk or the database is full; free some space and try again"),
	is(historystore.ErrBusy, codeStorage, "the database is locked by another process; try again"),
	is(session.ErrStorage, codeStorage, "the database could not be written; see the server's log"),
	is(session.ErrOverload, codeBusy, session.ErrOverload.Error()),
	is(session.ErrClosed, codeNotFound, session.ErrClosed.Error()),
	is(errShutdown, codeBusy, errShutdown.Error()),
	invalid,
}

// as returns the mapping of an error type.
func as[E error](convert func(E) *rpc.Error) func(error) *rpc.Error {
	return func(err error) *rpc.Error {
		if e, ok := errors.AsType[E](err); ok {
			return convert(e)
		}
		return nil
	}
}

// is returns the mapping of a sentinel.
func is(target error, code int, message string) func(error) *rpc.Error {
	return func(err error) *rpc.Error {
		if !errors.Is(err, target) {
			return nil
		}
		e := &rpc.Error{Code: code, Message: message}
		if code == codeStorage {
			e.Data = map[string]string{"reason": message}
		}
		return e
	}
}

// summaryError maps what can be wrong with a summary; nothing of the history is in these texts.
func summaryError(err error) *rpc.Error {
	for _, known := range []error{compaction.ErrEmpty, compaction.ErrCutOff, compaction.ErrNoGain, compaction.ErrTooLong} {
		if errors.Is(err, known) {
			return &rpc.Error{Code: codeProvider, Message: known.Error(), Data: providerData{}}
		}
	}
	return nil
}

// invalid maps what a session says of a request that it cannot take: its text is meant for the client.
func invalid(err error) *rpc.Error {
	if errors.Is(err, session.ErrInvalid) {
		return &rpc.Error{Code: codeInvalidParams, Message: err.Error()}
	}
	return nil
}

type providerData struct {
	Status       int   `json:"status"`
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
	Partial      bool  `json:"partial"`
}

func providerError(e *session.ProviderError) *rpc.Error {
	return &rpc.Error{Code: codeProvider, Message: e.Error(), Data: providerData{
		Status: e.Status, RetryAfterMs: e.RetryAfter.Milliseconds(), Partial: e.Partial,
	}}
}

func rawOrNil(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// describe returns an error as clients are told it, for storing with a turn. One that is not of the
// domain is logged here, once.
func describe(log *slog.Logger, err error) history.Failure {
	e := wireError(err)
	if e == nil {
		log.Error("unexpected error", slog.Any("error", err), slog.String("stack", string(debug.Stack())))
		e = &rpc.Error{Code: rpc.CodeInternal, Message: "internal error"}
	}
	f := history.Failure{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		if raw, err := json.Marshal(e.Data); err == nil {
			f.Data = raw
		}
	}
	return f
}
