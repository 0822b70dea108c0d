package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"strata/compaction"
	"strata/history"
	"strata/historystore"
	"strata/internal/clip"
	"strata/llm"
	"strata/rpc"
	"strata/session"
	"strata/session/assembly"
	"strata/session/finding"
	"strata/session/prompts"
	"strata/session/workspace"
)

// The error codes of the protocol other than those of JSON-RPC.
const (
	CodeAuth        = -32000
	CodeNotFound    = -32002
	CodeBusy        = -32010
	CodeOverBudget  = -32011
	CodeProvider    = -32012
	CodeRefusedPath = -32013
	CodeEditRefused = -32014
	CodeStorage     = -32015
)

// InvalidParams returns the error for parameters that a method does not accept.
func InvalidParams(format string, args ...any) *rpc.Error {
	return &rpc.Error{Code: rpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// NotFound returns the error for an entity, such as a session, that does not exist.
func NotFound(kind, id string) *rpc.Error {
	id = clip.Name(id)
	return &rpc.Error{
		Code: CodeNotFound, Message: fmt.Sprintf("%s %s not found", kind, id), Data: map[string]string{"kind": kind, "id": id},
	}
}

// SessionError replaces an error that says that a session does not exist, or no longer, by one that names the session.
// It returns other errors unchanged.
func SessionError(id string, err error) error {
	if errors.Is(err, history.ErrNotFound) || errors.Is(err, session.ErrClosed) {
		return NotFound("session", id)
	}
	return err
}

// Error maps an error to the one that a client receives. It is the only place where domain errors become codes.
// It returns nil for an unknown error, whose text must not reach clients.
func Error(err error) *rpc.Error {
	for _, m := range errorTable {
		if e := m(err); e != nil {
			return e
		}
	}
	return nil
}

// Failure returns an error as it is stored with a turn, for clients to receive later. known is false for an error that
// Error does not know: the failure then says "internal error", and the caller has to log err.
func Failure(err error) (f history.Failure, known bool) {
	e := Error(err)
	if known = e != nil; !known {
		e = &rpc.Error{Code: rpc.CodeInternal, Message: "internal error"}
	}
	f = history.Failure{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		if raw, err := json.Marshal(e.Data); err == nil {
			f.Data = raw
		}
	}
	return f, known
}

// errorTable is searched in order; the more specific error comes first.
var errorTable = []func(error) *rpc.Error{
	as(func(e *rpc.Error) *rpc.Error { return e }),
	as(func(e *session.MissingError) *rpc.Error {
		return &rpc.Error{Code: CodeNotFound, Message: e.Error(), Data: map[string]string{"kind": e.Kind, "id": clip.Name(e.ID)}}
	}),
	as(func(e *session.StoredError) *rpc.Error {
		stored := &rpc.Error{Code: e.Failure.Code, Message: e.Failure.Message}
		if len(e.Failure.Data) > 0 {
			stored.Data = e.Failure.Data
		}
		return stored
	}),
	as(func(e *session.BusyError) *rpc.Error {
		return &rpc.Error{Code: CodeBusy, Message: e.Error(), Data: map[string]string{"turnId": e.TurnID}}
	}),
	as(func(e *assembly.BudgetError) *rpc.Error {
		return &rpc.Error{Code: CodeOverBudget, Message: e.Error(), Data: map[string]int{"tokens": e.Tokens, "limit": e.Limit}}
	}),
	as(func(e *workspace.RefusedError) *rpc.Error {
		return &rpc.Error{Code: CodeRefusedPath, Message: e.Error(), Data: map[string]string{"path": clip.Path(e.Path), "reason": string(e.Reason)}}
	}),
	as(func(e *workspace.UnknownFileError) *rpc.Error {
		return &rpc.Error{Code: CodeNotFound, Message: e.Error(), Data: map[string]string{"kind": "file", "id": clip.Path(e.Path)}}
	}),
	as(func(e *finding.UnknownError) *rpc.Error {
		return &rpc.Error{Code: CodeNotFound, Message: e.Error(), Data: map[string]string{"kind": "message", "id": clip.Name(e.ID)}}
	}),
	as(func(e *workspace.EditRefusedError) *rpc.Error {
		return &rpc.Error{Code: CodeEditRefused, Message: e.Error(), Data: map[string]string{"path": clip.Path(e.Path), "reason": string(e.Reason)}}
	}),
	is(session.ErrTooLong, CodeProvider, session.ErrTooLong.Error()),
	as(func(e *llm.Error) *rpc.Error {
		return &rpc.Error{Code: CodeProvider, Message: e.Error(), Data: providerData{
			Status: e.Status, RetryAfterMs: e.RetryAfter.Milliseconds(), Partial: e.Partial,
			Provider: e.Provider, Kind: string(e.Kind), Attempts: e.Attempts,
		}}
	}),
	summaryError,
	is(compaction.ErrQueueFull, CodeBusy, compaction.ErrQueueFull.Error()),
	is(history.ErrNotFound, CodeNotFound, "not found"),
	is(historystore.ErrRequest, CodeStorage, historystore.ErrRequest.Error()),
	is(historystore.ErrCursor, rpc.CodeInvalidParams, errCursor().Message),
	is(session.ErrInterrupted, CodeProvider, session.ErrInterrupted.Error()),
	is(session.ErrUnsaved, CodeStorage, session.ErrUnsaved.Error()),
	is(historystore.ErrFull, CodeStorage, "the disk or the database is full; free some space and try again"),
	is(historystore.ErrBusy, CodeStorage, "the database is locked by another process; try again"),
	is(historystore.ErrMoved, CodeStorage, MovedText),
	is(historystore.ErrDamaged, CodeStorage, "the database is damaged; run `strata doctor`"),
	is(historystore.ErrReadOnly, CodeStorage, "the database is read-only; run `strata doctor`"),
	is(session.ErrStorage, CodeStorage, "database access failed; see the server's log"),
	is(prompts.ErrReplaced, rpc.CodeCancelled, prompts.ErrReplaced.Error()),
	is(session.ErrOverload, CodeBusy, session.ErrOverload.Error()),
	is(session.ErrClosed, CodeNotFound, session.ErrClosed.Error()),
	invalid,
}

// MovedText tells clients that the database file is not there any more.
const MovedText = "the database file was moved, deleted or replaced; put it back, or restart the server"

// providerData is the data of CodeProvider.
type providerData struct {
	Status       int    `json:"status"` // HTTP status, 0 if unknown
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
	Partial      bool   `json:"partial"`
	Provider     string `json:"provider,omitempty"` // the configured name
	Kind         string `json:"kind,omitempty"`     // an llm.ErrorKind
	Attempts     int    `json:"attempts,omitempty"` // that failed
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

// is returns the mapping of a sentinel error.
func is(target error, code int, message string) func(error) *rpc.Error {
	return func(err error) *rpc.Error {
		if !errors.Is(err, target) {
			return nil
		}
		e := &rpc.Error{Code: code, Message: message}
		if code == CodeStorage {
			e.Data = map[string]string{"reason": message}
		}
		return e
	}
}

// summaryError maps the errors of a summary. Their texts contain nothing of the history.
func summaryError(err error) *rpc.Error {
	for _, known := range []error{compaction.ErrEmpty, compaction.ErrTruncated, compaction.ErrNoGain, compaction.ErrTooLong} {
		if errors.Is(err, known) {
			return &rpc.Error{Code: CodeProvider, Message: known.Error(), Data: providerData{}}
		}
	}
	return nil
}

// invalid maps a session's error about a request, whose text is meant for the client.
func invalid(err error) *rpc.Error {
	if errors.Is(err, session.ErrInvalid) {
		return &rpc.Error{Code: rpc.CodeInvalidParams, Message: err.Error()}
	}
	return nil
}
