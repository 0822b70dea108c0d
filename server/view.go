package server

import "strata/history"

// wireMessage is a message of the transcript and what the view does to it.
type wireMessage struct {
	history.Message
	InView bool      `json:"inView"`
	View   *wireView `json:"view,omitempty"` // where the view does not show it as it is
}

// wireView says what the view does to a message.
type wireView struct {
	State   history.FateReason `json:"state,omitempty"`  // why it is not in view
	EditID  string             `json:"editId,omitempty"` // the edit that took it out
	Patches []wirePatch        `json:"patches,omitempty"`
}

// wirePatch is a block that is shown differently.
type wirePatch struct {
	Block int    `json:"block"` // index in the message's blocks
	Part  int    `json:"part"`  // index in the content of a tool's result, otherwise 0
	Text  string `json:"text"`
	Saved int    `json:"saved"` // tokens
	State string `json:"state"` // duplicate, shortened
}

// wireSummary is what stands in the view for messages that were compacted.
type wireSummary struct {
	EditID   string `json:"editId"`
	Text     string `json:"text"`
	Tokens   int    `json:"tokens"`
	Messages int    `json:"messages"` // for how many it stands
}

// wireMessages joins messages with what the view does to each.
func wireMessages(messages []history.Message, fates []history.Fate) []wireMessage {
	all := make([]wireMessage, len(messages))
	for i := range messages {
		all[i] = wireMessage{Message: messages[i], InView: fates[i].InView, View: viewOf(fates[i])}
	}
	return all
}

func viewOf(f history.Fate) *wireView {
	if f.InView && len(f.Patches) == 0 {
		return nil
	}
	v := &wireView{State: f.Reason, EditID: f.Edit}
	for _, p := range f.Patches {
		state := "shortened"
		if p.Kind == history.EditDedupe {
			state = "duplicate"
		}
		v.Patches = append(v.Patches, wirePatch{Block: p.Block, Part: p.Part, Text: p.Text, Saved: p.Saved, State: state})
	}
	return v
}

func summaryInView(s history.Summary) *wireSummary {
	if s.Text == "" {
		return nil
	}
	return &wireSummary{EditID: s.Edit, Text: s.Text, Tokens: s.Tokens, Messages: s.Messages}
}
