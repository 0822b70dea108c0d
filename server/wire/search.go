package wire

import (
	"strconv"
	"time"

	"strata/history"
	"strata/historystore"
)

// FolderScope limits a search to the sessions of a folder. With neither, it is in all folders.
type FolderScope struct {
	CWD    string `json:"cwd"`    // the folder itself
	Folder string `json:"folder"` // the folder and those below it
}

// SearchParams are the parameters of _strata/history/search.
type SearchParams struct {
	PageParams
	FolderScope
	SessionID string `json:"sessionId"` // empty: all sessions
	Query     string `json:"query" need:"value"`
	Role      string `json:"role"`
}

// SearchQuery returns the query for the store, in all folders.
func (p *SearchParams) SearchQuery() (historystore.SearchQuery, error) {
	size, err := p.Size()
	switch {
	case err != nil:
		return historystore.SearchQuery{}, err
	case p.Role != "" && !history.Role(p.Role).Valid():
		return historystore.SearchQuery{}, InvalidParams("params.role: must be user, assistant or tool")
	}
	return historystore.SearchQuery{
		Query: p.Query, Role: history.Role(p.Role), Session: p.SessionID, Cursor: p.Cursor, Limit: size,
	}, nil
}

// SearchPage is the result of _strata/history/search.
type SearchPage struct {
	Hits       []Hit  `json:"hits"`
	NextCursor string `json:"nextCursor,omitempty"`
	Behind     int    `json:"behind,omitempty"` // messages that are not searched yet
}

// Hit is a message found by a search.
type Hit struct {
	SessionID string       `json:"sessionId"`
	Title     string       `json:"title"` // of the session
	MessageID string       `json:"messageId"`
	Seq       int64        `json:"seq"`
	Role      history.Role `json:"role"`
	At        time.Time    `json:"at"`
	Snippet   string       `json:"snippet"`
	Marks     [][2]int     `json:"marks"` // the matches in snippet: start and end, in bytes of UTF-8
	Score     float64      `json:"score"`
	Copies    int          `json:"copies,omitempty"` // in forks and imports
}

// NewSearchPage returns a page of search results.
func NewSearchPage(found historystore.Found) SearchPage {
	page := SearchPage{Hits: make([]Hit, len(found.Hits)), NextCursor: found.Next, Behind: found.Behind}
	for i, h := range found.Hits {
		page.Hits[i] = Hit{
			SessionID: h.Session, Title: h.Title, MessageID: h.Message, Seq: h.Seq, Role: h.Role, At: h.At,
			Snippet: h.Snippet, Marks: ranges(h.Marks), Score: h.Score, Copies: h.Copies,
		}
	}
	return page
}

func ranges(marks []historystore.Mark) [][2]int {
	all := make([][2]int, len(marks))
	for i, m := range marks {
		all[i] = [2]int{m.Start, m.End}
	}
	return all
}

// SessionSearchParams are the parameters of _strata/session/search.
type SessionSearchParams struct {
	PageParams
	FolderScope
	Query string `json:"query" need:"value"`
}

// SessionSearch returns the query for the store, in all folders.
func (p *SessionSearchParams) SessionSearch() (historystore.SessionSearch, error) {
	size, err := p.Size()
	return historystore.SessionSearch{Query: p.Query, Cursor: p.Cursor, Limit: size}, err
}

// FoundSessions is the result of _strata/session/search.
type FoundSessions struct {
	Sessions   []FoundSession `json:"sessions"`
	Total      int            `json:"total"` // on all pages
	NextCursor string         `json:"nextCursor,omitempty"`
}

// FoundSession is a session found by its title or folder. Marks are ranges in bytes of UTF-8.
type FoundSession struct {
	SessionID  string    `json:"sessionId"`
	Title      string    `json:"title"`
	CWD        string    `json:"cwd"`
	UpdatedAt  time.Time `json:"updatedAt"`
	TitleMarks [][2]int  `json:"titleMarks"`
	CWDMarks   [][2]int  `json:"cwdMarks"`
}

// NewFoundSessions returns a page of found sessions.
func NewFoundSessions(found historystore.FoundSessions) FoundSessions {
	page := FoundSessions{Sessions: make([]FoundSession, len(found.Sessions)), Total: found.Total, NextCursor: found.Next}
	for i, s := range found.Sessions {
		page.Sessions[i] = FoundSession{
			SessionID: s.ID, Title: s.Title, CWD: s.CWD, UpdatedAt: s.UpdatedAt, TitleMarks: ranges(s.TitleMarks), CWDMarks: ranges(s.FolderMarks),
		}
	}
	return page
}

// PhraseParams are the parameters of _strata/history/find.
type PhraseParams struct {
	SessionParams
	PageParams
	Text string `json:"text" need:"value"`
}

// PhraseQuery returns the query for the store.
func (p *PhraseParams) PhraseQuery() (q historystore.PhraseQuery, err error) {
	q = historystore.PhraseQuery{Session: p.SessionID, Text: p.Text, Limit: p.Limit}
	if n := len(p.Text); n > historystore.MaxPhrase {
		return q, InvalidParams("params.text: %d bytes exceeds the limit of %d", n, historystore.MaxPhrase)
	}
	if p.Cursor != "" {
		if q.After, err = strconv.ParseInt(p.Cursor, 10, 64); err != nil || q.After < 1 {
			return q, errCursor()
		}
	}
	_, err = p.Size()
	return q, err
}

// FindPage is the result of _strata/history/find.
type FindPage struct {
	Places     []Place `json:"places"`
	NextCursor string  `json:"nextCursor,omitempty"`
}

// Place is a block of a message that contains the text.
type Place struct {
	MessageID string            `json:"messageId"`
	Seq       int64             `json:"seq"`
	Role      history.Role      `json:"role"`
	Type      history.BlockType `json:"type"`
	Block     int               `json:"block"` // index into the message's blocks
	Part      int               `json:"part"`  // index into the content of a tool's result, otherwise 0
	Count     int               `json:"count"` // how often it contains the text
}

// NewFindPage returns a page of places. next is 0 for the last one.
func NewFindPage(places []historystore.Place, next int64) FindPage {
	page := FindPage{Places: make([]Place, len(places)), NextCursor: SeqCursor(next)}
	for i, p := range places {
		page.Places[i] = Place{p.Message, p.Seq, p.Role, p.Type, p.Block, p.Part, p.Count}
	}
	return page
}
