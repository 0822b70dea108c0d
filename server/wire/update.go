package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/rpc"
	"strata/session"
	"strata/session/compacting"
	"strata/session/events"
	"strata/session/tools"
)

// SessionNotification holds the parameters of session/update.
type SessionNotification struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
	Meta      struct {
		Strata Position `json:"strata"`
	} `json:"_meta"`
}

// Position is the place of a notification in the events of a session. First is set if deltas were merged; Seq is
// absent if the notification replays the transcript.
type Position struct {
	Epoch  string `json:"epoch"`
	First  uint64 `json:"first,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
	Replay bool   `json:"replay,omitempty"`
	Own    bool   `json:"own,omitempty"` // the client has added the message itself

	Command  string `json:"command,omitempty"`  // of which the notification is the output
	PromptID string `json:"promptId,omitempty"` // of the prompt with the command
}

// The updates of ACP. Kind names the type of the update.
type (
	// ChunkUpdate adds content to a message.
	ChunkUpdate struct {
		Kind      string       `json:"sessionUpdate"`
		Content   ContentBlock `json:"content"`
		MessageID string       `json:"messageId"`
	}

	// ToolCallUpdate is a tool call or its result.
	ToolCallUpdate struct {
		Kind     string          `json:"sessionUpdate,omitempty"` // empty in a question about the call
		ID       string          `json:"toolCallId"`
		Title    string          `json:"title,omitempty"`
		ToolKind string          `json:"kind,omitempty"`
		Status   string          `json:"status"`
		Input    json.RawMessage `json:"rawInput,omitempty"`
		Content  []any           `json:"content,omitempty"` // each a ToolContent, a ToolDiff or a ToolTerminal

		Locations []history.Location `json:"locations,omitempty"`
		Meta      *CallMeta          `json:"_meta,omitempty"` // of an announcement, of output, and of a call that Strata has ended
	}

	// CallMeta is the part of a tool call that ACP does not define.
	CallMeta struct {
		Strata struct {
			MessageID string              `json:"messageId,omitempty"` // of the message with the call
			Outcome   history.CallOutcome `json:"outcome,omitempty"`
			Output    *OutputMeta         `json:"output,omitempty"` // of a running call, of which the content is the newest output
		} `json:"strata"`
	}

	// OutputMeta is the position of a running call's content in its whole output.
	OutputMeta struct {
		End int64 `json:"end"` // size of all output so far, in bytes: the content ends there
	}

	// PlanUpdate is what the model plans to do.
	PlanUpdate struct {
		Kind    string              `json:"sessionUpdate"`
		Entries []history.PlanEntry `json:"entries"`
	}

	// ToolContent is a part of a tool's result.
	ToolContent struct {
		Type    string       `json:"type"`
		Content ContentBlock `json:"content"`
	}

	// ToolTerminal is a terminal of the client in which a call runs.
	ToolTerminal struct {
		Type string `json:"type"`
		ID   string `json:"terminalId"`
	}

	// ToolDiff is a hunk of a file that a call changes, or would change.
	ToolDiff struct {
		Type    string   `json:"type"`
		Path    string   `json:"path"`
		OldText *string  `json:"oldText"` // nil: there was no file
		NewText string   `json:"newText"`
		Meta    DiffMeta `json:"_meta"`
	}

	// DiffMeta is the part of a diff that ACP does not define.
	DiffMeta struct {
		Strata struct {
			OldLine int  `json:"oldLine"` // the first one of the hunk, from 1
			NewLine int  `json:"newLine"` // likewise
			Deleted bool `json:"deleted,omitempty"`
			Cut     bool `json:"cut,omitempty"` // parts of the diff are omitted for its size
		} `json:"strata"`
	}

	// UsageUpdate reports the tokens used and the size of the window, and the cost of the session.
	UsageUpdate struct {
		Kind string `json:"sessionUpdate"`
		Used int    `json:"used"`
		Size int    `json:"size"`
		Cost Cost   `json:"cost"`
	}

	// Cost is an amount of money.
	Cost struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	}

	// InfoUpdate reports a new title.
	InfoUpdate struct {
		Kind      string    `json:"sessionUpdate"`
		Title     string    `json:"title"`
		UpdatedAt time.Time `json:"updatedAt"`
	}

	// OptionsUpdate reports the options after one has changed.
	OptionsUpdate struct {
		Kind    string         `json:"sessionUpdate"`
		Options []ConfigOption `json:"configOptions"`
	}

	// ModeUpdate reports the phase in force.
	ModeUpdate struct {
		Kind    string `json:"sessionUpdate"`
		Current string `json:"currentModeId"`
	}

	// NoticeUpdate is a message to the user.
	NoticeUpdate struct {
		Kind     string `json:"sessionUpdate"`
		Severity string `json:"severity"`
		Title    string `json:"title"`
	}

	// CompactionUpdate is the state of a compaction. Its summary, even an empty one, replaces all chunks sent before.
	CompactionUpdate struct {
		Kind    string         `json:"sessionUpdate"`
		ID      string         `json:"compactionId"`
		Status  string         `json:"status"` // in_progress, completed, failed, cancelled
		Summary []ContentBlock `json:"summary"`
		Error   string         `json:"error,omitempty"`
	}

	// SummaryChunk adds text to the summary of a running compaction.
	SummaryChunk struct {
		Kind    string       `json:"sessionUpdate"`
		ID      string       `json:"compactionId"`
		Content ContentBlock `json:"content"`
	}
)

// EventUnsubscribed is the last event of a subscription that ends although its session goes on.
const EventUnsubscribed events.Kind = "unsubscribed"

// Encoder encodes the events of one session for one client.
type Encoder struct {
	SessionID, Epoch string
	Client           Capabilities
	Identity         any            // of the client; terminals with this owner are sent as terminals
	Models           func() []Model // on offer, for the session's options

	buf []byte // of the last chunk
}

// Encode returns the notification for an event; ok is false if the client does not receive the event. The notification is
// valid until the next call.
func (c *Encoder) Encode(e *events.Event) (n rpc.Notification, ok bool, err error) {
	if kind, text, ok := chunk(e); ok {
		return c.chunk(e, kind, text), true, nil
	}
	return c.encode(e)
}

// encode is Encode for events of any kind, by encoding/json.
func (c *Encoder) encode(e *events.Event) (n rpc.Notification, ok bool, err error) {
	update, isUpdate := c.update(e)
	switch {
	case !isUpdate:
		fields, err := c.event(e)
		if err != nil {
			return rpc.Notification{}, false, err
		}
		n, err = notification(MethodEvent, e.Seq, fields)
		return n, err == nil, err
	case update == nil:
		return rpc.Notification{}, false, nil
	}
	params := SessionNotification{SessionID: c.SessionID, Update: update}
	params.Meta.Strata = Position{Epoch: c.Epoch, Seq: e.Seq, Replay: e.Seq == 0, Own: c.owns(e)}
	if e.First != e.Seq {
		params.Meta.Strata.First = e.First
	}
	n, err = notification(MethodUpdate, e.Seq, params)
	return n, err == nil, err
}

// owns reports whether an event is caused by the client.
func (c *Encoder) owns(e *events.Event) bool { return e.Origin != nil && any(e.Origin) == c.Identity }

// update returns an event as an update of ACP. ok is false if ACP has no update for it; the update is nil if the client
// cannot show it.
func (c *Encoder) update(e *events.Event) (update any, ok bool) {
	switch e.Kind {
	case events.Text:
		return ChunkUpdate{Kind: chunkOfReply, Content: textBlock(e.Text), MessageID: e.Message}, true
	case events.Thought:
		return ChunkUpdate{Kind: chunkOfThought, Content: textBlock(e.Text), MessageID: e.Message}, true
	case events.Block:
		return blockUpdate(e), true
	case events.Usage:
		u := e.Data.(events.UsageInfo)
		return UsageUpdate{Kind: "usage_update", Used: u.Used, Size: u.Size, Cost: Cost{Amount: u.Cost, Currency: "USD"}}, true
	case events.Info:
		i := e.Data.(events.TitleInfo)
		return InfoUpdate{Kind: "session_info_update", Title: i.Title, UpdatedAt: i.UpdatedAt}, true
	case events.Options:
		return OptionsUpdate{Kind: "config_option_update", Options: ConfigOptions(e.Data.(session.Info), c.Models())}, true
	case events.Mode:
		return ModeUpdate{Kind: "current_mode_update", Current: e.Text}, true
	case events.CallUpdate:
		return c.callUpdate(e.Data.(tools.Progress)), true
	case events.Plan:
		return PlanUpdate{Kind: "plan", Entries: e.Data.(events.PlanInfo).Entries}, true
	case events.CompactionUpdate:
		if c.Client.Compaction {
			update = compactionUpdate(e.Data.(compacting.Result))
		}
		return update, true
	case events.SummaryChunk:
		if c.Client.Compaction {
			update = SummaryChunk{Kind: "compaction_summary_chunk", ID: e.Message, Content: textBlock(e.Text)}
		}
		return update, true
	case events.Notice:
		if c.Client.Notices {
			update = NoticeUpdate{Kind: "notice", Severity: "warning", Title: e.Text}
		}
		return update, true
	}
	return nil, false
}

// blockUpdate returns a block of a message as an update.
func blockUpdate(e *events.Event) any {
	switch b := e.Block; b.Type {
	case history.BlockToolCall:
		update := ToolCallUpdate{Kind: "tool_call", ID: b.CallID, Title: b.Name, ToolKind: string(tools.KindOf(b.Name)), Status: "pending", Meta: new(CallMeta)}
		update.Meta.Strata.MessageID = e.Message
		update.Input = tools.ShownInput(b.Args)
		if b.Incomplete {
			update.Status = "failed"
		}
		return update
	case history.BlockToolResult:
		update := ToolCallUpdate{Kind: "tool_call_update", ID: b.CallID, Status: "completed", Content: toolContents(b.Content)}
		if b.IsError {
			update.Status = "failed"
		}
		if b.Call != nil {
			update.Content = withDiffs(b.Call.Diffs, update.Content)
			update.Title, update.ToolKind, update.Locations = b.Call.Title, b.Call.Kind, b.Call.Locations
			update.Meta = outcomeMeta(b.Call)
		}
		return update
	default:
		return ChunkUpdate{Kind: chunkOf(e.Role), Content: contentOf(b), MessageID: e.Message}
	}
}

// outcomeMeta returns the outcome of a call that Strata has ended, nil for other calls.
func outcomeMeta(shown *history.CallShown) *CallMeta {
	if shown.Outcome == "" {
		return nil
	}
	m := new(CallMeta)
	m.Strata.Outcome = shown.Outcome
	return m
}

// callUpdate returns the state of a call that runs.
func callUpdate(p tools.Progress) ToolCallUpdate {
	shown := p.Shown()
	update := ToolCallUpdate{
		Kind: "tool_call_update", ID: p.CallID, Status: string(p.Status), Title: shown.Title, ToolKind: shown.Kind, Locations: shown.Locations,
		Input: p.Input, Meta: outcomeMeta(shown),
	}
	if p.Result != nil {
		update.Content = toolContents(p.Result.Content)
	}
	update.Content = withDiffs(p.Diffs, update.Content)
	return update
}

// callUpdate is callUpdate with what the call puts out: for the client that owns the terminal in which the call runs this
// terminal, for others the newest part as text until there is a result.
func (c *Encoder) callUpdate(p tools.Progress) ToolCallUpdate {
	update := callUpdate(p)
	switch o := p.Output; {
	case o == nil:
	case o.Terminal != nil && o.Terminal.Owner != nil && o.Terminal.Owner == c.Identity:
		update.Content = []any{ToolTerminal{Type: "terminal", ID: o.Terminal.ID}}
	case p.Result == nil:
		update.Meta = new(CallMeta)
		update.Meta.Strata.Output = &OutputMeta{End: o.End}
		if o.Text != "" {
			update.Content = []any{ToolContent{Type: "content", Content: textBlock(o.Text)}}
		}
	}
	return update
}

// withDiffs returns the content of a call with its diffs before it. The first text of a result says what was done; the rest
// tells the model what the diffs show.
func withDiffs(diffs []history.Diff, content []any) []any {
	if len(diffs) == 0 {
		return content
	}
	var all []any
	for i := range diffs {
		all = append(all, hunksOf(&diffs[i])...)
	}
	return append(all, content[:min(len(content), 1)]...)
}

// hunksOf returns a diff as clients are shown it: an empty hunk if it has none.
func hunksOf(d *history.Diff) (hunks []any) {
	texts := d.Hunks
	if len(texts) == 0 {
		texts = []history.TextHunk{{OldStart: 1, NewStart: 1}}
	}
	for i := range texts {
		h := ToolDiff{Type: "diff", Path: d.Path, OldText: &texts[i].Old, NewText: texts[i].New}
		if d.Created {
			h.OldText = nil
		}
		h.Meta.Strata.OldLine, h.Meta.Strata.NewLine = texts[i].OldStart, texts[i].NewStart
		h.Meta.Strata.Deleted, h.Meta.Strata.Cut = d.Deleted, d.Cut
		hunks = append(hunks, h)
	}
	return hunks
}

// The kinds of a ChunkUpdate.
const (
	chunkOfPrompt  = "user_message_chunk"
	chunkOfReply   = "agent_message_chunk"
	chunkOfThought = "agent_thought_chunk"
)

func chunkOf(role history.Role) string {
	if role == history.RoleAssistant {
		return chunkOfReply
	}
	return chunkOfPrompt
}

func compactionUpdate(c compacting.Result) CompactionUpdate {
	u := CompactionUpdate{Kind: "compaction_update", ID: c.ID, Summary: []ContentBlock{}}
	if c.Summary != "" {
		u.Summary = []ContentBlock{textBlock(c.Summary)}
	}
	switch compaction.Result(c.Outcome) {
	case compaction.Compacted, compaction.NothingToDo, compaction.NoGain:
		u.Status = "completed"
	case compaction.Failed:
		u.Status, u.Error = "failed", c.Reason
	case compacting.Running:
		u.Status = "in_progress"
	default: // by the user, by another edit of the view, or by the end of the server
		u.Status = "cancelled"
	}
	return u
}

// event returns an event as the parameters of _strata/event: the fields of its payload, and our own.
func (c *Encoder) event(e *events.Event) (map[string]any, error) {
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
	fields["sessionId"], fields["epoch"], fields["type"] = c.SessionID, c.Epoch, e.Kind
	if e.Seq != 0 {
		fields["seq"] = e.Seq
	}
	if e.First != e.Seq {
		fields["first"] = e.First
	}
	if e.Turn != "" {
		fields["turnId"] = e.Turn
	}
	return fields, nil
}
