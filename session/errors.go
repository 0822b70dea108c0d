package session

import (
	"errors"
	"fmt"

	"strata/history"
	"strata/internal/clip"
	"strata/llm/reply"
	"strata/session/assembly"
	"strata/session/mailbox"
)

// Errors that a session's methods reply with, wrapped with their subject.
var (
	ErrClosed   = mailbox.ErrClosed
	ErrOverload = mailbox.ErrOverload
	ErrInvalid  = mailbox.ErrInvalid
	ErrStorage  = assembly.ErrStorage
	ErrBudget   = assembly.ErrBudget
	ErrBusy     = errors.New("the session is busy")
	ErrUnsaved  = errors.New("the previous reply is not stored yet; retrying")
)

// ErrInterrupted is how a turn ended that was running when the server died.
var ErrInterrupted = errors.New("the server ended before the reply was complete; any partial reply was saved")

// ErrTooLong ends a reply above reply.MaxAnswer. The reply up to there is kept.
var ErrTooLong = reply.ErrTooLarge

// BusyError says which turn keeps a session from taking a prompt. It is an ErrBusy.
type BusyError struct{ TurnID string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("turn %s is running; wait for it or cancel it", e.TurnID)
}

// Is reports whether target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// StoredError is the failure of a turn that ended earlier, told again.
type StoredError struct{ Failure history.Failure }

func (e *StoredError) Error() string { return e.Failure.Message }

// MissingError says that something of a session does not exist.
type MissingError struct{ Kind, ID string }

func (e *MissingError) Error() string { return fmt.Sprintf("%s %s not found", e.Kind, clip.Name(e.ID)) }
