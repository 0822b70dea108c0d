package clients

import "context"

// WorkspaceHolder has the files of a session's workspace. Paths are absolute, as the session names its files, except those in
// a list. Its requests are sent after the event of the session with the sequence number after, if the client receives it.
type WorkspaceHolder interface {
	// ListWorkspace returns a page of the list of files.
	ListWorkspace(ctx context.Context, l List, after uint64) (ListPage, error)
	// ReadFiles returns some of the files: those that are missing in the result must be requested again.
	ReadFiles(ctx context.Context, r ReadMany, after uint64) ([]ReadResult, error)
	// DeleteFile and MoveFile change a file. With any error but ErrBusy the client may have done it, or still do it.
	DeleteFile(ctx context.Context, path string, after uint64) error
	MoveFile(ctx context.Context, from, to string, after uint64) error
}

// List is a request for a page of a list of files.
type List struct {
	Folder string // absolute
	Since  string // the version of the list that the server has; empty for none, and for a page after the first
	Cursor string // of the page; empty for the first
	Limit  int    // maximum number of files
}

// ListPage is a page of a list of files, as the client says: nothing of it is checked.
type ListPage struct {
	Unchanged bool     // the list has the version Since; the page is empty
	Changes   bool     // Files are only those that were added or changed since the version Since; there is no further page
	Removed   []string // paths of the files that are gone since then
	Files     []ListedFile
	Next      string // cursor of the next page; empty for none
	Version   string // of the list: changes with each file that is added, removed or changed; empty: not known
	Cut       bool   // the client does not list all files
}

// ReadMany is a request for several files.
type ReadMany struct {
	Folder   string   // absolute
	Paths    []string // relative to the folder, with slashes
	Binary   bool     // the bytes of the files, instead of the texts that the user sees
	MaxFile  int64    // maximum size of a file, in bytes
	MaxBytes int64    // of all texts
}

// ReadResult is a file that a client has returned, as it says: nothing of it is checked.
type ReadResult struct {
	Path    string
	Data    []byte // the text or the bytes
	Version string // as in a list; empty: not known
	Err     error  // a *Refused: why there is no text
}

// ListedFile is a file in a list.
type ListedFile struct {
	Path     string // relative to the folder, with slashes
	Size     int64  // in bytes; 0: not known
	Modified int64  // Unix time in milliseconds; 0: not known
	Version  string // changes with the text, saved or not; empty: not known
}
