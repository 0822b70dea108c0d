package wire

import (
	"time"

	"strata/session"
	"strata/session/restoring"
)

// RestoreParams are the parameters of _strata/checkpoint/restore. Exactly one of the first four is set.
type RestoreParams struct {
	SessionParams
	CheckpointID string    `json:"checkpointId"`
	Seq          int64     `json:"seq"`
	Before       string    `json:"beforeMessageId"`
	At           time.Time `json:"at"`
	Files        bool      `json:"files"`
	Preview      bool      `json:"preview"`
}

// Request returns the request to the session.
func (p *RestoreParams) Request() session.RestoreRequest {
	return session.RestoreRequest{
		Checkpoint: p.CheckpointID, Seq: p.Seq, Before: p.Before, At: p.At, Files: p.Files, Preview: p.Preview,
	}
}

// UndoParams are the parameters of _strata/checkpoint/undo.
type UndoParams struct {
	SessionParams
	Seq int64 `json:"seq"` // of the edit to undo; 0: the newest
}

// NewRestored returns the result of _strata/checkpoint/restore and _strata/checkpoint/undo.
func NewRestored(r session.Restored) any {
	if r.After != "" {
		return AfterTurn(r.After)
	}
	result := struct {
		Seq     int64 `json:"seq"`
		Removed int   `json:"removed"`
		*RestoredFiles
	}{Seq: r.Seq, Removed: r.Removed}
	if r.Files != nil {
		result.RestoredFiles = &RestoredFiles{Note: restoring.Note}
		result.add(r.Files)
	}
	return result
}

// RestoredFiles says what became of files.
type RestoredFiles struct {
	Files   []restoring.File `json:"files"`
	Omitted int              `json:"omitted,omitempty"` // files that have no room in the list
	Note    string           `json:"note,omitempty"`
}

func (r *RestoredFiles) add(d *restoring.Done) {
	r.Files = []restoring.File{}
	if d != nil {
		r.Files, r.Omitted = append(r.Files, d.Files...), d.Omitted
	}
}

// NewReverted returns the result of _strata/changes/revert.
func NewReverted(d *restoring.Done) any {
	var r RestoredFiles
	r.add(d)
	return r
}

// RevertParams are the parameters of _strata/changes/revert.
type RevertParams struct {
	SessionParams
	ChangeIDs []string `json:"changeIds" need:"value"`
	Forward   bool     `json:"forward"`
	Preview   bool     `json:"preview"`
}

// maxReverted is the maximum number of changes in one request.
const maxReverted = 1000

func (p *RevertParams) validate() error {
	if n := len(p.ChangeIDs); n == 0 || n > maxReverted {
		return InvalidParams("params.changeIds: must have 1 to %d elements, not %d", maxReverted, n)
	}
	return nil
}

// Request returns the request to the session.
func (p *RevertParams) Request() session.RevertRequest {
	return session.RevertRequest{IDs: p.ChangeIDs, Forward: p.Forward, Preview: p.Preview}
}

// ChangesParams are the parameters of _strata/turn/changes.
type ChangesParams struct {
	HistoryParams
	TurnID string `json:"turnId"` // empty: the newest turns with changes
}

// ChangesPage is the result of _strata/turn/changes.
type ChangesPage struct {
	Changes    []restoring.Change `json:"changes"`
	Omitted    int                `json:"omitted,omitempty"` // changes that have no room in the page
	NextCursor string             `json:"nextCursor,omitempty"`
}

// NewChangesPage returns a page of file changes.
func NewChangesPage(p restoring.Page) ChangesPage {
	return ChangesPage{Changes: p.Changes, Omitted: p.Omitted, NextCursor: SeqCursor(p.Older)}
}
