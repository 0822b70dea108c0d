package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/internal/clip"
	"strata/rpc"
	"strata/server/wire"
)

// maxOpen is the maximum number of concurrent imports and forks.
const maxOpen = 16

// Options are the dependencies of an Importer.
type Options struct {
	Store   *historystore.Store
	Show    func(ctx context.Context, id string) error // shows a session that was under construction to clients
	Folders func(dir string) (string, error)           // returns the cleaned path of a folder for a session; see wire.FolderParams
	NewID   func(prefix string) string                 // returns prefix + ULID
	Now     func() time.Time
	Log     *slog.Logger
}

// Importer makes sessions of exports and of states of other sessions. Safe for concurrent use.
type Importer struct {
	Options

	mu   sync.Mutex
	open map[string]*openImport // the sessions under construction, by id
}

// NewImporter returns an Importer without open imports.
func NewImporter(opt Options) *Importer {
	return &Importer{Options: opt, open: make(map[string]*openImport)}
}

// ImportPage is a page of an import.
type ImportPage struct {
	ImportID string `json:"importId"` // from the result of the first page; empty for the first page
	CWD      string `json:"cwd"`      // first page only: replaces the folder of the exported session
	Lines    []Line `json:"lines"`
	Done     bool   `json:"done"` // this is the last page
}

// ImportResult is the result of a page of an import: ImportID until the session is complete, then SessionID.
type ImportResult struct {
	ImportID  string `json:"importId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
}

// Import stores a page of an export. The first page starts with the header and creates a hidden session; the last one
// shows it. An error in the first page ends the import; after an error in a later page that page can be sent again.
func (in *Importer) Import(ctx context.Context, p ImportPage) (ImportResult, error) {
	if len(p.Lines) > maxImportLines {
		return ImportResult{}, wire.InvalidParams("params.lines: %d exceeds the limit of %d in a page", len(p.Lines), maxImportLines)
	}
	id, lines := p.ImportID, p.Lines
	if id == "" {
		record, err := in.header(p)
		if err != nil {
			return ImportResult{}, err
		}
		if err := in.create(ctx, record, lines[1:]); err != nil {
			return ImportResult{}, err
		}
		id, lines = record.ID, nil
	}
	so := in.stateOf(id)
	if so == nil {
		return ImportResult{}, wire.NotFound("import", id)
	}
	if err := in.store(ctx, so, importPage{session: id, lines: lines}); err != nil {
		return ImportResult{}, err
	}
	if !p.Done {
		return ImportResult{ImportID: id}, nil
	}
	if err := in.Show(ctx, id); err != nil {
		return ImportResult{}, fmt.Errorf("import: %w", err)
	}
	in.end(id)
	return ImportResult{SessionID: id}, nil
}

// header returns the hidden session that the first page of an import asks for.
func (in *Importer) header(p ImportPage) (history.Session, error) {
	if len(p.Lines) == 0 || p.Lines[0].Header == nil {
		return history.Session{}, wire.InvalidParams("params.lines: the first line must be the header")
	}
	h := p.Lines[0].Header
	switch {
	case h.Format != Format:
		return history.Session{}, wire.InvalidParams("params.lines[0]: %q is not the format of a session", clip.Name(h.Format))
	case h.Version > Version:
		return history.Session{}, wire.InvalidParams("params.lines[0]: version %d is newer than version %d of this server", h.Version, Version)
	}
	record := h.Session
	if p.CWD != "" {
		record.CWD, record.Roots, record.Config.Workspace = p.CWD, nil, ""
	}
	folders := wire.NewSessionParams{FolderParams: wire.FolderParams{CWD: record.CWD, Further: record.Roots}}
	folders.Meta.Strata.Workspace, folders.Meta.Strata.WorkspaceID = record.Config.Workspace, record.Config.WorkspaceID
	checked, err := folders.Record(in.Folders)
	if err != nil {
		return history.Session{}, err
	}
	record.ID, record.CWD, record.Roots = in.NewID("sess_"), checked.CWD, checked.Roots
	record.Config.Workspace, record.Config.WorkspaceID = checked.Config.Workspace, checked.Config.WorkspaceID
	record.Hidden, record.DeletedAt, record.Messages = true, time.Time{}, 0
	record.Config.Approval, record.Config.Rules = "", nil // the file may be somebody else's
	return record, nil
}

// create stores a hidden session and its first lines. If that fails nothing of it is left.
func (in *Importer) create(ctx context.Context, record history.Session, lines []Line) error {
	if err := in.begin(record.ID); err != nil {
		return err
	}
	if err := in.Store.Commit(ctx, history.Change{Session: record.ID, Create: &record}); err != nil {
		in.end(record.ID)
		return fmt.Errorf("import: %w", err)
	}
	so := in.stateOf(record.ID)
	if err := in.store(ctx, so, importPage{session: record.ID, lines: lines, first: 1}); err != nil {
		in.drop(context.WithoutCancel(ctx), record.ID)
		in.end(record.ID)
		return err
	}
	so.newest.stored = nil // a first page is not sent again: it makes another session
	return nil
}

// begin registers a session under construction.
func (in *Importer) begin(id string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.open) >= maxOpen {
		return &rpc.Error{Code: wire.CodeBusy, Message: fmt.Sprintf("%d imports and forks are already running", maxOpen)}
	}
	in.open[id] = &openImport{}
	return nil
}

// stateOf returns the state of a session under construction, nil if there is none.
func (in *Importer) stateOf(id string) *openImport {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.open[id]
}

func (in *Importer) end(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.open, id)
}

// drop removes a hidden session, if it was created. If that fails the next start of the server does.
func (in *Importer) drop(ctx context.Context, id string) {
	if err := in.Store.ImportDrop(ctx, id, in.Now()); err != nil && !errors.Is(err, history.ErrNotFound) {
		in.Log.Warn("an unfinished session remains until the server starts again", "session", id, "error", err)
	}
}
