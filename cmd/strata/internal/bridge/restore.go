package bridge

import (
	"encoding/json"
	"fmt"

	"strata/cmd/strata/internal/connect"
	"strata/rpc"
)

// restore initializes a connection as the editor has initialized the first one, and opens the editor's sessions. same
// says that the server is the one of the previous connection. It does nothing before the editor's initialize.
func (b *bridge) restore(server *connect.Stream, same bool) error {
	b.mu.Lock()
	greeting, sessions, monitors := b.greeting, b.sessions.all(), b.monitors
	b.mu.Unlock()
	if greeting == nil {
		return nil
	}
	var agent json.RawMessage
	if err := b.call(server, methodInitialize, greeting, &agent); err != nil {
		return err
	}
	b.limit.Store(connect.FrameLimit(agent))
	if _, err := b.handOver(server, agent); err != nil {
		return err
	}
	for i := range sessions {
		if err := b.reopen(server, &sessions[i], same); err != nil {
			return err
		}
	}
	if !monitors {
		return nil
	}
	if err := b.call(server, "_strata/server/subscribe", struct{}{}, nil); b.isOver(err) {
		return err
	}
	return b.announce(methodServerEvent, map[string]any{"type": "reset"})
}

// reopen opens a session. If the server is the same, the editor gets what it has missed. A session that cannot be opened
// any more is forgotten: the editor's next request for it gets the reason. The error is one of the connection.
func (b *bridge) reopen(server *connect.Stream, s *openSession, same bool) error {
	complete, loaded := false, !same
	var err error
	if same && s.epoch != "" {
		complete, loaded, err = b.catchUp(server, s)
	}
	if err == nil && loaded {
		err = b.endCalls(s)
	}
	switch {
	case err != nil || complete:
	case s.folders != nil:
		err = b.call(server, "session/resume", struct {
			SessionID string `json:"sessionId"`
			*folders
			Meta *heldMeta `json:"_meta,omitempty"`
		}{s.id, s.folders, s.held.inMeta()}, nil)
	default:
		err = b.subscribe(server, s)
	}
	if b.isOver(err) {
		return err
	}
	if err != nil {
		b.note("session %s: %v", s.id, err)
		b.mu.Lock()
		b.sessions.close(s.id)
		b.mu.Unlock()
		return nil
	}
	if s.attached && !complete {
		// As at a shutdown, which a server that is killed cannot announce: the editor attaches again.
		return b.announce(methodEvent, map[string]any{
			"sessionId": s.id, "epoch": s.epoch, "seq": s.seq + 1, "type": "closed", "reason": "shutdown",
		})
	}
	return nil
}

// attaching are the parameters of _strata/session/attach.
type attaching struct {
	SessionID string `json:"sessionId"`
	Epoch     string `json:"epoch,omitempty"`
	After     uint64 `json:"after,omitempty"`
	Own       bool   `json:"own,omitempty"`
	held
}

// catchUp attaches to a session after the last event that the editor received. complete is false if the server no longer
// has all events since then; loaded says that it has loaded the session since then.
func (b *bridge) catchUp(server *connect.Stream, s *openSession) (complete, loaded bool, err error) {
	var attached struct {
		Complete bool   `json:"complete"`
		Epoch    string `json:"epoch"`
	}
	err = b.call(server, "_strata/session/attach", attaching{SessionID: s.id, Epoch: s.epoch, After: s.seq, Own: s.own, held: s.held}, &attached)
	loaded = attached.Epoch != s.epoch
	if err != nil || attached.Complete && s.attached {
		return attached.Complete, loaded, err
	}
	return attached.Complete, loaded, b.call(server, "_strata/session/detach", map[string]any{"sessionId": s.id}, nil)
}

// endCalls tells the editor that the open tool calls of a session have failed: they ended with the turn when the session was
// loaded again, and no update tells that.
func (b *bridge) endCalls(s *openSession) error {
	for _, id := range s.calls {
		update := callUpdate{Kind: "tool_call_update", Call: id, Status: "failed"}
		if err := b.announce(methodUpdate, map[string]any{"sessionId": s.id, "update": update}); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.sessions.find(s.id); o != nil {
		o.calls = nil
	}
	return nil
}

// subscribe subscribes to the updates of a session whose folders are unknown.
func (b *bridge) subscribe(server *connect.Stream, s *openSession) error {
	if err := b.call(server, "_strata/session/attach", attaching{SessionID: s.id, held: s.held}, nil); err != nil {
		return err
	}
	return b.call(server, "_strata/session/detach", map[string]any{"sessionId": s.id}, nil)
}

// announce writes a notification to the editor.
func (b *bridge) announce(method string, params any) error {
	frame, err := rpc.CallFrame(nil, method, params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	return b.tell(frame)
}
