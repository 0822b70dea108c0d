package history

import "time"

// Request is the layout of a request that was sent: its items in order, without their texts, and the omitted items. It is
// kept with the call that sent it.
type Request struct {
	Call    string    `json:"callId"`
	Message string    `json:"messageId,omitempty"` // id of the reply; empty for none
	At      time.Time `json:"at"`
	Seq     int64     `json:"seq"` // of the newest message or edit of the session when the request was built

	Layout   string `json:"layout"`
	Cut      string `json:"cut,omitempty"` // why the request did not only continue the one before
	Tokens   int    `json:"tokens"`        // counted, of the items and the overhead
	Overhead int    `json:"overhead"`      // of them: the framing of messages, which belongs to no item
	Expected int    `json:"expected"`      // counted tokens that were expected to be read from the cache

	Items   []RequestItem     `json:"items"`
	Omitted []RequestOmission `json:"omitted,omitempty"`
}

// RequestItem is one entry of a request. Several entries can have the same key: the text of a file and its diffs.
type RequestItem struct {
	Key    string `json:"key"`
	Kind   string `json:"kind"`
	Hash   string `json:"hash"` // of the bytes that were sent; of unchanged messages: an id
	Tokens int    `json:"tokens"`
	Tier   string `json:"tier"`
	N      int    `json:"n"`                // turns for which the item was unchanged
	Mark   bool   `json:"mark,omitempty"`   // a cache breakpoint follows
	Dead   bool   `json:"dead,omitempty"`   // sent, but no longer needed
	Reason string `json:"reason,omitempty"` // of a file: why it is shown as it is
	Moved  string `json:"moved,omitempty"`  // why the item is in another tier than in the request before, or changed
}

// RequestOmission is something that a request omits, and why.
type RequestOmission struct {
	Key    string `json:"key"`
	Count  int    `json:"count,omitempty"` // of messages, if it is a run of them
	Tokens int    `json:"tokens,omitempty"`
	Reason string `json:"reason"`
	Score  int    `json:"score,omitempty"` // its priority
}
