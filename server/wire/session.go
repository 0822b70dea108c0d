package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"strata/history"
	"strata/internal/exact"
	"strata/session"
)

// AttachParams are the parameters of _strata/session/attach.
type AttachParams struct {
	SessionParams
	Epoch string   `json:"epoch"`
	After LastSeen `json:"after"` // the last event received in that epoch
	Own   bool     `json:"own"`   // also send the messages that this connection adds
	HeldWorkspace
}

func (p *AttachParams) validate() error { return p.check("params") }

// LastSeen is the sequence number of the last event that a client has received.
type LastSeen uint64

// UnmarshalJSON decodes an integer. A number that no event can have becomes one that no log reaches.
func (s *LastSeen) UnmarshalJSON(raw []byte) error {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && n >= 0 {
		*s = LastSeen(n)
		return nil
	}
	if len(bytes.Trim(raw, "-0123456789")) > 0 {
		return exact.Want("must be a whole number")
	}
	*s = math.MaxUint64
	return nil
}

// AttachResult is the result of _strata/session/attach.
type AttachResult struct {
	Epoch    string    `json:"epoch"`
	Seq      uint64    `json:"seq"`
	Running  *string   `json:"running"` // id of the running turn
	Complete bool      `json:"complete"`
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// Snapshot is the present state of a session. NextCursor is the cursor of _strata/history/list for older messages. If
// the text of the running turn is long, its rest follows as updates.
type Snapshot struct {
	Session    SessionInfo    `json:"session"`
	Config     history.Config `json:"config"`
	Totals     history.Totals `json:"totals"`
	Messages   []Message      `json:"messages"`
	Summary    *Summary       `json:"summary,omitempty"`
	NextCursor string         `json:"nextCursor,omitempty"`
	Running    any            `json:"running,omitempty"`
	Compacting string         `json:"compacting,omitempty"` // id of the running compaction
	Unsaved    bool           `json:"unsaved,omitempty"`
	Notices    []string       `json:"notices,omitempty"`
}

// NewAttached returns the result of _strata/session/attach.
func NewAttached(a session.Attached) AttachResult {
	result := AttachResult{Epoch: a.Epoch, Seq: a.Seq, Complete: a.Complete}
	if a.Running != "" {
		result.Running = &a.Running
	}
	if snap := a.Snapshot; snap != nil {
		result.Snapshot = &Snapshot{
			Session: NewSessionInfo(snap.Session), Config: snap.Config, Totals: snap.Totals,
			Messages: newMessages(snap.Messages, snap.Fates, snap.Ends), Summary: newSummary(snap.Summary),
			NextCursor: SeqCursor(snap.Older), Compacting: snap.Compacts, Unsaved: snap.Unsaved, Notices: snap.Notices,
		}
		if snap.Running != nil {
			result.Snapshot.Running = snap.Running
		}
	}
	return result
}

// DetachParams are the parameters of _strata/session/detach.
type DetachParams struct {
	SessionParams
	Unsubscribe bool `json:"unsubscribe"` // from session/update too
}

// SessionDetails is the result of _strata/session/info.
type SessionDetails struct {
	Session   SessionInfo    `json:"session"`
	CreatedAt time.Time      `json:"createdAt"`
	DeletedAt time.Time      `json:"deletedAt,omitzero"`
	State     string         `json:"state"` // loading, idle, running, compacting, closed, deleted
	Running   string         `json:"running,omitempty"`
	Unsaved   bool           `json:"unsaved,omitempty"`
	Config    history.Config `json:"config"`
	Window    int            `json:"window"` // tokens
	Epoch     string         `json:"epoch"`
	Seq       uint64         `json:"seq"`
	Messages  int            `json:"messages"`
	InView    int            `json:"inView"`
	Tokens    int            `json:"historyTokens"`
	Files     int            `json:"files"`
	Totals    history.Totals `json:"totals"`
	Notices   []string       `json:"notices,omitempty"`
}

// NewSessionDetails returns the result of _strata/session/info.
func NewSessionDetails(i session.Info) SessionDetails {
	return SessionDetails{
		Session: NewSessionInfo(i.Session), CreatedAt: i.Session.CreatedAt.UTC(), DeletedAt: i.Session.DeletedAt,
		State: string(i.State), Running: i.Running, Unsaved: i.Unsaved, Config: i.Config, Window: i.Model.Window,
		Epoch: i.Epoch, Seq: i.Seq, Messages: i.Messages, InView: i.InView, Tokens: i.Tokens, Files: i.Files,
		Totals: i.Totals, Notices: i.Notices,
	}
}

// RenameParams are the parameters of _strata/session/rename.
type RenameParams struct {
	SessionParams
	Title string `json:"title" need:"value"`
}

// ForkParams are the parameters of _strata/session/fork.
type ForkParams struct {
	SessionParams
	At ForkPoint `json:"at"`
	HeldWorkspace
}

func (p *ForkParams) validate() error { return p.check("params") }

// ForkPoint is the state to fork: a checkpoint, a sequence number, or, as the zero value, the newest one.
type ForkPoint session.ForkRequest

// UnmarshalJSON decodes a string as the id of a checkpoint and an integer as a sequence number.
func (f *ForkPoint) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &f.Checkpoint)
	}
	if err := json.Unmarshal(raw, &f.Seq); err != nil {
		return exact.Want("must be the id of a checkpoint or a sequence number")
	}
	return nil
}
