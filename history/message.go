// Package history defines the types shared by the other packages (messages, blocks, edits, stored records) and computes
// the working history: the transcript with its edits applied, as a pure function of both.
//
// It must never do I/O, read a clock or start a goroutine.
package history

import (
	"encoding/json"
	"time"
)

// Role is the role of a message's author.
type Role string

// The roles of a message. Tool results are in separate messages with RoleTool, directly after the assistant's message
// with the calls.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Valid reports whether r is one of the roles above.
func (r Role) Valid() bool { return r == RoleUser || r == RoleAssistant || r == RoleTool }

// BlockType is the type of a block.
type BlockType string

// The block types, and the fields of Block that each uses.
const (
	BlockText       BlockType = "text"          // Text
	BlockThinking   BlockType = "thinking"      // Text, Signature
	BlockImage      BlockType = "image"         // Data, MIME, Width, Height, URI
	BlockLink       BlockType = "resource_link" // URI, Name: a link that is not resolved
	BlockResource   BlockType = "resource"      // URI, Text, MIME: text embedded by the client
	BlockToolCall   BlockType = "tool_call"     // CallID, Name, Args, Incomplete
	BlockToolResult BlockType = "tool_result"   // CallID, Content, IsError, Call
)

// Block is one part of a message's content. Type determines which fields are set.
type Block struct {
	Type BlockType `json:"type"`
	Text string    `json:"text,omitempty"`

	URI  string `json:"uri,omitempty"`
	Name string `json:"name,omitempty"` // title of a link, name of a tool
	MIME string `json:"mimeType,omitempty"`

	Allow    bool `json:"-"` // of a link in a prompt: the user allows a file that looks like a secret
	Required bool `json:"-"` // of a link in a prompt: without its file, the prompt is refused

	Data   []byte `json:"data,omitempty"`   // bytes of an image, base64 in JSON
	Width  int    `json:"width,omitempty"`  // pixels; 0 if unknown
	Height int    `json:"height,omitempty"` // pixels; 0 if unknown

	Signature string `json:"signature,omitempty"` // the provider's signature of a thinking block

	CallID     string  `json:"callId,omitempty"`
	Args       string  `json:"args,omitempty"`       // arguments of a call as written by the model; JSON unless Incomplete
	Incomplete bool    `json:"incomplete,omitempty"` // the arguments of the call are truncated; it must not be executed
	IsError    bool    `json:"isError,omitempty"`
	Content    []Block `json:"content,omitempty"` // content of a tool result: only text and images

	Origin *Origin    `json:"origin,omitempty"` // of a call or thinking written by a model
	Call   *CallShown `json:"call,omitempty"`   // of a tool result

	File  *FileLines  `json:"file,omitempty"`  // of a text in a tool result that is these lines of a file, fenced below a heading
	Shows []FileLines `json:"shows,omitempty"` // of any other text in a tool result: lines of files that it or its call contains unchanged
}

// Origin preserves the provider's own form of a block. It is sent back unchanged to this provider and to no other.
type Origin struct {
	ID    string          `json:"id,omitempty"`    // the provider's own id of a call; CallID is ours
	Field string          `json:"field,omitempty"` // the member of the wire format that contained thinking
	Extra json.RawMessage `json:"extra,omitempty"` // unknown members of a call: an object
}

// MessageStatus is the status of a message.
type MessageStatus string

// The states of a message. All except StatusComplete mark an incomplete message.
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
	Turn   string          `json:"turnId,omitempty"` // its turn; empty for appended messages
	Role   Role            `json:"role"`             //
	Blocks []Block         `json:"blocks"`           //
	Tokens int             `json:"tokens"`           // counted once, when it is appended
	At     time.Time       `json:"at"`               //
	Model  string          `json:"model,omitempty"`  // author, as provider/model
	Status MessageStatus   `json:"status,omitempty"` //
	Meta   json.RawMessage `json:"meta,omitempty"`   // attached by the client
}

// Head is the part of a message that a session keeps in memory; the content is in the store.
type Head struct {
	ID       string
	Seq      int64
	Turn     string
	Role     Role
	Status   MessageStatus
	Tokens   int
	Bytes    int  // size of the stored content in bytes
	Blocks   int  // number of blocks
	HasCalls bool // an assistant's message with tool calls: the RoleTool messages after it belong to it
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

// PlainText returns the texts of m, joined by newlines, for search and titles. It includes tool results and embedded
// resources, but not thinking.
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
