package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"sync"
	"time"
)

const (
	// CodeLife is the lifetime of a one-use code.
	CodeLife = 10 * time.Minute
	// maxCodes is the maximum number of unused codes; one more evicts the oldest.
	maxCodes = 64
)

// codes are the one-use codes that open the HUD in a browser. They are random (130 bits); only their hashes are stored.
// Safe for concurrent use.
type codes struct {
	now func() time.Time

	mu      sync.Mutex
	waiting []waitingCode // oldest first
}

type waitingCode struct {
	sum     [sha256.Size]byte
	expires time.Time
}

// newCodes returns an empty set of codes that reads the time from now.
func newCodes(now func() time.Time) *codes { return &codes{now: now} }

// issue returns a new code, of letters and digits, that redeem accepts once within CodeLife.
func (c *codes) issue() string {
	code := rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropExpired()
	if len(c.waiting) >= maxCodes {
		c.waiting = c.waiting[1:]
	}
	c.waiting = append(c.waiting, waitingCode{sha256.Sum256([]byte(code)), c.now().Add(CodeLife)})
	return code
}

// redeem reports whether code is valid, and invalidates it.
func (c *codes) redeem(code string) bool {
	sum := sha256.Sum256([]byte(code))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropExpired()
	found := -1
	for i := range c.waiting { // all of them, so that timing reveals nothing
		if subtle.ConstantTimeCompare(c.waiting[i].sum[:], sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, found, found+1)
	return true
}

// clear invalidates all codes.
func (c *codes) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = nil
}

func (c *codes) dropExpired() {
	now := c.now()
	n := 0
	for n < len(c.waiting) && !now.Before(c.waiting[n].expires) {
		n++
	}
	c.waiting = c.waiting[n:]
}
