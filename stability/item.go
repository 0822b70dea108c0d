package stability

import (
	"fmt"
	"time"
)

// Kind is the kind of an item or of an entry.
type Kind string

// The kinds of items. An entry has the kind of its item, except that a file is sent as a base and diffs.
const (
	Tools    Kind = "tools"
	System   Kind = "system"
	Document Kind = "document"
	Outline  Kind = "outline"
	File     Kind = "file" // items only
	Note     Kind = "note"
	Summary  Kind = "summary"
	Message  Kind = "message"

	Base Kind = "base" // entries only: the whole rendered text of a file
	Diff Kind = "diff" // entries only: changes the previous text of a file to Rev
)

// inSystemPart reports whether k can be in the leading system part of a request.
func (k Kind) inSystemPart() bool { return k == Tools || k == System || k == Document || k == Outline }

// atStart reports whether k can only be at the very start of a request.
func (k Kind) atStart() bool { return k == Tools || k == System }

// inConversation reports whether k is part of the conversation, whose order is fixed.
func (k Kind) inConversation() bool { return k == Summary || k == Message }

// isFileText reports whether k is an entry for the text of a file.
func (k Kind) isFileText() bool { return k == Base || k == Diff }

// structureKey is the key of the file tree, which changes too often to be worth a tier.
const structureKey = "doc:structure"

// Item is an item that the request must contain. The caller keeps its text; this package sees a hash and sizes.
type Item struct {
	// Key is unique within a request: "system", "doc:NAME", "outline:PATH", "file:PATH", "msg:ID", "summary:EDIT".
	Key    string `json:"key"`
	Kind   Kind   `json:"kind"`
	Hash   string `json:"hash"`             // SHA-256 of the rendered bytes, in hex
	Tokens int    `json:"tokens"`           // of the rendered bytes, not calibrated
	Blocks int    `json:"blocks,omitempty"` // content blocks of a message; 0 means 1

	// Rev identifies the text of a file shown to the model: a hash, independent of the rendering.
	// Renderings without a diff between them, such as with and without line numbers, need different Revs.
	Rev string `json:"rev,omitempty"`
	// Partial is set for a file of which only a range is shown. Diffs from or to partial files are not made.
	Partial bool `json:"partial,omitempty"`
	// User is set for messages written by the user. Context updates precede the newest of them.
	User bool `json:"user,omitempty"`
	// Unmarkable forbids a cache mark at the end of the item, because it ends with thinking.
	Unmarkable bool `json:"unmarkable,omitempty"`
}

func (it *Item) blocks() int { return max(it.Blocks, 1) }

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

	// Clusters are keys of outlines of files that reference each other. Only the first request of a session uses them.
	Clusters [][]string

	Diff DiffFunc // nil: every changed file is sent whole

	Window int // tokens of the model's window; 0: unlimited
	Room   int // maximum tokens of the request; 0: Window
	Cache  Cache
}

// Cache describes the provider's prompt cache.
type Cache struct {
	Mirror    *Mirror // of the cache's content; nil: empty
	Automatic bool    // the provider caches automatically and accepts no marks
	Cold      bool    // with Automatic: nothing sent before is cached, for example after a change of model
	Minimum   int     // tokens of the shortest prefix that can be cached
	Prices    Prices
}

// Prices are the prices of cached input tokens relative to the price of an uncached one.
type Prices struct{ Read, Write, WriteLong float64 }

// Anthropic's prices, and those of providers with free cache writes.
var (
	MarkedPrices    = Prices{Read: 0.1, Write: 1.25, WriteLong: 2}
	AutomaticPrices = Prices{Read: 0.1, Write: 1, WriteLong: 1}
)

// prices returns c.Prices, or the defaults if the caller set none.
func (c *Cache) prices() Prices {
	switch {
	case c.Prices != (Prices{}):
		return c.Prices
	case c.Automatic:
		return AutomaticPrices
	default:
		return MarkedPrices
	}
}

// The bounds of a request. They prevent overflows in sums and prices.
const (
	maxTokens = 1 << 24 // of one item
	maxItems  = 1 << 18
	maxPrice  = 10
)

// check returns an error for an invalid request.
func (r *Request) check() error {
	if len(r.Items) > maxItems {
		return fmt.Errorf("%d items exceeds the limit of %d", len(r.Items), maxItems)
	}
	keys := make(map[string]struct{}, len(r.Items))
	for i := range r.Items {
		it := &r.Items[i]
		if err := it.check(); err != nil {
			return err
		}
		keys[it.Key] = struct{}{}
	}
	if len(keys) != len(r.Items) {
		return fmt.Errorf("duplicate keys: %d items with %d keys", len(r.Items), len(keys))
	}
	if r.Window < 0 || r.Room < 0 || r.Cache.Minimum < 0 {
		return fmt.Errorf("window %d, room %d, minimum %d: must not be negative", r.Window, r.Room, r.Cache.Minimum)
	}
	return r.Cache.Prices.check()
}

func (p Prices) check() error {
	for _, price := range []float64{p.Read, p.Write, p.WriteLong} {
		if !(price >= 0 && price <= maxPrice) {
			return fmt.Errorf("price %g: must be between 0 and %d", price, maxPrice)
		}
	}
	return nil
}

func (it *Item) check() error {
	switch {
	case it.Key == "":
		return fmt.Errorf("%s item without a key", it.Kind)
	case it.Hash == "":
		return fmt.Errorf("item %s has no hash", it.Key)
	case it.Tokens < 0 || it.Tokens > maxTokens || it.Blocks < 0 || it.Blocks > maxTokens:
		return fmt.Errorf("item %s: invalid size of %d tokens, %d blocks", it.Key, it.Tokens, it.Blocks)
	case it.Kind == File && it.Rev == "":
		return fmt.Errorf("file %s has no revision", it.Key)
	}
	switch it.Kind {
	case Tools, System, Document, Outline, File, Note, Summary, Message:
		return nil
	}
	return fmt.Errorf("item %s: unknown kind %q", it.Key, it.Kind)
}
