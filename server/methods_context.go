package server

import (
	"encoding/json"

	"strata/history"
	"strata/rpc"
	"strata/session"
)

func budget(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Budget(answer(r, s.ID(), func(b session.Budget) any { return b }))
	})
}

func breakdown(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Breakdown(answer(r, s.ID(), func(b session.Breakdown) any { return b }))
	})
}

func report(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Report(answer(r, s.ID(), func(text session.Report) any { return text }))
	})
}

func compactionStatus(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Compaction(answer(r, s.ID(), func(c session.CompactionStatus) any { return c }))
	})
}

type assembleParams struct {
	sessionParams
	Tools   []toolParams `json:"tools"`
	Preview bool         `json:"preview"` // change nothing
}

// toolParams is a tool as providers have it: a name, a description and the schema of its arguments.
type toolParams struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// maxTools bounds the tools of a request.
const maxTools = 512

func assemble(p *peer, r *rpc.Request, params assembleParams) {
	tools, err := toolsOf(params.Tools)
	if err != nil {
		r.Fail(err)
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		reply := answer(r, s.ID(), func(a session.Assembled) any { return a })
		if params.Preview {
			s.Preview(tools, reply)
			return
		}
		s.Assemble(tools, reply)
	})
}

func toolsOf(params []toolParams) ([]session.Tool, error) {
	if len(params) > maxTools {
		return nil, invalidParams("tools: %d, at most %d are taken", len(params), maxTools)
	}
	tools := make([]session.Tool, len(params))
	names := make(map[string]bool, len(params))
	for i, t := range params {
		switch {
		case t.Name == "":
			return nil, invalidParams("tools[%d].name is missing", i)
		case names[t.Name]:
			return nil, invalidParams("tools[%d]: there are two tools %q", i, clip(t.Name))
		}
		names[t.Name] = true
		schema, err := sortedJSON(t.InputSchema)
		if err != nil {
			return nil, invalidParams("tools[%d].inputSchema: an object is wanted", i)
		}
		tools[i] = session.Tool{Name: t.Name, Description: t.Description, Schema: schema}
	}
	return tools, nil
}

// sortedJSON returns an object with its keys in order, so that equal schemas have equal bytes.
func sortedJSON(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

type commitParams struct {
	sessionParams
	AssemblyID string            `json:"assemblyId"`
	Messages   []appendedMessage `json:"messages"`
	Message    *appendedMessage  `json:"message"` // in place of messages where there is one
	Usage      *history.Usage    `json:"usage"`
}

func commitCall(p *peer, r *rpc.Request, params commitParams) {
	if params.Message != nil {
		params.Messages = append([]appendedMessage{*params.Message}, params.Messages...)
	}
	messages, err := appended(params.Messages)
	if err != nil {
		r.Fail(err)
		return
	}
	if u := params.Usage; u != nil && (u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0) {
		r.Fail(invalidParams("usage: a count is below 0"))
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		request := session.CommitRequest{AssemblyID: params.AssemblyID, Messages: messages, Usage: params.Usage}
		s.Commit(request, p.subscribed(s), answer(r, s.ID(), func(c session.Committed) any { return c }))
	})
}

type documentParams struct {
	sessionParams
	Name     string   `json:"name"`
	Text     *string  `json:"text"`
	Priority *int     `json:"priority"`
	Pinned   *bool    `json:"pinned"`
	Phases   []string `json:"phases"`
	Status   string   `json:"status"`
	Order    int      `json:"order"`

	Path           string                `json:"path"`
	Implementation string                `json:"implementation"`
	Failures       []session.TestFailure `json:"failures"` // in the place of text
}

func setDocument(p *peer, r *rpc.Request, params documentParams) {
	text := ""
	switch {
	case params.Text != nil:
		text = *params.Text
	case params.Failures == nil && params.Implementation == "":
		r.Fail(invalidParams("text is missing"))
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.SetDocument(session.DocumentRequest{
			Name: params.Name, Text: text, Priority: params.Priority, Pinned: params.Pinned, Phases: params.Phases,
			Status: params.Status, Order: params.Order, Path: params.Path, Implementation: params.Implementation, Failures: params.Failures,
		}, answer(r, s.ID(), func(d session.DocumentInfo) any { return d }))
	})
}

func removeDocument(p *peer, r *rpc.Request, params documentParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.RemoveDocument(params.Name, answer(r, s.ID(), func(removed bool) any { return map[string]bool{"removed": removed} }))
	})
}

func listDocuments(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Documents(answer(r, s.ID(), func(d []session.DocumentInfo) any { return map[string][]session.DocumentInfo{"documents": d} }))
	})
}

type checkEditParams struct {
	fileParams
	BaseHash string `json:"baseHash"`
}

func checkEdit(p *peer, r *rpc.Request, params checkEditParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.CheckEdit(params.Path, params.BaseHash, answer(r, s.ID(), func(struct{}) any { return struct{}{} }))
	})
}

type findParams struct {
	sessionParams
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

func findPaths(p *peer, r *rpc.Request, params findParams) {
	if params.Limit < 0 {
		r.Fail(invalidParams("limit: %d is below 1", params.Limit))
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.FindPaths(params.Query, params.Limit, answer(r, s.ID(), func(found []session.FoundPath) any {
			return map[string][]session.FoundPath{"paths": found}
		}))
	})
}
