package transfer

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"strata/historystore"
	"strata/server/wire"
)

// Page is a page of an export.
type Page struct {
	Lines      []Line `json:"lines"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Export returns a page of a session: first its header, edits and files, then its messages, then its usage log.
// A cursor is "m:" and an index into the transcript, or "c:" and a cursor of the usage log. The error wraps
// history.ErrNotFound if the session does not exist.
func Export(ctx context.Context, store *historystore.Store, id, cursor string) (Page, error) {
	stage, rest, _ := strings.Cut(cursor, ":")
	switch stage {
	case "":
		return exportHead(ctx, store, id)
	case "m":
		if from, err := strconv.Atoi(rest); err == nil && from >= 0 {
			return exportMessages(ctx, store, id, from)
		}
	case "c":
		return exportCalls(ctx, store, id, rest)
	}
	return Page{}, wire.InvalidParams("params.cursor: not a cursor of this export")
}

func exportHead(ctx context.Context, store *historystore.Store, id string) (Page, error) {
	l, err := store.Load(ctx, id)
	if err != nil {
		return Page{}, err
	}
	l.Session.Config.Rules = nil
	p := Page{NextCursor: "m:0", Lines: []Line{{Type: "header", Header: &Header{Format: Format, Version: Version, Session: l.Session}}}}
	for i := range l.Edits {
		p.Lines = append(p.Lines, Line{Type: "edit", Edit: &l.Edits[i]})
	}
	for _, f := range l.Files {
		p.Lines = append(p.Lines, Line{Type: "file", File: &File{Path: f.Path, State: f.State, Buffer: f.Buffer}})
	}
	return p, nil
}

func exportMessages(ctx context.Context, store *historystore.Store, id string, from int) (Page, error) {
	l, err := store.Load(ctx, id)
	if err != nil {
		return Page{}, err
	}
	seqs, rest := page(l.Heads[min(from, len(l.Heads)):])
	messages, err := store.Messages(ctx, id, seqs)
	if err != nil {
		return Page{}, err
	}
	p := Page{Lines: []Line{}, NextCursor: fmt.Sprintf("m:%d", len(l.Heads)-len(rest))}
	if len(rest) == 0 {
		p.NextCursor = "c:"
	}
	for i := range messages {
		p.Lines = append(p.Lines, Line{Type: "message", Message: &messages[i]})
	}
	return p, nil
}

func exportCalls(ctx context.Context, store *historystore.Store, id, cursor string) (Page, error) {
	calls, next, err := store.Calls(ctx, id, cursor, pageLines)
	if err != nil {
		return Page{}, err
	}
	p := Page{Lines: []Line{}}
	if next != "" {
		p.NextCursor = "c:" + next
	}
	for i := range calls {
		p.Lines = append(p.Lines, Line{Type: "call", Call: &calls[i]})
	}
	return p, nil
}
