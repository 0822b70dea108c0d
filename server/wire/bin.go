package wire

import "time"

// CursorParams are the parameters of a list with pages of a fixed size.
type CursorParams struct {
	Cursor string `json:"cursor"` // of the page before
}

// DeletedPage is the result of _strata/session/list_deleted.
type DeletedPage struct {
	Sessions   []DeletedSession `json:"sessions"`
	NextCursor string           `json:"nextCursor,omitempty"`
}

// DeletedSession is a session that can be undeleted.
type DeletedSession struct {
	SessionInfo
	DeletedAt time.Time `json:"deletedAt"`
	PurgeAt   time.Time `json:"purgeAt"` // from then on it may be purged at any time
	Messages  int       `json:"messages"`
	Cost      float64   `json:"cost"` // of its model calls, in US dollars
}

// CompleteParams are the parameters of _strata/folders/complete.
type CompleteParams struct {
	Prefix string `json:"prefix"`
	Limit  int    `json:"limit"`
}

// FolderLimit is the maximum number of folders in a completion.
const FolderLimit = 200

// Size returns the maximum number of folders to return.
func (p CompleteParams) Size() (int, error) {
	n, err := PageParams{Limit: p.Limit}.Size()
	return min(n, FolderLimit), err
}

// Completion is the result of _strata/folders/complete.
type Completion struct {
	Folders []string `json:"folders"` // absolute paths
	More    bool     `json:"more"`
}
