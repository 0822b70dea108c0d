package transfer

import (
	"context"
	"errors"
	"fmt"

	"strata/history"
	"strata/historystore"
	"strata/internal/clip"
	"strata/internal/exact"
	"strata/server/wire"
	"strata/session/workspace"
)

// importPage is the lines of a page of an import.
type importPage struct {
	session string
	lines   []Line
	first   int // index of the first line in the request
}

// store stores a page in transactions of at most pageLines. Nothing is stored of a page with a wrong line. The newest page
// can be sent again, if storing failed midway or if its response was lost: what is stored stays as it is.
func (in *Importer) store(ctx context.Context, so *openImport, p importPage) error {
	so.mu.Lock()
	defer so.mu.Unlock()
	names := p.names()
	next, err := so.next(names, p)
	if err != nil {
		return err
	}
	stored := len(next.stored)
	p.lines, p.first = p.lines[stored:], p.first+stored
	changes, err := p.changes()
	if err == nil {
		err = in.refuseDuplicates(ctx, p)
	}
	if err != nil {
		return err
	}
	so.newest = next
	for _, ch := range changes {
		err := in.Store.Commit(ctx, ch)
		switch {
		case errors.Is(err, historystore.ErrDuplicate):
			return wire.InvalidParams("params.lines: another import has stored a line of this page")
		case err != nil:
			return fmt.Errorf("import: %w", err)
		}
		stored = min(stored+pageLines, len(names))
		so.newest.stored = names[:stored]
	}
	return nil
}

// changes returns the transactions that store the page.
func (p *importPage) changes() (changes []history.Change, err error) {
	for i := range p.lines {
		if i%pageLines == 0 {
			changes = append(changes, history.Change{Session: p.session})
		}
		if err := addLine(&changes[len(changes)-1], &p.lines[i]); err != nil {
			return nil, wire.InvalidParams("params.lines[%d].%s", p.first+i, err)
		}
	}
	return changes, nil
}

// addLine adds a line to a change, with the ids of the new session. The error starts with the path below the line.
func addLine(ch *history.Change, line *Line) error {
	own := func(id string) string { return ownID(ch.Session, id) }
	switch {
	case line.Message != nil:
		m := line.Message
		if err := checkMessage(m); err != nil {
			return fmt.Errorf("message.%w", err)
		}
		ch.Messages = append(ch.Messages, m.WithIDs(own))
	case line.Edit != nil:
		if err := checkPlace(line.Edit.ID, line.Edit.Seq); err != nil {
			return fmt.Errorf("edit.%w", err)
		}
		ch.Edits = append(ch.Edits, line.Edit.WithIDs(own))
	case line.File != nil:
		if line.File.Path == "" {
			return exact.Missing("file.path")
		}
		file := history.File{Path: line.File.Path, State: line.File.State, Buffer: line.File.Buffer}
		ch.PutFiles = append(ch.PutFiles, workspace.Imported(file))
	case line.Call != nil:
		c := *line.Call
		if c.ID == "" {
			return exact.Missing("call.id")
		}
		if err := c.Check(); err != nil {
			return fmt.Errorf("call.%w", err)
		}
		c.ID, c.Turn = own(c.ID), own(c.Turn)
		ch.Calls = append(ch.Calls, c)
	default:
		return &exact.Error{Path: "type", Want: fmt.Sprintf("unknown line type %q", clip.Name(line.Type))}
	}
	return nil
}

func checkMessage(m *history.Message) error {
	if err := checkPlace(m.ID, m.Seq); err != nil {
		return err
	}
	switch {
	case !m.Role.Valid():
		return &exact.Error{Path: "role", Want: "must be user, assistant or tool"}
	case m.Tokens < 0 || m.Tokens > history.MaxTokens:
		return &exact.Error{Path: "tokens", Want: fmt.Sprintf("must be a whole number from 0 to %d", history.MaxTokens)}
	}
	if err := history.CheckShown(m.Blocks); err != nil {
		return fmt.Errorf("blocks%w", err)
	}
	_, err := history.ParseMeta(m.Meta)
	return err
}

// maxSeq is the maximum sequence number of a line: a session never comes near it.
const maxSeq = 1 << 40

func checkPlace(id string, seq int64) error {
	switch {
	case id == "":
		return exact.Missing("id")
	case seq < 1 || seq > maxSeq:
		return &exact.Error{Path: "seq", Want: fmt.Sprintf("must be a whole number from 1 to %d", maxSeq)}
	}
	return nil
}

// identity returns what no two lines of a session share: kind and id, and the sequence number, 0 for none.
func (l *Line) identity() (kind, id string, seq int64) {
	switch {
	case l.Message != nil:
		return "message", l.Message.ID, l.Message.Seq
	case l.Edit != nil:
		return "edit", l.Edit.ID, l.Edit.Seq
	case l.Call != nil:
		return "call", l.Call.ID, 0
	}
	return "", "", 0
}

// refuseDuplicates returns an error that names the first line with an id or a number that another line of the session has,
// in this page or in an earlier one.
func (in *Importer) refuseDuplicates(ctx context.Context, p importPage) error {
	var ids []string
	var seqs []int64
	for i := range p.lines {
		if kind, id, seq := p.lines[i].identity(); kind != "" {
			ids, seqs = append(ids, ownID(p.session, id)), append(seqs, seq)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	taken, err := in.Store.Taken(ctx, p.session, ids, seqs)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	byKind := map[string]map[string]bool{"message": taken.Messages, "edit": taken.Edits, "call": taken.Calls}
	for i := range p.lines {
		kind, id, seq := p.lines[i].identity()
		own := ownID(p.session, id)
		switch {
		case kind == "":
			continue
		case byKind[kind][own]:
			return wire.InvalidParams("params.lines[%d].%s.id: another line has the id %s", p.first+i, kind, clip.Name(id))
		case seq != 0 && taken.Seqs[seq]:
			return wire.InvalidParams("params.lines[%d].%s.seq: another line has the number %d", p.first+i, kind, seq)
		}
		byKind[kind][own], taken.Seqs[seq] = true, true
	}
	return nil
}
