package server

import (
	"encoding/json"
	"fmt"
	"strings"

	"strata/history"
	"strata/rpc"
	"strata/session"
)

// The names of our notifications.
const (
	methodUpdate = "session/update"
	methodEvent  = "_strata/event"
)

// encode returns an event as the notification that carries it; ok is false where this client has no
// use for it.
func (f *feed) encode(e session.Event) (n rpc.Notification, ok bool, err error) {
	if update, ok := f.update(&e); ok {
		if update == nil {
			return rpc.Notification{}, false, nil
		}
		place := placeMeta{Epoch: f.session.Epoch(), Seq: e.Seq, Replay: e.Seq == 0}
		if e.First != e.Seq {
			place.First = e.First
		}
		return notification(methodUpdate, e.Seq, sessionNotification{
			SessionID: f.session.ID(), Update: update, Meta: updateMeta{Strata: place},
		})
	}
	fields, err := f.event(&e)
	if err != nil {
		return rpc.Notification{}, false, err
	}
	return notification(methodEvent, e.Seq, fields)
}

func notification(method string, seq uint64, params any) (rpc.Notification, bool, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Notification{}, false, fmt.Errorf("encode %s: %w", method, err)
	}
	return rpc.Notification{Method: method, Params: raw, Seq: seq}, true, nil
}

// update returns an event as an update of ACP. ok is false for events that are none, and the update is
// nil for one that this client did not ask for.
func (f *feed) update(e *session.Event) (update any, ok bool) {
	switch e.Kind {
	case session.EventText:
		return textChunk("agent_message_chunk", e), true
	case session.EventThought:
		return textChunk("agent_thought_chunk", e), true
	case session.EventBlock:
		return blockUpdate(e), true
	case session.EventUsage:
		u := e.Data.(session.UsageInfo)
		return usageUpdate{Kind: "usage_update", Used: u.Used, Size: u.Size, Cost: cost{Amount: u.Cost, Currency: "USD"}}, true
	case session.EventInfo:
		i := e.Data.(session.TitleInfo)
		return infoUpdate{Kind: "session_info_update", Title: i.Title, UpdatedAt: i.UpdatedAt}, true
	case session.EventOptions:
		return optionsUpdate{Kind: "config_option_update", Options: f.peer.server.options(e.Data.(session.Info))}, true
	case session.EventCompactionUpdate:
		if !f.peer.compaction {
			return nil, true
		}
		return wireCompaction(e.Data.(session.Compacted)), true
	case session.EventSummaryChunk:
		if !f.peer.compaction {
			return nil, true
		}
		return summaryChunk{Kind: "compaction_summary_chunk", ID: e.Message, Content: contentBlock{Type: "text", Text: &e.Text}}, true
	case session.EventMode:
		return modeUpdate{Kind: "current_mode_update", Current: e.Text}, true
	case session.EventNotice:
		if !f.peer.notices {
			return nil, true
		}
		return noticeUpdate{Kind: "notice", Severity: "warning", Title: e.Text}, true
	}
	return nil, false
}

func textChunk(kind string, e *session.Event) chunkUpdate {
	return chunkUpdate{Kind: kind, Content: contentBlock{Type: "text", Text: &e.Text}, MessageID: e.Message}
}

// blockUpdate returns a block of a message as an update.
func blockUpdate(e *session.Event) any {
	switch b := e.Block; b.Type {
	case history.BlockToolCall:
		return toolCallUpdate{
			Kind: "tool_call", ID: b.CallID, Title: b.Name, ToolKind: "other", Status: callStatus(b), Input: rawArgs(b),
		}
	case history.BlockToolResult:
		status := "completed"
		if b.IsError {
			status = "failed"
		}
		return toolCallUpdate{Kind: "tool_call_update", ID: b.CallID, Status: status, Content: toolContents(b.Content)}
	default:
		kind := "user_message_chunk"
		if e.Role == history.RoleAssistant {
			kind = "agent_message_chunk"
		}
		return chunkUpdate{Kind: kind, Content: wireBlock(b), MessageID: e.Message}
	}
}

func callStatus(b *history.Block) string {
	if b.Incomplete {
		return "failed"
	}
	return "pending"
}

// rawArgs returns a call's arguments as JSON where they are that, as text otherwise.
func rawArgs(b *history.Block) any {
	if json.Valid([]byte(b.Args)) {
		return json.RawMessage(b.Args)
	}
	return b.Args
}

// maxToolText bounds the text of a tool's result in an update, in bytes. _strata/history/list has all of it.
const maxToolText = 40 << 10

func toolContents(blocks []history.Block) []toolContent {
	contents := make([]toolContent, 0, len(blocks))
	for i := range blocks {
		b := blocks[i]
		if cut := len(b.Text) - maxToolText; cut > 0 {
			b.Text = strings.ToValidUTF8(b.Text[:maxToolText], "") + fmt.Sprintf("\n[%d more bytes in the transcript]", cut)
		}
		contents = append(contents, toolContent{Type: "content", Content: wireBlock(&b)})
	}
	return contents
}

// wireBlock returns a block of content as ACP has it.
func wireBlock(b *history.Block) contentBlock {
	switch b.Type {
	case history.BlockImage:
		return contentBlock{Type: "image", Data: b.Data, MIMEType: b.MIME, URI: b.URI}
	case history.BlockLink:
		return contentBlock{Type: "resource_link", URI: b.URI, Name: b.Name, MIMEType: b.MIME}
	case history.BlockResource:
		return contentBlock{Type: "resource", Resource: &embeddedResource{URI: b.URI, MIMEType: b.MIME, Text: &b.Text}}
	default:
		return contentBlock{Type: "text", Text: &b.Text}
	}
}

// event returns an event as the parameters of _strata/event: its payload's fields beside our own.
func (f *feed) event(e *session.Event) (map[string]any, error) {
	fields := make(map[string]any)
	if e.Data != nil {
		payload, err := json.Marshal(e.Data)
		if err != nil {
			return nil, fmt.Errorf("encode event %s: %w", e.Kind, err)
		}
		var own map[string]json.RawMessage
		if err := json.Unmarshal(payload, &own); err != nil {
			return nil, fmt.Errorf("encode event %s: %w", e.Kind, err)
		}
		for name, value := range own {
			fields[name] = value
		}
	}
	fields["sessionId"], fields["epoch"], fields["seq"], fields["type"] = f.session.ID(), f.session.Epoch(), e.Seq, e.Kind
	if e.First != e.Seq {
		fields["first"] = e.First
	}
	if e.Turn != "" {
		fields["turnId"] = e.Turn
	}
	return fields, nil
}
