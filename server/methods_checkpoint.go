package server

import (
	"strata/history"
	"strata/rpc"
	"strata/session"
)

type checkpointParams struct {
	sessionParams
	Name         string `json:"name"`
	CheckpointID string `json:"checkpointId"`
}

func createCheckpoint(p *peer, r *rpc.Request, params checkpointParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.CreateCheckpoint(params.Name, answer(r, s.ID(), func(c history.Checkpoint) any { return c }))
	})
}

func listCheckpoints(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Checkpoints(answer(r, s.ID(), func(list []history.Checkpoint) any {
			return map[string][]history.Checkpoint{"checkpoints": append([]history.Checkpoint{}, list...)}
		}))
	})
}

func deleteCheckpoint(p *peer, r *rpc.Request, params checkpointParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.DeleteCheckpoint(params.CheckpointID, answer(r, s.ID(), func(removed bool) any { return map[string]bool{"removed": removed} }))
	})
}

type restoreParams struct {
	sessionParams
	CheckpointID string `json:"checkpointId"`
	Seq          int64  `json:"seq"`
	Before       string `json:"beforeMessageId"`
}

func restoreCheckpoint(p *peer, r *rpc.Request, params restoreParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		request := session.RestoreRequest{Checkpoint: params.CheckpointID, Seq: params.Seq, Before: params.Before}
		s.Restore(request, answer(r, s.ID(), wireRestored))
	})
}

func undoEdit(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) { s.Undo(answer(r, s.ID(), wireRestored)) })
}

func wireRestored(d session.Restored) any {
	if d.After != "" {
		return map[string]any{"afterTurn": d.After}
	}
	return map[string]any{"seq": d.Seq, "removed": d.Removed}
}

func listEdits(p *peer, r *rpc.Request, params historyParams) {
	before, limit, err := params.seqPage()
	if err != nil {
		r.Fail(err)
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Edits(before, limit, func(edits []session.EditInfo, older int64, err error) {
			if err != nil {
				r.Fail(sessionError(s.ID(), err))
				return
			}
			r.Reply(struct {
				Edits      []session.EditInfo `json:"edits"`
				NextCursor string             `json:"nextCursor,omitempty"`
			}{edits, seqCursor(older)})
		})
	})
}
