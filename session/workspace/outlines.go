package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/filecontext/outline"
	"strata/history"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/session/outlines"
	"strata/session/reads"
	"strata/tokens"
)

// OutlineInfo is the outline of a file, and how much of the file the model is shown.
type OutlineInfo struct {
	Path     string       `json:"path"`
	State    string       `json:"state"`
	Reason   string       `json:"reason,omitempty"`
	Hash     string       `json:"hash"`     // SHA-256 of the whole content
	Language string       `json:"language"` // empty: no outlines for this kind of file
	Partial  bool         `json:"partial,omitempty"`
	Imports  []ImportInfo `json:"imports"`
	Symbols  []SymbolInfo `json:"symbols"`
	Text     string       `json:"text"` // as a request would contain it, but for abbreviations
	Tokens   int          `json:"tokens"`
}

// ImportInfo is an import of a file.
type ImportInfo struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

// SymbolInfo is a definition in a file.
type SymbolInfo struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Signature string `json:"signature"`
	Line      int    `json:"line"` // the first, from 1
	EndLine   int    `json:"endLine"`
	Depth     int    `json:"depth"` // number of definitions around it
}

// newOutlineInfo returns what there is to tell of a file; o is nil for a file without an outline.
func newOutlineInfo(e *filecontext.Entry, o *outline.Outline) OutlineInfo {
	info := OutlineInfo{Path: e.Path, Hash: e.Hash, Imports: []ImportInfo{}, Symbols: []SymbolInfo{}}
	if o == nil {
		return info
	}
	info.Language, info.Partial, info.Text = o.Language, o.Partial, outlines.Text(e.Path, o)
	for _, i := range o.Imports {
		info.Imports = append(info.Imports, ImportInfo{Path: i.Path, Line: i.Line})
	}
	for i := range o.Symbols {
		y := &o.Symbols[i]
		info.Symbols = append(info.Symbols, SymbolInfo{
			Name: y.Name, Kind: y.Kind, Signature: y.Signature, Line: y.Line, EndLine: y.EndLine, Depth: y.Depth,
		})
	}
	return info
}

// Outline returns the outline of a file of the session's folders as the file is now, in the context or not.
func (w *Workspace) Outline(path string, reply func(OutlineInfo, error)) {
	mailbox.Ask(w.box, reply, func() {
		roots, err := w.needRoots()
		if err != nil {
			reply(OutlineInfo{}, err)
			return
		}
		e, in := w.files.Get(w.name(path))
		if !in {
			e.Path = path
		}
		state, reason := w.shownState(&e, in)
		name, shown, counter := w.name(path), w.host.Shown(), w.host.Counter()
		w.box.Spawn(func() {
			ctx := w.box.Context()
			if f, err := readFile(ctx, shown, name); err == nil && !in && f.State != "" {
				state, reason = string(f.State), f.Reason
			}
			e, err := present(ctx, roots, e)
			if err != nil {
				reply(OutlineInfo{}, err)
				return
			}
			o, err := w.outlines.Of(ctx, &e)
			info := newOutlineInfo(&e, o)
			info.State, info.Reason, info.Tokens = state, reason, counter.CountContext(ctx, info.Text)
			reply(info, err)
		})
	})
}

// shownState returns how much of a file the model is shown, and why.
func (w *Workspace) shownState(e *filecontext.Entry, in bool) (state, reason string) {
	if in {
		s, reason := e.Availability()
		return string(s), reason
	}
	name := w.name(e.Path)
	if slices.ContainsFunc(w.host.Outlined(), func(o outlines.Shown) bool { return o.Key == fit.OutlinePrefix+name }) {
		return string(filecontext.SummaryOnly), reasonOutline
	}
	return string(filecontext.NotAvailable), ""
}

// readFile returns the file with a name if the requests show lines of it that tools read, otherwise one without a state.
func readFile(ctx context.Context, shown Shown, name string) (reads.File, error) {
	files, err := shown.Read(ctx)
	i := slices.IndexFunc(files, func(f reads.File) bool { return f.Path == name && f.State != filecontext.NotAvailable })
	if i < 0 {
		return reads.File{}, err
	}
	return files[i], nil
}

// reasonOutline is why a file that nobody added is known to the model.
const reasonOutline = "outline of the workspace"

// SearchOutlines searches the definitions and the files of the session's working folder.
func (w *Workspace) SearchOutlines(query string, limit int, reply func(outlines.Found, error)) {
	mailbox.Ask(w.box, reply, func() {
		w.box.Spawn(func() { reply(w.outlines.Search(w.box.Context(), query, limit)) })
	})
}

// Known selects the files that are listed besides those of the context.
type Known struct {
	Outlines bool // of which the newest answered request contained an outline
	Read     bool // that tools read
}

// KnownFiles lists the files of the context, and others, by path.
func (w *Workspace) KnownFiles(also Known, reply func([]FileInfo, error)) {
	mailbox.Ask(w.box, reply, func() {
		var outlined []outlines.Shown
		if also.Outlines {
			outlined = w.host.Outlined()
		}
		shown := w.host.Shown()
		w.Files(func(files []FileInfo, err error) {
			if err == nil && also.Read {
				files, err = withRead(w.box.Context(), files, shown)
			}
			reply(w.withOutlined(files, outlined), err)
		})
	})
}

// withRead returns the files with those that tools read.
func withRead(ctx context.Context, files []FileInfo, shown Shown) ([]FileInfo, error) {
	read, err := shown.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the files that tools read: %w", err)
	}
	for i := range read {
		files = append(files, readInfo(&read[i]))
	}
	return files, nil
}

// readInfo describes a file that tools read. Its tokens are those of messages.
func readInfo(f *reads.File) FileInfo {
	info := FileInfo{Path: f.Path, State: string(f.State), Reason: f.Reason, Hash: f.Hash, Read: true}
	if f.Lines != (history.Lines{}) {
		lines := FileRange(f.Lines)
		info.Range = &lines
	}
	return info
}

// withOutlined returns the files with those that have an outline only.
func (w *Workspace) withOutlined(files []FileInfo, outlined []outlines.Shown) []FileInfo {
	in := make(map[string]*FileInfo)
	for i := range files {
		in[files[i].Path] = &files[i]
	}
	var more []FileInfo
	for _, o := range outlined {
		path, ok := o.Path()
		f := in[path]
		switch {
		case !ok:
		case f == nil:
			more = append(more, FileInfo{
				Path: path, State: string(filecontext.SummaryOnly), Reason: reasonOutline, Tokens: o.Tokens, Hash: w.outlines.Hash(path),
			})
		case f.Read && f.State == string(filecontext.NotAvailable):
			f.State, f.Reason, f.Tokens = string(filecontext.SummaryOnly), reasonOutline, o.Tokens
		}
	}
	files = append(files, more...)
	slices.SortFunc(files, func(a, b FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// lacksText reports whether the text of a file is needed for its outline and is not in memory.
func lacksText(e *filecontext.Entry) bool {
	state, _ := e.Availability()
	return state == filecontext.SummaryOnly && e.Text == "" && e.Size > 0
}

// size returns the tokens that a file of the context adds to a request: those of its outline if only that is shown.
func (w *Workspace) size(ctx context.Context, e filecontext.Entry, counter *tokens.Counter) int {
	if state, _ := e.Availability(); state != filecontext.SummaryOnly {
		return w.cache.Tokens(e, counter)
	}
	o, err := w.outlines.Of(ctx, &e)
	if o == nil || err != nil {
		return 0
	}
	return counter.CountContext(ctx, outlines.Text(e.Path, o))
}

// checkOutline returns an error unless files of a name have outlines. on is whether any file has.
func checkOutline(name string, on bool) error {
	if !on {
		return outlines.ErrNone
	}
	if outline.LanguageOf(name) == "" {
		return &RefusedError{Path: name, Reason: filecontext.ReasonNoOutline}
	}
	return nil
}
