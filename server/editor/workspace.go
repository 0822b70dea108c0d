package editor

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"strata/session/clients"
)

// The requests to a client that has the files of a session's workspace. The results of all but the first say nothing.
const (
	MethodListWorkspace = "_strata/workspace/list"
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

// WorkspacePage returns the page in a result of _strata/workspace/list.
func WorkspacePage(result json.RawMessage) (clients.ListPage, error) {
	var in struct {
		Files      *[]listedFile `json:"files"`
		NextCursor string        `json:"nextCursor"`
		Version    string        `json:"version"`
		Unchanged  bool          `json:"unchanged"`
		Incomplete bool          `json:"incomplete"`
	}
	if json.Unmarshal(result, &in) != nil || in.Files == nil && !in.Unchanged {
		return clients.ListPage{}, errors.New("result must have a list of files")
	}
	page := clients.ListPage{Unchanged: in.Unchanged, Next: in.NextCursor, Version: in.Version, Cut: in.Incomplete}
	if in.Files != nil {
		page.Files = make([]clients.ListedFile, len(*in.Files))
		for i, f := range *in.Files {
			page.Files[i] = clients.ListedFile(f)
		}
	}
	return page, nil
}

// listTime is the time limit of a client for a page of its list of files.
const listTime = 10 * time.Second

// ListWorkspace returns a page of the list of files.
func (e *Editor) ListWorkspace(ctx context.Context, l clients.List, after uint64) (clients.ListPage, error) {
	params := ListWorkspaceParams{SessionID: e.of.SessionID, Folder: l.Folder, Since: l.Since, Cursor: l.Cursor, Limit: l.Limit}
	return ask(ctx, e, listTime, MethodListWorkspace, params, after, WorkspacePage)
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
