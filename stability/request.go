package stability

import (
	"fmt"
	"slices"
	"time"
)

// DiffFunc returns the hash and the tokens of the rendered diff between two revisions of a file.
// If there is no diff or it would be too expensive, ok is false and the file is sent whole.
// The result must depend only on the arguments. The implementation caches results and keeps the rendered bytes.
type DiffFunc func(key, from, to string) (hash string, tokens int, ok bool)

// Request lists the contents of the next request to the model.
type Request struct {
	Now time.Time

	// Items are sent in the given order for documents, notes, and messages with summaries; the order of others does
	// not matter. An assistant's message and the results of its tool calls are one item.
	Items []Item

	// Clusters are keys of outlines of files that reference each other. Only the first request of a session that
	// introduces outlines uses them.
	Clusters [][]string

	Diff DiffFunc // nil: every changed file is sent whole

	Window int // tokens of the model's window; 0: unlimited
	Room   int // maximum tokens of the request; 0: Window
	Cache  Cache
}

// checkKeys returns an error for a key that two items have. Of a conversation that begins like the one in sent, only what
// follows is compared.
func (r *Request) checkKeys(sent *sent) error {
	same := sent.begins(r.Items)
	keys := make(map[string]struct{})
	n := 0 // items of the conversation so far
	for i := range r.Items {
		it := &r.Items[i]
		if it.inStream() {
			if n++; n <= same {
				continue
			}
		}
		_, twice := keys[it.Key]
		if twice || sent.has(it.Key, same) {
			return fmt.Errorf("duplicate key %s", it.Key)
		}
		keys[it.Key] = struct{}{}
	}
	return nil
}

// insideTurn reports whether the request continues the turn of the request before: the newest message ends with results of
// tools.
func (r *Request) insideTurn() bool {
	for i := range slices.Backward(r.Items) {
		if r.Items[i].Kind == Message {
			return r.Items[i].Open
		}
	}
	return false
}

// The expected number of further requests.
const (
	furtherTurns = 8
	furtherSteps = 20 // of a model with tools
)

// further returns the expected number of further requests that contain the same.
func (r *Request) further() int {
	if slices.ContainsFunc(r.Items, func(it Item) bool { return it.Kind == Tools }) {
		return furtherSteps
	}
	return furtherTurns
}

// maxItems is the maximum number of items in a request.
const maxItems = 1 << 18

// check returns an error for an invalid request.
func (r *Request) check() error {
	if len(r.Items) > maxItems {
		return fmt.Errorf("%d items exceeds the limit of %d", len(r.Items), maxItems)
	}
	for i := range r.Items {
		if err := r.Items[i].check(); err != nil {
			return err
		}
	}
	if r.Window < 0 || r.Room < 0 || r.Cache.Minimum < 0 {
		return fmt.Errorf("window %d, room %d, minimum %d: must not be negative", r.Window, r.Room, r.Cache.Minimum)
	}
	return r.Cache.Prices.check()
}
