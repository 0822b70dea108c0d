package bridge

import (
	"encoding/json"
	"slices"

	"strata/rpc"
)

// maxSessions is the number of sessions that a server keeps in memory, and so the number that a connection can watch.
const maxSessions = 1000

// sessions are those that the editor has opened, the one used last at the end. There are at most maxSessions, as many
// as a server allows on one connection.
type sessions struct{ list []*openSession }

// openSession is what is needed to continue a session on another connection.
type openSession struct {
	id       string
	folders  *folders // nil if the editor has not named them
	attached bool     // the editor has attached: it receives all events
	own      bool     // also its own messages
	held     held

	epoch string // and seq: the last event that the editor received
	seq   uint64

	calls []string // ids of the tool calls whose end the editor has not received, at most maxCalls
}

// maxCalls limits the open calls of a session that are known: more than a model makes in a step.
const maxCalls = 256

// folders are the parameters that open a session, as the editor sent them.
type folders struct {
	CWD        json.RawMessage `json:"cwd,omitempty"`
	Further    json.RawMessage `json:"additionalDirectories,omitempty"`
	MCPServers json.RawMessage `json:"mcpServers,omitempty"`
}

// held is what the editor has said of the files of a session: empty, or that it has them.
type held struct {
	Workspace   string `json:"workspace,omitempty"`
	WorkspaceID string `json:"workspaceId,omitempty"`
}

// inMeta returns the _meta of a request of ACP that says the same, nil for nothing.
func (h held) inMeta() *heldMeta {
	if h.Workspace == "" {
		return nil
	}
	return &heldMeta{h}
}

type heldMeta struct {
	Strata held `json:"strata"`
}

// holds records what the parameters of a request that opened the session say of its files. Without a word the editor still has
// them.
func (o *openSession) holds(params json.RawMessage) *openSession {
	var p struct {
		held
		Meta heldMeta `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return o
	}
	for _, said := range []held{p.held, p.Meta.Strata} {
		if said.Workspace != "" {
			o.held = said
		}
	}
	return o
}

// find returns the session with an id; nil if there is none.
func (s *sessions) find(id string) *openSession {
	if i := s.index(id); i >= 0 {
		return s.list[i]
	}
	return nil
}

func (s *sessions) index(id string) int {
	return slices.IndexFunc(s.list, func(o *openSession) bool { return o.id == id })
}

// use returns the session with an id, a new one if there is none.
func (s *sessions) use(id string) *openSession {
	o := s.find(id)
	if o == nil {
		o = &openSession{id: id}
		if len(s.list) == maxSessions {
			s.list = s.list[1:]
		}
	}
	s.close(id)
	s.list = append(s.list, o)
	return o
}

func (s *sessions) close(id string) {
	if i := s.index(id); i >= 0 {
		s.list = slices.Delete(s.list, i, i+1)
	}
}

// changed records the effect of a request that succeeded.
func (s *sessions) changed(method string, params, result json.RawMessage) {
	var named, made struct {
		SessionID string `json:"sessionId"`
	}
	_, _ = json.Unmarshal(params, &named), json.Unmarshal(result, &made)
	switch method {
	case "session/new", "session/fork":
		s.use(made.SessionID).holds(params).openedIn(params)
	case "session/load", "session/resume":
		s.use(named.SessionID).holds(params).openedIn(params)
	case "_strata/session/fork":
		s.use(made.SessionID).holds(params)
	case "_strata/session/attach":
		s.use(named.SessionID).holds(params).attachedBy(params)
	case "_strata/session/detach":
		s.detached(named.SessionID, params)
	case "session/close", "session/delete":
		s.close(named.SessionID)
	}
}

func (s *sessions) detached(id string, params json.RawMessage) {
	var p struct {
		Unsubscribe bool `json:"unsubscribe"`
	}
	o := s.find(id)
	switch {
	case o == nil:
	case json.Unmarshal(params, &p) == nil && p.Unsubscribe:
		s.close(id)
	default:
		o.attached = false
	}
}

func (o *openSession) attachedBy(params json.RawMessage) {
	var p struct {
		Own bool `json:"own"`
	}
	_ = json.Unmarshal(params, &p) // the server has accepted it
	o.attached, o.own = true, p.Own
}

func (o *openSession) openedIn(params json.RawMessage) {
	o.folders = new(folders)
	if json.Unmarshal(params, o.folders) != nil || o.folders.CWD == nil {
		o.folders = nil
	}
}

// received records the position of a notification of a session, and reports whether the editor should receive it: events
// are for editors that have attached.
func (s *sessions) received(e rpc.Envelope) bool {
	type position struct {
		Epoch string `json:"epoch"`
		Seq   uint64 `json:"seq"`
	}
	var p struct {
		SessionID string `json:"sessionId"`
		position
		Meta struct {
			Strata position `json:"strata"`
		} `json:"_meta"`
		Update callUpdate `json:"update"`
	}
	isEvent := e.Method == methodEvent
	if !isEvent && e.Method != methodUpdate || json.Unmarshal(e.Params, &p) != nil {
		return true
	}
	o := s.find(p.SessionID)
	if o == nil {
		return true
	}
	at := p.Meta.Strata
	if isEvent {
		at = p.position
	}
	if at.Epoch != "" && at.Seq > 0 {
		o.epoch, o.seq = at.Epoch, at.Seq
	}
	if p.Update.Call != "" {
		o.told(p.Update)
	}
	return !isEvent || o.attached
}

// callUpdate is an update of a tool call.
type callUpdate struct {
	Kind   string `json:"sessionUpdate"`
	Call   string `json:"toolCallId"`
	Status string `json:"status"`
}

// told records an update of a call.
func (o *openSession) told(u callUpdate) {
	open := u.Status == "" || u.Status == "pending" || u.Status == "in_progress"
	known := slices.Contains(o.calls, u.Call)
	switch {
	case !open:
		o.calls = slices.DeleteFunc(slices.Clone(o.calls), func(id string) bool { return id == u.Call })
	case !known && u.Kind == "tool_call" && len(o.calls) < maxCalls:
		o.calls = append(o.calls[:len(o.calls):len(o.calls)], u.Call)
	}
}

// all returns copies of the sessions.
func (s *sessions) all() []openSession {
	all := make([]openSession, len(s.list))
	for i, o := range s.list {
		all[i] = *o
	}
	return all
}

// The notifications of a server.
const (
	methodUpdate      = "session/update"
	methodEvent       = "_strata/event"
	methodServerEvent = "_strata/server/event"
)
