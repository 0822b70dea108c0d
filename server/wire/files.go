package wire

import "strata/session/workspace"

import "strata/session/documents"

// FileParams name a file of a session.
type FileParams struct {
	SessionParams
	Path string `json:"path" need:"content"`
}

// AddFileParams are the parameters of _strata/files/add.
type AddFileParams struct {
	SessionParams
	Path        string               `json:"path" need:"content"`
	Content     *string              `json:"content"` // the client's unsaved text
	State       string               `json:"state"`   // full (default), summary
	Range       *workspace.FileRange `json:"range"`
	Once        bool                 `json:"once"`
	Pinned      *bool                `json:"pinned"` // absent: as before
	LineNumbers bool                 `json:"lineNumbers"`
	Allow       bool                 `json:"allow"` // even if it looks like a secret
}

func (p *AddFileParams) validate() error {
	if p.State != "" && p.State != "full" && p.State != "summary" {
		return InvalidParams("params.state: must be full or summary")
	}
	return nil
}

// Request returns the request to the session.
func (p *AddFileParams) Request() workspace.FileRequest {
	return workspace.FileRequest{
		Path: p.Path, Content: p.Content, Summary: p.State == "summary", Range: p.Range, Once: p.Once, Pinned: p.Pinned, LineNumbers: p.LineNumbers, Allow: p.Allow,
	}
}

// ListFilesParams are the parameters of _strata/files/list.
type ListFilesParams struct {
	SessionParams
	Outlines bool `json:"outlines"` // also files of which the newest request had an outline only
	Read     bool `json:"read"`     // also files that tools read
}

// FilesChangedParams are the parameters of _strata/files/changed.
type FilesChangedParams struct {
	SessionParams
	Paths []string `json:"paths" need:"value"`
}

// CheckEditParams are the parameters of _strata/files/check_edit.
type CheckEditParams struct {
	FileParams
	BaseHash string               `json:"baseHash"`
	Lines    *workspace.FileRange `json:"lines"`
}

// FindParams are the parameters of _strata/workspace/find and _strata/outline/search.
type FindParams struct {
	SessionParams
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

func (p *FindParams) validate() error {
	if p.Limit < 0 {
		return InvalidParams("params.limit: %d is below 1", p.Limit)
	}
	return nil
}

// DocumentName names a document of a session.
type DocumentName struct {
	SessionParams
	Name string `json:"name" need:"value"`
}

// DocumentParams are the parameters of _strata/documents/set.
type DocumentParams struct {
	SessionParams
	Name     string   `json:"name" need:"content"`
	Text     *string  `json:"text"`
	Priority *int     `json:"priority"`
	Pinned   *bool    `json:"pinned"`
	Phases   []string `json:"phases"`
	Status   string   `json:"status"`
	Order    int      `json:"order"`

	Path           string              `json:"path"`
	Implementation string              `json:"implementation"`
	Failures       []documents.Failure `json:"failures"` // instead of text
}

func (p *DocumentParams) validate() error {
	if p.Text == nil && p.Failures == nil && p.Implementation == "" {
		return InvalidParams("params.text is missing")
	}
	return nil
}

// Request returns the request to the session.
func (p *DocumentParams) Request() documents.Request {
	request := documents.Request{
		Name: p.Name, Priority: p.Priority, Pinned: p.Pinned, Phases: p.Phases, Status: p.Status, Order: p.Order,
		Path: p.Path, Implementation: p.Implementation, Failures: p.Failures,
	}
	if p.Text != nil {
		request.Text = *p.Text
	}
	return request
}
