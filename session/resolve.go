package session

import (
	"context"
	"strings"

	"strata/filecontext"
	"strata/history"
)

// resolve reads the files that the blocks of a prompt name. A link or an embedded text of a file in the
// session's folders brings that file into the context; in the message a link to it remains. What cannot
// be read stays in the message as it is and is named in leftOut; it never fails a prompt.
func (s *snapshot) resolve(ctx context.Context, blocks []history.Block) admission {
	var a admission
	for _, b := range blocks {
		switch b.Type {
		case history.BlockLink:
			if file, reason := s.linked(ctx, b.URI); reason == "" {
				a.files = append(a.files, file)
			} else {
				a.leftOut = append(a.leftOut, LeftOut{Key: b.URI, Reason: reason})
			}
		case history.BlockResource:
			if file, ok := s.embedded(ctx, &b); ok {
				a.files = append(a.files, file)
				b = history.Block{Type: history.BlockLink, URI: b.URI, Name: file.content.Path}
			}
		case history.BlockText:
			if b.Text == "" {
				continue
			}
		}
		a.message.Blocks = append(a.message.Blocks, b)
	}
	measure(a.message.Blocks)
	return a
}

// The reasons for which a link brings no file, beside those of filecontext.
const (
	reasonNoFile   = "not_a_file"
	reasonNoFolder = "folder_missing"
)

// linked reads the file that a link names; reason says why it cannot.
func (s *snapshot) linked(ctx context.Context, uri string) (file attachment, reason string) {
	switch {
	case !isFileURI(uri):
		return file, reasonNoFile
	case s.roots == nil:
		return file, reasonNoFolder
	}
	file, err := read(ctx, s.roots, s.files, FileRequest{Path: uri})
	if err != nil {
		return file, string(filecontext.ReasonOf(err))
	}
	file.options.Reason = "linked in a prompt"
	return file, ""
}

// embedded returns the file whose unsaved text a prompt brings. A text from outside the session's
// folders is none, nor is one of some lines of a file.
func (s *snapshot) embedded(ctx context.Context, b *history.Block) (attachment, bool) {
	if s.roots == nil || !isFileURI(b.URI) {
		return attachment{}, false
	}
	file, err := read(ctx, s.roots, s.files, FileRequest{Path: b.URI, Content: &b.Text})
	if err != nil || !file.options.Range.IsWhole() {
		return attachment{}, false
	}
	file.options.Reason = "embedded in a prompt"
	return file, true
}

func isFileURI(uri string) bool {
	return len(uri) >= len("file:") && strings.EqualFold(uri[:len("file:")], "file:")
}

// tryFiles returns the files of a prompt in their stored form. One that does not fit the context is left out.
func (m *ContextManager) tryFiles(a *admission) []history.File {
	var stored []history.File
	fitting := a.files[:0]
	for _, file := range joined(a.files) {
		if !m.adapt(&file) {
			continue
		}
		e, err := m.files.Try(file.content, file.options)
		if err != nil {
			a.leftOut = append(a.leftOut, LeftOut{Key: "file:" + file.content.Path, Reason: string(filecontext.ReasonOf(err))})
			continue
		}
		fitting = append(fitting, file)
		stored = append(stored, history.File(e.Stored()))
	}
	a.files = fitting
	return stored
}

// joined returns the files of a prompt, each once, although it may be named several times: all that is
// asked for of it is shown, and the client's own text counts.
func joined(files []attachment) []attachment {
	var out []attachment
	at := make(map[string]int)
	for _, f := range files {
		i, again := at[f.content.Path]
		if !again {
			at[f.content.Path] = len(out)
			out = append(out, f)
			continue
		}
		one := &out[i]
		one.options.Range = hull(one.options.Range, f.options.Range)
		if f.options.Unsaved {
			one.content, one.options.Unsaved = f.content, true
		}
	}
	return out
}

// hull returns the smallest range that holds both.
func hull(a, b filecontext.Range) filecontext.Range {
	if a.IsWhole() || b.IsWhole() {
		return filecontext.Range{}
	}
	return filecontext.Range{Start: min(a.Start, b.Start), End: max(a.End, b.End)}
}

// adapt makes a file of a prompt show no less than it does already. It reports false where all that is
// asked for is shown.
func (m *ContextManager) adapt(file *attachment) bool {
	old, in := m.files.Get(file.content.Path)
	if !in {
		return true
	}
	file.options.LineNumbers = old.LineNumbers
	if old.State == filecontext.SummaryOnly || file.options.Unsaved {
		return true
	}
	before := old.Range
	if old.State == filecontext.Full {
		before = filecontext.Range{}
	}
	asked := file.options.Range
	file.options.Range = hull(before, asked)
	return file.options.Range != before || old.Once && asked.IsWhole()
}

// begin takes a stored prompt in.
func (m *ContextManager) begin(a *admission) {
	for _, file := range a.files {
		if _, err := m.files.Put(file.content, file.options); err != nil {
			a.leftOut = append(a.leftOut, LeftOut{Key: "file:" + file.content.Path, Reason: string(filecontext.ReasonOf(err))})
		}
	}
	m.append([]history.Message{a.message})
}
