package wire

import (
	"strata/history"
	"strata/session"
	"strata/session/following"
)

// HistoryParams select a page of a list of one session.
type HistoryParams struct {
	SessionParams
	PageParams
}

// HistoryPage is the result of _strata/history/list.
type HistoryPage struct {
	Messages   []Message `json:"messages"`
	Summary    *Summary  `json:"summary,omitempty"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// Message is a message of the transcript with its visibility in the view.
type Message struct {
	history.Message
	InView bool  `json:"inView"`
	View   *View `json:"view,omitempty"` // absent if the view shows the message unchanged

	Ended *following.Ending `json:"ended,omitempty"` // of a prompt: how its newest turn ended; absent after a complete reply
}

// View describes how the view changes a message.
type View struct {
	State   history.HiddenReason `json:"state,omitempty"`  // why the message is not in view
	EditID  string               `json:"editId,omitempty"` // of the edit that removed it
	Patches []Patch              `json:"patches,omitempty"`
}

// Patch replaces the text of a block in the view.
type Patch struct {
	Block int    `json:"block"` // index into the message's blocks
	Part  int    `json:"part"`  // index into the content of a tool's result, otherwise 0
	Text  string `json:"text"`
	Saved int    `json:"saved"` // tokens
	State string `json:"state"` // duplicate, shortened
}

// Summary replaces compacted messages in the view.
type Summary struct {
	EditID   string `json:"editId"`
	Text     string `json:"text"`
	Tokens   int    `json:"tokens"`
	Messages int    `json:"messages"` // number of messages replaced
}

// NewHistoryPage returns a page of the transcript.
func NewHistoryPage(l session.List) any {
	return HistoryPage{newMessages(l.Messages, l.Fates, l.Ends), newSummary(l.Summary), SeqCursor(l.Older)}
}

// newMessages joins messages with their visibility, a list in the same order, and with the ends of their turns.
func newMessages(messages []history.Message, fates []history.Visibility, ends map[string]following.Ending) []Message {
	all := make([]Message, len(messages))
	for i := range messages {
		all[i] = Message{Message: messages[i], InView: fates[i].InView, View: newView(fates[i])}
		if end, ended := ends[messages[i].ID]; ended {
			all[i].Ended = &end
		}
	}
	return all
}

func newView(f history.Visibility) *View {
	if f.InView && len(f.Patches) == 0 {
		return nil
	}
	v := &View{State: f.Reason, EditID: f.Edit}
	for _, p := range f.Patches {
		state := "shortened"
		if p.Kind == history.EditDedupe {
			state = "duplicate"
		}
		v.Patches = append(v.Patches, Patch{Block: p.Block, Part: p.Part, Text: p.Text, Saved: p.Saved, State: state})
	}
	return v
}

func newSummary(s history.Summary) *Summary {
	if s.Text == "" {
		return nil
	}
	return &Summary{EditID: s.Edit, Text: s.Text, Tokens: s.Tokens, Messages: s.Messages}
}

// AppendParams are the parameters of _strata/history/append.
type AppendParams struct {
	SessionParams
	Messages []AppendedMessage `json:"messages"`
}

// History returns the messages for the transcript.
func (p *AppendParams) History() ([]history.Message, error) { return appended(p.Messages) }

// ReplaceParams are the parameters of _strata/history/replace: the whole working history.
type ReplaceParams struct {
	SessionParams
	Messages []AppendedMessage `json:"messages" need:"value"`
}

// maxReplaced limits the messages of a working history that are stored at once: other sessions cannot store meanwhile.
const maxReplaced = 50_000

// History returns the messages of the working history, which may be none.
func (p *ReplaceParams) History() ([]history.Message, error) {
	if len(p.Messages) > maxReplaced {
		return nil, InvalidParams("params.messages: expected at most %d", maxReplaced)
	}
	return converted(p.Messages)
}

// CountParams are the parameters of _strata/context/count: a text, messages, or both.
type CountParams struct {
	AppendParams
	Text string `json:"text"`
}

// History returns the messages to count, which may be none.
func (p *CountParams) History() ([]history.Message, error) { return converted(p.Messages) }

// NewCleared returns the result of _strata/history/clear.
func NewCleared(c session.Cleared) any {
	if c.After != "" {
		return AfterTurn(c.After)
	}
	return map[string]int64{"seq": c.Seq}
}

// NewReplaced returns the result of _strata/history/replace.
func NewReplaced(r session.Replaced) any {
	return struct {
		Seq        int64    `json:"seq"`
		MessageIDs []string `json:"messageIds"`
	}{r.Seq, r.MessageIDs}
}

// AfterTurn returns the result of a change that takes effect after the running turn.
func AfterTurn(turn string) any { return map[string]string{"afterTurn": turn} }

// NewCheckpointParams are the parameters of _strata/checkpoint/create.
type NewCheckpointParams struct {
	SessionParams
	Name string `json:"name"`
}

// CheckpointParams name a checkpoint.
type CheckpointParams struct {
	SessionParams
	CheckpointID string `json:"checkpointId" need:"content"`
}

// EditPage is the result of _strata/history/edits.
type EditPage struct {
	Edits      []session.EditInfo `json:"edits"`
	NextCursor string             `json:"nextCursor,omitempty"`
}

// CompactParams are the parameters of _strata/history/compact.
type CompactParams struct {
	SessionParams
	Strategy string `json:"strategy"`
	Keep     string `json:"keep"` // of the strategy middle
}
