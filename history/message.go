// Package history is the vocabulary that the other packages share (messages, blocks, edits, stored records)
// and the working history: the transcript folded with its edits, as a pure function of both.
//
// It must never do I/O, read a clock or keep a goroutine.
package history

import (
	"encoding/json"
	"time"
)

// Role says who speaks in a message.
type Role string

// The roles of a message. Tool results stand in messages of their own with RoleTool,
// directly behind the assistant's message that made the calls.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Valid reports whether r is one of the roles above.
func (r Role) Valid() bool { return r == RoleUser || r == RoleAssistant || r == RoleTool }

// BlockType says what a block of a message's content is.
type BlockType string

// The block types, and the fields of Block that each uses.
const (
	BlockText       BlockType = "text"          // Text
	BlockThinking   BlockType = "thinking"      // Text, Signature
	BlockImage      BlockType = "image"         // Data, MIME, Width, Height, URI
	BlockLink       BlockType = "resource_link" // URI, Name: a link that stays text
	BlockResource   BlockType = "resource"      // URI, Text, MIME: text that the client embedded
	BlockToolCall   BlockType = "tool_call"     // CallID, Name, Args, Incomplete
	BlockToolResult BlockType = "tool_result"   // CallID, Content, IsError
)

// Block is one piece of a message's content. Which fields are set depends on Type.
type Block struct {
	Type BlockType `json:"type"`
	Text string    `json:"text,omitempty"`

	URI  string `json:"uri,omitempty"`
	Name string `json:"name,omitempty"` // title of a link, name of a tool
	MIME string `json:"mimeType,omitempty"`

	Data   []byte `json:"data,omitempty"`   // bytes of a picture, base64 in JSON
	Width  int    `json:"width,omitempty"`  // pixels; 0 where unknown
	Height int    `json:"height,omitempty"` // pixels; 0 where unknown

	Signature string `json:"signature,omitempty"` // the provider's seal on a thinking block

	CallID     string  `json:"callId,omitempty"`
	Args       string  `json:"args,omitempty"`       // a call's arguments as the model wrote them; JSON unless Incomplete
	Incomplete bool    `json:"incomplete,omitempty"` // the call's arguments were cut off; it must not be carried out
	IsError    bool    `json:"isError,omitempty"`
	Content    []Block `json:"content,omitempty"` // a tool result's content: text and pictures, never nested deeper

	Origin *Origin `json:"origin,omitempty"` // of a call or of thinking that a model wrote
}

// Origin is how the provider of a message's model wrote a block. It goes back unchanged to that provider, and to no other.
type Origin struct {
	ID    string          `json:"id,omitempty"`    // the provider's own id of a call; CallID is ours
	Field string          `json:"field,omitempty"` // the member of the wire format that thinking came in
	Extra json.RawMessage `json:"extra,omitempty"` // members of a call that we do not know: an object
}

// MessageStatus says how a message came to its end.
type MessageStatus string

// The states of a message. All but StatusComplete mark an answer that is not whole.
const (
	StatusComplete    MessageStatus = "complete"
	StatusCancelled   MessageStatus = "cancelled"   // the user stopped it
	StatusInterrupted MessageStatus = "interrupted" // the server stopped or died
	StatusFailed      MessageStatus = "failed"      // the provider failed after visible text
	StatusDamaged     MessageStatus = "damaged"     // the stored bytes cannot be read; Blocks is empty
)

// Message is one entry of a transcript. Messages are immutable once stored.
type Message struct {
	ID     string          `json:"id"`               // msg_ + ULID
	Seq    int64           `json:"seq"`              // position in the session, shared with its edits, from 1
	Turn   string          `json:"turnId,omitempty"` // turn that it belongs to; empty for appended ones
	Role   Role            `json:"role"`             //
	Blocks []Block         `json:"blocks"`           //
	Tokens int             `json:"tokens"`           // counted once, when it was appended
	At     time.Time       `json:"at"`               //
	Model  string          `json:"model,omitempty"`  // provider/model that wrote it
	Status MessageStatus   `json:"status,omitempty"` //
	Meta   json.RawMessage `json:"meta,omitempty"`   // what the client attached
}

// Head is what a session keeps in memory of a message whose content is in the store.
type Head struct {
	ID       string
	Seq      int64
	Turn     string
	Role     Role
	Status   MessageStatus
	Tokens   int
	Bytes    int  // size of the stored content in bytes
	Blocks   int  // how many blocks it has
	HasCalls bool // an assistant's message with tool calls: the RoleTool messages behind it belong to it
	At       time.Time
}

// Head returns m's head. bytes is the size of its stored content.
func (m *Message) Head(bytes int) Head {
	h := Head{ID: m.ID, Seq: m.Seq, Turn: m.Turn, Role: m.Role, Status: m.Status, Tokens: m.Tokens, Bytes: bytes, Blocks: len(m.Blocks), At: m.At}
	for i := range m.Blocks {
		h.HasCalls = h.HasCalls || m.Blocks[i].Type == BlockToolCall
	}
	return h
}

// PlainText returns the text of the text blocks of m, joined by newlines: what search and titles see.
// Texts of tool results and embedded resources are included, thinking is not.
func (m *Message) PlainText() string { return plainText(m.Blocks) }

func plainText(blocks []Block) string {
	var out []byte
	for i := range blocks {
		text := ""
		switch b := &blocks[i]; b.Type {
		case BlockText, BlockResource:
			text = b.Text
		case BlockToolResult:
			text = plainText(b.Content)
		}
		if text == "" {
			continue
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(out, text...)
	}
	return string(out)
}
