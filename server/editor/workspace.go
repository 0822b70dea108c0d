package editor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"strata/session/clients"
)

// The requests to a client that has the files of a session's workspace. The results of the last two say nothing.
const (
	MethodListWorkspace = "_strata/workspace/list"
	MethodReadFiles     = "_strata/workspace/read"
	MethodDeleteFile    = "_strata/workspace/delete"
	MethodMoveFile      = "_strata/workspace/move"
)

// ListWorkspaceParams are the parameters of _strata/workspace/list.
type ListWorkspaceParams struct {
	SessionID string `json:"sessionId"`
	Folder    string `json:"folder"`
	Since     string `json:"since,omitempty"`
	Cursor    string `json:"cursor,omitempty"`
	Limit     int    `json:"limit"`
}

// ReadFilesParams are the parameters of _strata/workspace/read.
type ReadFilesParams struct {
	SessionID string   `json:"sessionId"`
	Folder    string   `json:"folder"`
	Paths     []string `json:"paths"`
	Encoding  string   `json:"encoding,omitempty"` // empty for texts, or base64
	MaxFile   int64    `json:"maxFileBytes"`
	MaxBytes  int64    `json:"maxBytes"`
}

// DeleteFileParams are the parameters of _strata/workspace/delete.
type DeleteFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
}

// MoveFileParams are the parameters of _strata/workspace/move.
type MoveFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	NewPath   string `json:"newPath"`
}

// listedFile is a file in a result of _strata/workspace/list.
type listedFile struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`
	Version  string `json:"version"`
}

// maxPage is the maximum size of a page of a list, in bytes of JSON. It is that of a whole list.
const maxPage = 8 << 20

// WorkspacePage returns the page in a result of _strata/workspace/list.
func WorkspacePage(result json.RawMessage) (clients.ListPage, error) {
	var in struct {
		Files      *[]listedFile `json:"files"`
		NextCursor string        `json:"nextCursor"`
		Changes    bool          `json:"changes"`
		Removed    []string      `json:"removed"`
		Version    string        `json:"version"`
		Unchanged  bool          `json:"unchanged"`
		Incomplete bool          `json:"incomplete"`
	}
	if len(result) > maxPage {
		return clients.ListPage{}, fmt.Errorf("%d bytes exceeds the limit of %d for a page", len(result), maxPage)
	}
	if json.Unmarshal(result, &in) != nil || in.Files == nil && !in.Unchanged {
		return clients.ListPage{}, errors.New("result must have a list of files")
	}
	page := clients.ListPage{
		Unchanged: in.Unchanged, Changes: in.Changes, Removed: in.Removed, Next: in.NextCursor, Version: in.Version, Cut: in.Incomplete,
	}
	if in.Files != nil {
		page.Files = make([]clients.ListedFile, len(*in.Files))
		for i, f := range *in.Files {
			page.Files[i] = clients.ListedFile(f)
		}
	}
	return page, nil
}

// readFile is a file in a result of _strata/workspace/read.
type readFile struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
	Data    []byte  `json:"data"` // base64 on the wire
	Version string  `json:"version"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// FilesRead returns a function that decodes the files in a result of _strata/workspace/read. binary says which of texts and
// bytes were requested.
func FilesRead(binary bool) func(json.RawMessage) ([]clients.ReadResult, error) {
	return func(result json.RawMessage) ([]clients.ReadResult, error) {
		var in struct {
			Files []readFile `json:"files"`
		}
		if json.Unmarshal(result, &in) != nil || in.Files == nil {
			return nil, errors.New("result must have a list of files with texts, or with data in base64")
		}
		out := make([]clients.ReadResult, len(in.Files))
		for i, f := range in.Files {
			out[i] = clients.ReadResult{Path: f.Path, Data: f.Data, Version: f.Version}
			switch {
			case f.Error != nil:
				out[i].Err = &clients.Refused{Code: f.Error.Code, Message: f.Error.Message}
			case binary && f.Data == nil, !binary && f.Content == nil:
				return nil, errors.New("each file needs an error, or the requested content or data")
			case !binary:
				out[i].Data = []byte(*f.Content)
			}
		}
		return out, nil
	}
}

// The time limits of a client for a page of its list of files, and for several files.
const (
	listTime     = 10 * time.Second
	readManyTime = 20 * time.Second
)

// ListWorkspace returns a page of the list of files.
func (e *Editor) ListWorkspace(ctx context.Context, l clients.List, after uint64) (clients.ListPage, error) {
	params := ListWorkspaceParams{SessionID: e.of.SessionID, Folder: l.Folder, Since: l.Since, Cursor: l.Cursor, Limit: l.Limit}
	return ask(ctx, e, listTime, MethodListWorkspace, params, after, WorkspacePage)
}

// ReadFiles returns some of several files.
func (e *Editor) ReadFiles(ctx context.Context, r clients.ReadMany, after uint64) ([]clients.ReadResult, error) {
	params := ReadFilesParams{SessionID: e.of.SessionID, Folder: r.Folder, Paths: r.Paths, MaxFile: r.MaxFile, MaxBytes: r.MaxBytes}
	if r.Binary {
		params.Encoding = "base64"
	}
	return ask(ctx, e, readManyTime, MethodReadFiles, params, after, FilesRead(r.Binary))
}

// DeleteFile makes the client delete a file.
func (e *Editor) DeleteFile(ctx context.Context, path string, after uint64) error {
	params := DeleteFileParams{SessionID: e.of.SessionID, Path: path}
	_, err := ask(ctx, e, writeTime, MethodDeleteFile, params, after, nothing)
	return err
}

// MoveFile makes the client move a file.
func (e *Editor) MoveFile(ctx context.Context, from, to string, after uint64) error {
	params := MoveFileParams{SessionID: e.of.SessionID, Path: from, NewPath: to}
	_, err := ask(ctx, e, writeTime, MethodMoveFile, params, after, nothing)
	return err
}
