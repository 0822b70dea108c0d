package historystore

import (
	"errors"

	"strata/historystore/database"
	"strata/historystore/lock"
	"strata/historystore/requests"
)

// The errors of a Store, wrapped with their subject. In addition, methods return history.ErrNotFound.
var (
	// ErrLocked means that another process has the database open. The wrapping error contains its process id.
	ErrLocked = lock.ErrLocked

	// ErrDamaged means that the database is damaged. The wrapping error contains the path and the remedy.
	ErrDamaged = database.ErrDamaged

	// ErrNewer means that a newer version of the program wrote the database.
	ErrNewer = database.ErrNewer

	// ErrBusy means that another process held a lock on the database for longer than the busy timeout.
	// Nothing was stored; a retry may succeed.
	ErrBusy = database.ErrBusy

	// ErrFull means that the disk is full. Nothing was stored.
	ErrFull = database.ErrFull

	// ErrReadOnly means that the database cannot be written. Nothing was stored.
	ErrReadOnly = database.ErrReadOnly

	// ErrDuplicate means that another record with the same id, sequence number or prompt id exists. Nothing was stored.
	ErrDuplicate = database.ErrDuplicate

	// ErrCursor means that a cursor is malformed or belongs to another list.
	ErrCursor = errors.New("invalid cursor")

	// ErrRequest means that a kept request is damaged. The others are not.
	ErrRequest = requests.ErrBody

	// ErrClosed means that the store was closed.
	ErrClosed error = database.Refusal("store is closed")
)
