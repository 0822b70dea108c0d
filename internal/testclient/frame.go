package testclient

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"strata/rpc"
)

// Frame is a frame received from the server, with the fields used by most tests.
type Frame struct {
	N   int             // number of earlier frames on its connection
	Raw json.RawMessage // the whole frame; if it is not JSON-RPC, the other fields are not set

	ID     json.RawMessage // of a response or of a request of the server, unchanged
	Result json.RawMessage // of a response
	Error  *rpc.Error      // of a response; its Data is a json.RawMessage

	Method  string // of a notification or of a request of the server
	Params  json.RawMessage
	Session string
	Kind    string // the update's sessionUpdate, or the event's type
	Message string // message id of a chunk
	Text    string // of a text chunk
	Place
	Replay bool // repeats the transcript and has no position in the events
}

// Place is the position of a notification in the events of its session.
type Place struct {
	Epoch string `json:"epoch"`
	First uint64 `json:"first"` // the first number of merged deltas, otherwise Seq
	Seq   uint64 `json:"seq"`   // 0 for none
}

// wireFrame is the union of all forms of a frame.
type wireFrame struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type wireError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// wireParams is the union of session/update and _strata/event.
type wireParams struct {
	SessionID string `json:"sessionId"`
	Update    struct {
		Kind      string          `json:"sessionUpdate"`
		MessageID string          `json:"messageId"`
		Content   json.RawMessage `json:"content"` // a block of a chunk, a list in a tool call
	} `json:"update"`
	Meta struct {
		Strata struct {
			Place
			Replay bool `json:"replay"`
		} `json:"strata"`
	} `json:"_meta"`

	Type string `json:"type"`
	Place
}

func decode(raw []byte) Frame {
	var w wireFrame
	if json.Unmarshal(raw, &w) != nil {
		return Frame{Raw: raw}
	}
	f := Frame{Raw: raw, ID: w.ID, Result: w.Result, Method: w.Method, Params: w.Params}
	if w.Error != nil {
		f.Error = &rpc.Error{Code: w.Error.Code, Message: w.Error.Message, Data: w.Error.Data}
	}
	var p wireParams
	if w.Method != "" && json.Unmarshal(w.Params, &p) == nil {
		f.describe(p)
	}
	return f
}

// describe sets the fields of a notification.
func (f *Frame) describe(p wireParams) {
	f.Session, f.Kind, f.Message = p.SessionID, p.Update.Kind, p.Update.MessageID
	f.Place, f.Replay = p.Meta.Strata.Place, p.Meta.Strata.Replay
	if f.Kind == "" {
		f.Kind, f.Place = p.Type, p.Place
	}
	if f.First == 0 {
		f.First = f.Seq
	}
	var block struct{ Type, Text string }
	if json.Unmarshal(p.Update.Content, &block) == nil && block.Type == "text" {
		f.Text = block.Text
	}
}

// The most used kinds of session/update.
const (
	UserChunk    = "user_message_chunk"
	AgentChunk   = "agent_message_chunk"
	ThoughtChunk = "agent_thought_chunk"
	Commands     = "available_commands_update"
)

// Frames are frames in the order of arrival, possibly from several consecutive connections.
type Frames []Frame

// Of returns the notifications of a session.
func (fs Frames) Of(session string) Frames {
	return fs.where(func(f Frame) bool { return f.Method != "" && f.Session == session })
}

// Kind returns the notifications of the given kind.
func (fs Frames) Kind(kind string) Frames {
	return fs.where(func(f Frame) bool { return f.Method != "" && f.Kind == kind })
}

// Text returns the joined texts of the chunks of the given kind.
func (fs Frames) Text(kind string) string {
	var text strings.Builder
	for _, f := range fs {
		if f.Kind == kind {
			text.WriteString(f.Text)
		}
	}
	return text.String()
}

func (fs Frames) where(keep func(Frame) bool) Frames {
	var kept Frames
	for _, f := range fs {
		if keep(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// Place returns the position of a client that has received these frames of a session.
func (fs Frames) Place(session string) Place {
	for _, f := range slices.Backward(fs.Of(session)) {
		if f.Seq > 0 {
			return f.Place
		}
	}
	return Place{}
}

// Faults returns gaps, repetitions and decreases in the sequence numbers of a session's notifications within an epoch.
// An attached client must see none, across all of its connections.
func (fs Frames) Faults(session string) []string {
	var faults []string
	var last Place
	for _, f := range fs.Of(session) {
		if f.Seq == 0 {
			continue
		}
		if f.Epoch == last.Epoch && f.First != last.Seq+1 {
			fault := "gap"
			if f.First <= last.Seq {
				fault = "duplicate"
			}
			faults = append(faults, fmt.Sprintf("%s: %s %d to %d follows %d", fault, f.Kind, f.First, f.Seq, last.Seq))
		}
		last = f.Place
	}
	return faults
}
