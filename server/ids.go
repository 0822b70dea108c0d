package server

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// newIDs returns a source of ids, prefix + ULID, that rise even within a millisecond. Safe for concurrent use.
func newIDs(now func() time.Time) func(prefix string) string {
	var mu sync.Mutex
	entropy := ulid.Monotonic(rand.Reader, 0)
	return func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		id, err := ulid.New(ulid.Timestamp(now()), entropy)
		if err != nil { // the random part overflowed within one millisecond: restart the sequence
			id = ulid.Make()
		}
		return prefix + id.String()
	}
}
