package server

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"strata/history"
	"strata/rpc"
)

// transferVersion is the version of the export format. It rises when an older reader would lose something.
const transferVersion = 1

// The bounds of a page of an export or import.
const (
	transferBytes = 256 << 10 // a page of an export ends behind the line that reaches this
	transferLines = 500       // at most in one page, either way
	maxImports    = 16        // under way at once, forks included
)

// transferLine is one line of an export. Exactly the field that Type names is set.
type transferLine struct {
	Type    string           `json:"type"` // header, edit, file, message, call
	Header  *transferHeader  `json:"header,omitempty"`
	Edit    *history.Edit    `json:"edit,omitempty"`
	File    *transferFile    `json:"file,omitempty"`
	Message *history.Message `json:"message,omitempty"`
	Call    *history.Call    `json:"call,omitempty"`
}

type transferHeader struct {
	Format  string          `json:"format"` // strata-session
	Version int             `json:"version"`
	Session history.Session `json:"session"`
}

const transferFormat = "strata-session"

type transferFile struct {
	Path   string          `json:"path"`
	State  json.RawMessage `json:"state"`
	Buffer []byte          `json:"buffer,omitempty"`
}

type exportPage struct {
	Lines      []transferLine `json:"lines"`
	NextCursor string         `json:"nextCursor,omitempty"`
}

// exportSession returns a page of a session: its header, edits and files first, then its messages, then
// its usage log. A cursor is "m" and the position in the transcript, or "c" and the usage log's cursor.
func exportSession(p *peer, r *rpc.Request, params historyParams) {
	r.Go(func(ctx context.Context) (any, error) {
		stage, rest, _ := strings.Cut(params.Cursor, ":")
		switch stage {
		case "":
			return p.server.exportHead(ctx, params.SessionID)
		case "m":
			from, err := strconv.Atoi(rest)
			if err != nil || from < 0 {
				return nil, invalidParams("cursor: it is not one of this export")
			}
			return p.server.exportMessages(ctx, params.SessionID, from)
		case "c":
			return p.server.exportCalls(ctx, params.SessionID, rest)
		}
		return nil, invalidParams("cursor: it is not one of this export")
	})
}

func (s *Server) exportHead(ctx context.Context, id string) (exportPage, error) {
	l, err := s.store.Load(ctx, id)
	if err != nil {
		return exportPage{}, sessionError(clip(id), err)
	}
	page := exportPage{NextCursor: "m:0", Lines: []transferLine{{
		Type: "header", Header: &transferHeader{Format: transferFormat, Version: transferVersion, Session: l.Session},
	}}}
	for i := range l.Edits {
		page.Lines = append(page.Lines, transferLine{Type: "edit", Edit: &l.Edits[i]})
	}
	for _, f := range l.Files {
		page.Lines = append(page.Lines, transferLine{Type: "file", File: &transferFile{Path: f.Path, State: f.State, Buffer: f.Buffer}})
	}
	return page, nil
}

func (s *Server) exportMessages(ctx context.Context, id string, from int) (exportPage, error) {
	l, err := s.store.Load(ctx, id)
	if err != nil {
		return exportPage{}, sessionError(clip(id), err)
	}
	seqs, rest := transferPage(l.Heads[min(from, len(l.Heads)):])
	messages, err := s.store.Messages(ctx, id, seqs)
	if err != nil {
		return exportPage{}, err
	}
	page := exportPage{Lines: []transferLine{}, NextCursor: fmt.Sprintf("m:%d", len(l.Heads)-len(rest))}
	if len(rest) == 0 {
		page.NextCursor = "c:"
	}
	for i := range messages {
		page.Lines = append(page.Lines, transferLine{Type: "message", Message: &messages[i]})
	}
	return page, nil
}

// transferPage returns the sequence numbers of the first messages, as many as a page holds, and the messages behind them.
func transferPage(heads []history.Head) (seqs []int64, rest []history.Head) {
	for size := 0; len(heads) > 0 && len(seqs) < transferLines && size < transferBytes; heads = heads[1:] {
		seqs = append(seqs, heads[0].Seq)
		size += heads[0].Bytes
	}
	return seqs, heads
}

func (s *Server) exportCalls(ctx context.Context, id, cursor string) (exportPage, error) {
	calls, next, err := s.store.Calls(ctx, id, cursor, transferLines)
	if err != nil {
		return exportPage{}, sessionError(clip(id), err)
	}
	page := exportPage{Lines: []transferLine{}}
	if next != "" {
		page.NextCursor = "c:" + next
	}
	for i := range calls {
		page.Lines = append(page.Lines, transferLine{Type: "call", Call: &calls[i]})
	}
	return page, nil
}

// imports are the sessions that are being made of others: imports, page by page, and forks. Until it is complete such a
// session is hidden, and the next start of the server drops it. It is safe for concurrent use.
type imports struct {
	server *Server

	mu  sync.Mutex
	all map[string]struct{} // ids of the sessions that are made
}

func newImports(s *Server) *imports { return &imports{server: s, all: make(map[string]struct{})} }

type importParams struct {
	ImportID string         `json:"importId"` // from the answer to the first page
	CWD      string         `json:"cwd"`      // with the first page: another folder than the exported session's
	Lines    []transferLine `json:"lines"`
	Done     bool           `json:"done"` // this is the last page
}

type importResult struct {
	ImportID  string `json:"importId,omitempty"`
	SessionID string `json:"sessionId,omitempty"` // once it is complete
}

// importSession takes a page of an export. The first one, with the header, starts a session with ids of its own.
func importSession(p *peer, r *rpc.Request, params importParams) {
	r.Go(func(ctx context.Context) (any, error) {
		if len(params.Lines) > maxImportLines {
			return nil, invalidParams("lines: at most %d in one page", maxImportLines)
		}
		in := p.server.imports
		id, lines := params.ImportID, params.Lines
		if id == "" {
			var err error
			if id, err = in.start(ctx, params); err != nil {
				return nil, err
			}
			lines = lines[1:]
		} else if !in.known(id) {
			return nil, notFound("import", clip(id))
		}
		if err := in.take(ctx, id, lines); err != nil {
			return nil, err
		}
		if !params.Done {
			return importResult{ImportID: id}, nil
		}
		return in.finish(ctx, id)
	})
}

// maxImportLines bounds a page of an import: that of an export holds all edits and files in its first.
const maxImportLines = 20_000

// start makes the hidden session.
func (in *imports) start(ctx context.Context, params importParams) (string, error) {
	if len(params.Lines) == 0 || params.Lines[0].Header == nil {
		return "", invalidParams("lines: the first line must be the header")
	}
	h := params.Lines[0].Header
	switch {
	case h.Format != transferFormat:
		return "", invalidParams("lines[0]: %q is not the format of a session", clip(h.Format))
	case h.Version > transferVersion:
		return "", invalidParams("lines[0]: version %d is newer than this server, which reads up to %d", h.Version, transferVersion)
	}
	record := h.Session
	if params.CWD != "" {
		record.CWD, record.Roots = params.CWD, nil
	}
	folders, err := in.server.folders(folderParams{CWD: &record.CWD, Further: record.Roots})
	if err != nil {
		return "", err
	}
	record.CWD, record.Roots = folders.CWD, folders.Roots
	record.ID = in.server.sessions.deps.NewID("sess_")
	record.Hidden, record.DeletedAt, record.Messages = true, time.Time{}, 0
	if err := in.open(record.ID); err != nil {
		return "", err
	}
	if err := in.server.store.Commit(ctx, history.Change{Session: record.ID, Create: &record}); err != nil {
		in.close(record.ID)
		return "", fmt.Errorf("import: %w", err)
	}
	return record.ID, nil
}

// take stores lines, 500 messages in one transaction at most.
func (in *imports) take(ctx context.Context, id string, lines []transferLine) error {
	for len(lines) > 0 {
		n := min(len(lines), transferLines)
		ch := history.Change{Session: id}
		for i := range lines[:n] {
			if err := addLine(&ch, &lines[i]); err != nil {
				return err
			}
		}
		if err := in.server.store.Commit(ctx, ch); err != nil {
			return fmt.Errorf("import: %w", err)
		}
		lines = lines[n:]
	}
	return nil
}

// addLine adds a line to a change, with ids that are the imported session's own.
func addLine(ch *history.Change, line *transferLine) error {
	own := func(id string) string { return ownID(ch.Session, id) }
	switch {
	case line.Message != nil:
		m := *line.Message
		if m.Seq < 1 || !m.Role.Valid() {
			return invalidParams("lines: a message without sequence number or role")
		}
		if _, err := history.ParseMeta(m.Meta); err != nil {
			return invalidParams("lines: message %s: meta: %s", clip(m.ID), err)
		}
		ch.Messages = append(ch.Messages, m.WithIDs(own))
	case line.Edit != nil:
		e := *line.Edit
		if e.Seq < 1 {
			return invalidParams("lines: an edit without sequence number")
		}
		ch.Edits = append(ch.Edits, e.WithIDs(own))
	case line.File != nil:
		ch.PutFiles = append(ch.PutFiles, history.File{Path: line.File.Path, State: line.File.State, Buffer: line.File.Buffer})
	case line.Call != nil:
		c := *line.Call
		c.ID, c.Turn = own(c.ID), own(c.Turn)
		ch.Calls = append(ch.Calls, c)
	default:
		return invalidParams("lines: a line of type %q", clip(line.Type))
	}
	return nil
}

// crockford is the alphabet of ULIDs.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// ownID maps an id of an exported session to one of the session made of it: the same for the same id,
// so that references between pages hold without a table. Of 128 bits of a hash 125 fit a ULID's form.
func ownID(session, id string) string {
	if id == "" {
		return ""
	}
	prefix, _, found := strings.Cut(id, "_")
	if !found || len(prefix) > 8 {
		prefix = "id"
	}
	sum := sha256.Sum256([]byte(session + "\x00" + id))
	return prefix + "_" + "0" + crockford.EncodeToString(sum[:16])[:25]
}

func (in *imports) open(id string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.all) >= maxImports {
		return &rpc.Error{Code: codeBusy, Message: fmt.Sprintf("%d imports and forks are under way already", maxImports)}
	}
	in.all[id] = struct{}{}
	return nil
}

func (in *imports) known(id string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, known := in.all[id]
	return known
}

func (in *imports) close(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.all, id)
}

// finish shows the session.
func (in *imports) finish(ctx context.Context, id string) (importResult, error) {
	if err := in.server.store.ImportShow(ctx, id); err != nil {
		return importResult{}, fmt.Errorf("import: %w", err)
	}
	in.close(id)
	record, err := in.server.store.Session(ctx, id)
	if err != nil {
		return importResult{}, fmt.Errorf("import: %w", err)
	}
	in.server.monitors.created(record)
	return importResult{SessionID: id}, nil
}
