package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
)

// RefusedError says that a path is not taken, and why.
type RefusedError = filecontext.RefusedError

// UnknownFileError says that a file is not in the context.
type UnknownFileError struct{ Path string }

func (e *UnknownFileError) Error() string {
	return fmt.Sprintf("%s is not in the session's context", filecontext.Printable(e.Path))
}

// FileRange is a range of lines, from 1, both ends included.
type FileRange = filecontext.Range

// FileRequest asks for a file to be taken into the context.
type FileRequest struct {
	Path        string     // relative to the working folder, absolute, or a file: URI
	Content     *string    // the client's unsaved text; nil: as it is on disk
	Summary     bool       // only its outline is wanted
	Range       *FileRange // only these lines
	Once        bool       // it leaves after the next reply
	LineNumbers bool
}

// FileInfo is a file of the context.
type FileInfo struct {
	Path        string     `json:"path"`
	State       string     `json:"state"`
	Reason      string     `json:"reason,omitempty"`
	Tokens      int        `json:"tokens"`
	Hash        string     `json:"hash"` // SHA-256 of the whole content
	Range       *FileRange `json:"range,omitempty"`
	Once        bool       `json:"once,omitempty"`
	LineNumbers bool       `json:"lineNumbers,omitempty"`
	Unsaved     bool       `json:"unsaved,omitempty"` // the client's text, not the disk's
}

// FileText is the content of a file as a request would hold it.
type FileText struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Hash    string `json:"hash"`
}

// attachment is a file that was read and is to be taken in.
type attachment struct {
	content filecontext.Content
	options filecontext.AddOptions
}

// AddFile takes a file into the context. The next request holds it.
func (s *Session) AddFile(req FileRequest, reply func(FileInfo, error)) {
	fail := func(err error) { reply(FileInfo{}, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			roots, err := s.context.needRoots()
			if err != nil {
				return nil, err
			}
			files := s.context.files.List()
			return func(ctx context.Context) (step, error) {
				a, err := read(ctx, roots, files, req)
				if err != nil {
					return nil, err
				}
				return func() (work, error) { return s.storeFile(a, reply) }, nil
			}, nil
		}})
	}, fail)
}

// read reads the file that a request names. Of one of the given files that has the client's unsaved text, that is its
// content, whether or not the disk has the file.
func read(ctx context.Context, roots *filecontext.Roots, files []filecontext.Entry, req FileRequest) (attachment, error) {
	ref, err := roots.Locate(req.Path)
	if err != nil {
		return attachment{}, err
	}
	a := attachment{options: filecontext.AddOptions{
		Reason: "asked for", Range: ref.Lines, Once: req.Once, LineNumbers: req.LineNumbers, Unsaved: req.Content != nil,
	}}
	if req.Range != nil {
		a.options.Range = *req.Range
	}
	if req.Summary {
		a.options.State = filecontext.SummaryOnly
	}
	unsaved := slices.IndexFunc(files, func(e filecontext.Entry) bool { return e.Unsaved && e.Path == ref.Path })
	switch {
	case req.Content != nil:
		a.content, err = roots.Buffer(ref, *req.Content)
	case unsaved >= 0:
		a.content = files[unsaved].Content
	default:
		a.content, err = roots.Read(ctx, ref)
	}
	return a, err
}

// storeFile stores a file that was read, takes it in, and answers.
func (s *Session) storeFile(a attachment, reply func(FileInfo, error)) (work, error) {
	e, err := s.context.files.Try(a.content, a.options)
	if err != nil {
		return nil, err
	}
	facts, counter := s.context.facts, s.context.counter
	stored := func() {
		if _, err := s.context.files.Put(a.content, a.options); err != nil {
			reply(FileInfo{}, err)
			return
		}
		s.tellFiles(FileChange{Path: e.Path, Change: "added", Reason: a.options.Reason})
		reply(fileInfo(e, facts.tokens(e, counter)), nil)
	}
	return func(ctx context.Context) (step, error) {
		facts.tokens(e, counter) // counted here, not on the mailbox
		return s.store("store file "+e.Path, history.Change{PutFiles: []history.File{history.File(e.Stored())}}, stored)(ctx)
	}, nil
}

func (s *Session) tellFiles(changes ...FileChange) {
	s.active = s.deps.Now()
	if len(changes) > 0 {
		s.emit(Event{Kind: EventFilesChanged, Data: FilesChanged{Files: changes}})
	}
}

func fileInfo(e filecontext.Entry, tokens int) FileInfo {
	state, reason := e.Availability()
	f := FileInfo{
		Path: e.Path, State: string(state), Reason: reason, Tokens: tokens, Hash: e.Hash,
		Once: e.Once, LineNumbers: e.LineNumbers, Unsaved: e.Unsaved,
	}
	if lines := e.Visible(); !lines.IsWhole() {
		f.Range = &lines
	}
	return f
}

// RemoveFile takes a file out of the context and tells whether it was in.
func (s *Session) RemoveFile(path string, reply func(bool, error)) {
	fail := func(err error) { reply(false, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			e, in := s.context.files.Get(s.context.name(path))
			if !in {
				reply(false, nil)
				return nil, nil
			}
			return s.store("remove file "+e.Path, history.Change{DropFiles: []string{e.Path}}, func() {
				reply(s.context.files.Remove(e.Path), nil)
				s.tellFiles(FileChange{Path: e.Path, Change: "removed", Reason: "asked for"})
			}), nil
		}})
	}, fail)
}

// ClearFiles takes all files out and tells how many there were.
func (s *Session) ClearFiles(reply func(int, error)) {
	fail := func(err error) { reply(0, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			var paths []string
			var changes []FileChange
			for _, e := range s.context.files.List() {
				paths = append(paths, e.Path)
				changes = append(changes, FileChange{Path: e.Path, Change: "removed", Reason: "asked for"})
			}
			return s.store("remove all files", history.Change{DropFiles: paths}, func() {
				reply(s.context.files.Clear(), nil)
				s.tellFiles(changes...)
			}), nil
		}})
	}, fail)
}

// Files lists the files of the context by path. It changes nothing: what happened to them on disk is taken
// over and told before the next request.
func (s *Session) Files(reply func([]FileInfo, error)) {
	s.post(func() {
		entries, facts, counter, roots := s.context.files.List(), s.context.facts, s.context.counter, s.context.roots
		s.spawn(func() {
			infos := make([]FileInfo, len(entries))
			for i, e := range entries {
				if facts.lack(e, counter) {
					e, _ = present(s.ctx, roots, e) // one that cannot be read is listed as it was
				}
				infos[i] = fileInfo(e, facts.tokens(e, counter))
			}
			reply(infos, nil)
		})
	}, func(err error) { reply(nil, err) })
}

// FileContent returns a file of the context as a request would hold it now.
func (s *Session) FileContent(path string, reply func(FileText, error)) {
	fail := func(err error) { reply(FileText{}, err) }
	s.post(func() {
		e, in := s.context.files.Get(s.context.name(path))
		if !in {
			fail(&UnknownFileError{Path: path})
			return
		}
		roots := s.context.roots
		s.spawn(func() {
			e, err := present(s.ctx, roots, e)
			reply(FileText{Path: e.Path, Content: e.Text, Hash: e.Hash}, err)
		})
	}, fail)
}

// present returns an entry with the content that the file has now.
func present(ctx context.Context, roots *filecontext.Roots, e filecontext.Entry) (filecontext.Entry, error) {
	if e.Unsaved || roots == nil {
		return e, nil
	}
	ref, err := roots.Locate(e.Path)
	if err != nil {
		return e, err
	}
	content, err := roots.Read(ctx, ref)
	if err == nil {
		e.Content = content
	}
	return e, err
}

// FilesChanged takes note that the client wrote files: the disk counts for them from now on. It tells
// which of them have another content than before.
func (s *Session) FilesChanged(paths []string, reply func(changed []string, err error)) {
	fail := func(err error) { reply(nil, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			roots, err := s.context.needRoots()
			if err != nil {
				return nil, err
			}
			entries := s.context.saved(paths)
			return func(ctx context.Context) (step, error) {
				changes, err := roots.Refresh(ctx, entries)
				if err != nil {
					return nil, fmt.Errorf("look at changed files: %w", err)
				}
				return func() (work, error) { return s.storeRefreshed(changes, entries, reply), nil }, nil
			}, nil
		}})
	}, fail)
}

// storeRefreshed takes over what was found about files that the client wrote, stores it and answers.
func (s *Session) storeRefreshed(changes []filecontext.Change, entries []filecontext.Entry, reply func([]string, error)) work {
	changed := []string{}
	for _, c := range s.filesRefreshed(changes) {
		changed = append(changed, c.Path)
	}
	for _, e := range entries {
		s.context.dirty[e.Path] = true
	}
	put, drop := s.context.takeDirty()
	return s.store("store changed files", history.Change{PutFiles: put, DropFiles: drop}, func() { reply(changed, nil) })
}

// filesRefreshed takes over what a look at the disk found, and tells the subscribers.
func (s *Session) filesRefreshed(changes []filecontext.Change) []filecontext.Change {
	told := s.context.files.Apply(changes)
	events := make([]FileChange, len(told))
	for i, c := range told {
		s.context.dirty[c.Path] = true
		events[i] = FileChange{Path: c.Path, Change: string(c.Kind), Reason: string(c.Reason)}
	}
	s.tellFiles(events...)
	if text := lostFiles(told); text != "" {
		s.emit(Event{Kind: EventNotice, Text: text})
	}
	return told
}

// maxLostNamed bounds the files that a notice names.
const maxLostNamed = 10

// lostFiles says which files can be sent no more, and why; empty where there are none.
func lostFiles(changes []filecontext.Change) string {
	var lost []string
	for _, c := range changes {
		switch c.Kind {
		case filecontext.Deleted:
			lost = append(lost, filecontext.Printable(c.Path)+" was deleted and has left the context")
		case filecontext.Unreadable:
			lost = append(lost, filecontext.Printable(c.Path)+" cannot be sent any more: it "+c.Reason.Explain())
		}
	}
	if more := len(lost) - maxLostNamed; more > 0 {
		lost = append(lost[:maxLostNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lost, "; ")
}

// openRoots opens the session's folders. Where one is gone the session goes on without files.
func (m *ContextManager) openRoots(record history.Session) {
	for _, folder := range slices.Concat([]string{record.CWD}, record.Roots) {
		if err := m.deps.allowed(folder); err != nil {
			m.roots, m.rootsErr = nil, err
			return
		}
	}
	m.roots, m.rootsErr = filecontext.NewRoots(record.CWD, record.Roots, m.deps.Files)
}

// allowed returns an error where no session may work in a folder.
func (d *Deps) allowed(folder string) error {
	if d.Allowed == nil {
		return nil
	}
	return d.Allowed(folder)
}

// needRoots returns the session's folders, or why there are none.
func (m *ContextManager) needRoots() (*filecontext.Roots, error) {
	if m.roots == nil {
		return nil, fmt.Errorf("%w: the session's folder cannot be opened: %w", ErrInvalid, m.rootsErr)
	}
	return m.roots, nil
}

// name returns a path as the context knows it.
func (m *ContextManager) name(path string) string {
	if m.roots != nil {
		if ref, err := m.roots.Locate(path); err == nil {
			return ref.Path
		}
	}
	return path
}

// saved notes that the client wrote files and returns their entries.
func (m *ContextManager) saved(paths []string) []filecontext.Entry {
	var entries []filecontext.Entry
	for _, path := range paths {
		path = m.name(path)
		if m.files.Saved(path) {
			e, _ := m.files.Get(path)
			entries = append(entries, e)
		}
	}
	return entries
}

// FileCount returns how many files the context holds.
func (m *ContextManager) FileCount() int { return m.files.Len() }

// takeDirty returns the files whose stored form is behind.
func (m *ContextManager) takeDirty() (put []history.File, drop []string) {
	for path := range m.dirty {
		if e, in := m.files.Get(path); in {
			put = append(put, history.File(e.Stored()))
		} else {
			drop = append(drop, path)
		}
	}
	clear(m.dirty)
	return put, drop
}

// untakeDirty notes that the files of a change could not be stored.
func (m *ContextManager) untakeDirty(change history.Change) {
	for _, f := range change.PutFiles {
		m.dirty[f.Path] = true
	}
	for _, path := range change.DropFiles {
		m.dirty[path] = true
	}
}

// hasBuffers reports whether the client's unsaved text counts for a file.
func (m *ContextManager) hasBuffers() bool {
	return slices.ContainsFunc(m.files.List(), func(e filecontext.Entry) bool { return e.Unsaved })
}

// forgetBuffers makes the disk count for all files.
func (m *ContextManager) forgetBuffers() {
	for _, e := range m.files.List() {
		if e.Unsaved {
			m.files.Saved(e.Path)
			m.dirty[e.Path] = true
		}
	}
}
