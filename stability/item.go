package stability

import "fmt"

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
	// Version identifies the text of a file that messages can tell of, whatever its line ends; "" if they cannot: a file that is
	// shown in part, with line numbers, or is not saved. It is not stored.
	Version string `json:"-"`
	// Moves are the changes of files that a message tells, in their order. They are not stored.
	Moves []Move `json:"-"`
	// Partial is set for a file of which only a range is shown. Diffs from or to partial files are not made.
	Partial bool `json:"partial,omitempty"`
	// User is set for messages written by the user. Context updates precede the newest of them.
	User bool `json:"user,omitempty"`
	// Open is set for messages that end with results of tools: the assistant has not replied to them.
	Open bool `json:"open,omitempty"`
	// Alone is set for content that must be a message of its own: a summary.
	Alone bool `json:"alone,omitempty"`
	// Run is set for items that stay together, in the given order, directly before the messages. No unused entry of them
	// is kept: if one changes, the run is laid out again from there.
	Run bool `json:"run,omitempty"`
	// Unmarkable forbids a cache mark at the end of the item, because it ends with thinking.
	Unmarkable bool `json:"unmarkable,omitempty"`
}

// Move is a change of a file that a message tells completely: the model made it, and the message has its call and its result. A
// reader who knows the version From knows the version To.
type Move struct {
	Key      string // of the file
	From, To string // see Item.Version. "" for a version that a reader of the message cannot know
}

// inStream reports whether the order of the item among others is fixed: it is part of a run or of the conversation.
func (it *Item) inStream() bool { return it.Run || it.Kind.inConversation() }

func (it *Item) blocks() int { return max(it.Blocks, 1) }

// maxTokens is the maximum size of an item, in tokens and in blocks. It prevents overflows in sums and prices.
const maxTokens = 1 << 24

func (it *Item) check() error {
	switch {
	case it.Key == "":
		return fmt.Errorf("%s item without a key", it.Kind)
	case it.Hash == "":
		return fmt.Errorf("item %s has no hash", it.Key)
	case it.Tokens < 0 || it.Tokens > maxTokens || it.Blocks < 0 || it.Blocks > maxTokens:
		return fmt.Errorf("item %s: invalid size of %d tokens, %d blocks", it.Key, it.Tokens, it.Blocks)
	case it.Run && it.Kind != Document && it.Kind != Summary:
		return fmt.Errorf("item %s: a %s in a run", it.Key, it.Kind)
	case it.Kind == File && it.Rev == "":
		return fmt.Errorf("file %s has no revision", it.Key)
	case it.Version != "" && (it.Kind != File || it.Partial):
		return fmt.Errorf("item %s: messages cannot tell of it, but it has a version", it.Key)
	case len(it.Moves) > 0 && it.Kind != Message:
		return fmt.Errorf("item %s: a %s with changes of files", it.Key, it.Kind)
	}
	switch it.Kind {
	case Tools, System, Document, Outline, File, Note, Summary, Message:
		return nil
	}
	return fmt.Errorf("item %s: unknown kind %q", it.Key, it.Kind)
}
