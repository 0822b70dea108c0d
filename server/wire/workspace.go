package wire

import "strata/history"

// HeldWorkspace is the part of parameters in which a client says that it has the files of a session.
type HeldWorkspace struct {
	Workspace   string `json:"workspace"`   // empty, or client
	WorkspaceID string `json:"workspaceId"` // distinguishes the files from those of other clients; may be empty
}

// maxWorkspaceID is the maximum length of the id of a workspace, in bytes.
const maxWorkspaceID = 256

// check returns an error for other values than those above. path is that of the part.
func (w *HeldWorkspace) check(path string) error {
	switch {
	case w.Workspace != "" && w.Workspace != history.WorkspaceClient:
		return InvalidParams("%s.workspace: must be client", path)
	case w.Workspace == "" && w.WorkspaceID != "":
		return InvalidParams("%s.workspaceId: needs workspace", path)
	case len(w.WorkspaceID) > maxWorkspaceID:
		return InvalidParams("%s.workspaceId: %d bytes exceeds the limit of %d", path, len(w.WorkspaceID), maxWorkspaceID)
	}
	return nil
}

// IsHeld reports whether the client says that it has the files.
func (w *HeldWorkspace) IsHeld() bool { return w.Workspace != "" }
