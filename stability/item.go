package stability

import (
	"fmt"
	"time"
)

// Kind says what an item is, and what an entry shows of it.
type Kind string

// The kinds of items. An entry has the kind of its item, except that a file is shown by a base and diffs.
const (
	Tools    Kind = "tools"
	System   Kind = "system"
	Document Kind = "document"
	Outline  Kind = "outline"
	File     Kind = "file" // items only
	Note     Kind = "note"
	Summary  Kind = "summary"
	Message  Kind = "message"

	Base Kind = "base" // entries only: a file's whole rendered text
	Diff Kind = "diff" // entries only: leads from the text before it to Rev
)

// leads reports whether k may stand in the leading system part of a request.
func (k Kind) leads() bool { return k == Tools || k == System || k == Document || k == Outline }

// heads reports whether k can stand nowhere but at the very beginning.
func (k Kind) heads() bool { return k == Tools || k == System }

// streams reports whether k is part of the conversation, whose order is fixed.
func (k Kind) streams() bool { return k == Summary || k == Message }

// shows reports whether k presents a file's text.
func (k Kind) shows() bool { return k == Base || k == Diff }

// structureKey is the file tree: the one document that changes too often to be worth a tier.
const structureKey = "doc:structure"

// Item is one thing that a request must hold. The caller keeps its bytes; here it is a hash and sizes.
type Item struct {
	// Key is unique in a request: "system", "doc:NAME", "outline:PATH", "file:PATH", "msg:ID", "summary:EDIT".
	Key    string `json:"key"`
	Kind   Kind   `json:"kind"`
	Hash   string `json:"hash"`             // SHA-256 in hex of the rendered bytes
	Tokens int    `json:"tokens"`           // size of the rendered bytes, as counted: not calibrated
	Blocks int    `json:"blocks,omitempty"` // content blocks that a message is sent as; 0 counts as 1

	// Rev is for files: the hash of the text that the model is shown, whatever the rendering.
	// Two renderings that no diff can lead between (line numbers, for one) need two names.
	Rev string `json:"rev,omitempty"`
	// Partial is for files of which only a range is shown. No diff leads to or from one.
	Partial bool `json:"partial,omitempty"`
	// User is for messages that the user wrote: context updates go in front of the newest of them.
	User bool `json:"user,omitempty"`
	// Unmarkable forbids a cache mark at the item's end, because it ends in thinking.
	Unmarkable bool `json:"unmarkable,omitempty"`
}

func (it *Item) blocks() int { return max(it.Blocks, 1) }

// DiffFunc returns the rendered diff that leads a file from one revision to another: its hash and its tokens.
// ok is false where there is none, or where making it would be too much work; the file is then sent whole.
// It must be a function of its arguments; the caller memoises it and keeps the bytes.
type DiffFunc func(key, from, to string) (hash string, tokens int, ok bool)

// Request is everything that the next request to the model must hold.
type Request struct {
	Now time.Time

	// Items in any order, except that the order of documents, notes and messages (with summaries) is theirs.
	// An assistant's message and the results of its tool calls are one item.
	Items []Item

	// Clusters are keys of outlines of files that reference each other; read at a session's first request only.
	Clusters [][]string

	Diff DiffFunc // nil: every changed file is sent whole

	Window int // tokens of the model's window; 0: not bounded
	Room   int // most tokens that the request may hold; 0: Window
	Cache  Cache
}

// Cache is what the provider's prompt cache does.
type Cache struct {
	Mirror    *Mirror // what is known to be cached; nil: nothing is
	Automatic bool    // the provider caches by itself and takes no marks
	Cold      bool    // Automatic: nothing of what was sent is cached, since it went to another model, for one
	Minimum   int     // tokens of the shortest prefix that is cached
	Prices    Prices
}

// Prices are relative to the price of an input token that no cache has to do with.
type Prices struct{ Read, Write, WriteLong float64 }

// Anthropic's prices, and those of providers where writing is free.
var (
	MarkedPrices    = Prices{Read: 0.1, Write: 1.25, WriteLong: 2}
	AutomaticPrices = Prices{Read: 0.1, Write: 1, WriteLong: 1}
)

// prices returns c's prices, or the usual ones where the caller knows none.
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

// The bounds of a request. With them no sum and no price can overflow.
const (
	maxTokens = 1 << 24 // of one item
	maxItems  = 1 << 18
	maxPrice  = 10
)

// check returns an error for a request that no caller should make.
func (r *Request) check() error {
	if len(r.Items) > maxItems {
		return fmt.Errorf("%d items: at most %d", len(r.Items), maxItems)
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
		return fmt.Errorf("%d items with %d keys", len(r.Items), len(keys))
	}
	if r.Window < 0 || r.Room < 0 || r.Cache.Minimum < 0 {
		return fmt.Errorf("window %d, room %d, minimum %d: want 0 or more", r.Window, r.Room, r.Cache.Minimum)
	}
	return r.Cache.Prices.check()
}

func (p Prices) check() error {
	for _, price := range []float64{p.Read, p.Write, p.WriteLong} {
		if !(price >= 0 && price <= maxPrice) {
			return fmt.Errorf("price %g: want 0 to %d", price, maxPrice)
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
		return fmt.Errorf("item %s has an impossible size: %d tokens, %d blocks", it.Key, it.Tokens, it.Blocks)
	case it.Kind == File && it.Rev == "":
		return fmt.Errorf("file %s has no revision", it.Key)
	}
	switch it.Kind {
	case Tools, System, Document, Outline, File, Note, Summary, Message:
		return nil
	}
	return fmt.Errorf("item %s is of unknown kind %q", it.Key, it.Kind)
}
