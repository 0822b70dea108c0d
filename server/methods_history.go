package server

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/session"
)

// pageSize is how many entries a page of a list has where the client names no limit, and maxPage the most.
const (
	pageSize = 50
	maxPage  = 500
)

// pageParams are the parameters of every paged list.
type pageParams struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

func (p pageParams) limit() (int, error) {
	switch {
	case p.Limit < 0:
		return 0, invalidParams("limit: %d is below 1", p.Limit)
	case p.Limit == 0:
		return pageSize, nil
	}
	return min(p.Limit, maxPage), nil
}

// seqCursor is the cursor for the messages before a sequence number.
func seqCursor(before int64) string {
	if before == 0 {
		return ""
	}
	return strconv.FormatInt(before, 10)
}

func parseSeqCursor(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	before, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || before < 1 {
		return 0, invalidParams("cursor: it is not one of this list")
	}
	return before, nil
}

// seqPage returns the sequence number before which a page of a list by sequence numbers ends, and its length.
func (p pageParams) seqPage() (before int64, limit int, err error) {
	if before, err = parseSeqCursor(p.Cursor); err != nil {
		return 0, 0, err
	}
	limit, err = p.limit()
	return before, limit, err
}

type historyParams struct {
	sessionParams
	pageParams
}

func listHistory(p *peer, r *rpc.Request, params historyParams) {
	before, limit, err := params.seqPage()
	if err != nil {
		r.Fail(err)
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.List(before, limit, answer(r, s.ID(), func(l session.List) any {
			return struct {
				Messages   []wireMessage `json:"messages"`
				Summary    *wireSummary  `json:"summary,omitempty"`
				NextCursor string        `json:"nextCursor,omitempty"`
			}{wireMessages(l.Messages, l.Fates), summaryInView(l.Summary), seqCursor(l.Older)}
		}))
	})
}

type searchParams struct {
	pageParams
	Query string `json:"query"`
	Role  string `json:"role"`
	CWD   string `json:"cwd"`
}

type wireHit struct {
	SessionID string       `json:"sessionId"`
	MessageID string       `json:"messageId"`
	Seq       int64        `json:"seq"`
	Role      history.Role `json:"role"`
	At        time.Time    `json:"at"`
	Snippet   string       `json:"snippet"`
	Marks     [][2]int     `json:"marks"` // the matches in snippet: from, up to, in bytes of UTF-8
	Score     float64      `json:"score"`
}

func searchHistory(p *peer, r *rpc.Request, params searchParams) {
	limit, err := params.limit()
	switch {
	case err != nil:
		r.Fail(err)
		return
	case params.Role != "" && !history.Role(params.Role).Valid():
		r.Fail(invalidParams("role: user, assistant or tool is wanted"))
		return
	}
	r.Go(func(ctx context.Context) (any, error) {
		hits, next, err := p.server.store.Search(ctx, historystore.SearchQuery{
			Query: params.Query, Role: history.Role(params.Role), CWD: params.CWD, Cursor: params.Cursor, Limit: limit,
		})
		if err != nil {
			return nil, err
		}
		page := struct {
			Hits       []wireHit `json:"hits"`
			NextCursor string    `json:"nextCursor,omitempty"`
		}{Hits: make([]wireHit, len(hits)), NextCursor: next}
		for i, h := range hits {
			page.Hits[i] = wireHit{
				SessionID: h.Session, MessageID: h.Message, Seq: h.Seq, Role: h.Role, At: h.At,
				Snippet: h.Snippet, Marks: make([][2]int, len(h.Marks)), Score: h.Score,
			}
			for j, m := range h.Marks {
				page.Hits[i].Marks[j] = [2]int{m.Start, m.End}
			}
		}
		return page, nil
	})
}

type appendParams struct {
	sessionParams
	Messages []appendedMessage `json:"messages"`
}

// appendedMessage is a message as clients append it. Content is a text or a list of blocks as in the
// transcript.
type appendedMessage struct {
	Role    history.Role    `json:"role"`
	Content json.RawMessage `json:"content"`
	Meta    json.RawMessage `json:"meta"`
}

func appendHistory(p *peer, r *rpc.Request, params appendParams) {
	messages, err := appended(params.Messages)
	if err != nil {
		r.Fail(err)
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Append(messages, p.subscribed(s), answer(r, s.ID(), func(ids []string) any {
			return map[string][]string{"messageIds": ids}
		}))
	})
}

func appended(in []appendedMessage) ([]history.Message, error) {
	if len(in) == 0 || len(in) > maxMessages {
		return nil, invalidParams("messages: between 1 and %d are wanted", maxMessages)
	}
	out := make([]history.Message, len(in))
	for i := range in {
		m := &in[i]
		if !m.Role.Valid() {
			return nil, invalidParams("messages[%d].role: user, assistant or tool is wanted", i)
		}
		blocks, err := appendedBlocks(m)
		if err != nil {
			return nil, invalidParams("messages[%d].content: %s", i, err)
		}
		if _, err := history.ParseMeta(m.Meta); err != nil {
			return nil, invalidParams("messages[%d].meta: %s", i, err)
		}
		out[i] = history.Message{Role: m.Role, Blocks: blocks, Meta: m.Meta}
	}
	return out, nil
}

func appendedBlocks(m *appendedMessage) ([]history.Block, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return history.CheckBlocks(m.Role, []history.Block{{Type: history.BlockText, Text: text}})
	}
	var blocks []history.Block
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		return nil, invalidParams("a text or a list of blocks is wanted")
	}
	return history.CheckBlocks(m.Role, blocks)
}

func clearHistory(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Clear(answer(r, s.ID(), func(c session.Cleared) any {
			if c.After != "" {
				return map[string]any{"afterTurn": c.After}
			}
			return map[string]any{"seq": c.Seq}
		}))
	})
}

// replaceHistory makes the given messages the whole working history.
func replaceHistory(p *peer, r *rpc.Request, params appendParams) {
	messages, err := appended(params.Messages)
	if err != nil {
		r.Fail(err)
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Replace(messages, p.subscribed(s), answer(r, s.ID(), func(d session.Replaced) any {
			return struct {
				Seq        int64    `json:"seq"`
				MessageIDs []string `json:"messageIds"`
			}{d.Seq, d.MessageIDs}
		}))
	})
}

type countParams struct {
	appendParams
	Text string `json:"text"`
}

// countTokens counts a text, messages, or both.
func countTokens(p *peer, r *rpc.Request, params countParams) {
	var messages []history.Message
	if len(params.Messages) > 0 {
		var err error
		if messages, err = appended(params.Messages); err != nil {
			r.Fail(err)
			return
		}
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Count(params.Text, messages, answer(r, s.ID(), func(n int) any { return map[string]int{"tokens": n} }))
	})
}
