package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/session/reads"
)

// RefusedError says that a path is not taken, and why.
type RefusedError = filecontext.RefusedError

// UnknownFileError says that a file is not in the context.
type UnknownFileError struct{ Path string }

func (e *UnknownFileError) Error() string {
	return fmt.Sprintf("%s is not in the session's context", filecontext.Printable(clip.Path(e.Path)))
}

// Guard decides which files no session reads.
type Guard = filecontext.Guard

// GuardOptions are the rules of a Guard.
type GuardOptions = filecontext.GuardOptions

// NewGuard returns a Guard. The error names the folder or the pattern that cannot be used.
func NewGuard(opt GuardOptions) (*Guard, error) { return filecontext.NewGuard(opt) }

// BuiltinSecrets stands for the built-in patterns of secret-looking files.
const BuiltinSecrets = filecontext.BuiltinSecrets

// FileRange is a range of lines, from 1, both ends included.
type FileRange = filecontext.Range

// FileRequest asks for a file to be taken into the context.
type FileRequest struct {
	Path        string     // relative to the working folder, absolute, or a file: URI
	Content     *string    // the client's unsaved text; nil: as it is on disk
	Summary     bool       // only its outline is wanted
	Range       *FileRange // only these lines
	Once        bool       // it leaves after the next reply
	Pinned      *bool      // it is never evicted; nil: as before, and not if Once is set
	LineNumbers bool
	Allow       bool // it may look like a secret
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
	Pinned      bool       `json:"pinned,omitempty"` // never evicted
	LineNumbers bool       `json:"lineNumbers,omitempty"`
	Unsaved     bool       `json:"unsaved,omitempty"` // the client's text, not the disk's
	Read        bool       `json:"read,omitempty"`    // a tool read it, and it is not in the context
}

// FileText is the content of a file as a request would hold it.
type FileText struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Hash    string `json:"hash"`
}

// EditRefusedError says that a file may not be patched, and why.
type EditRefusedError = filecontext.EditRefusedError

// AddFile adds a file to the context. The next request contains it.
func (w *Workspace) AddFile(req FileRequest, reply func(FileInfo, error)) {
	mailbox.Change(w.box, reply, func() (mailbox.Work, error) {
		roots, err := w.needRoots()
		if err != nil {
			return nil, err
		}
		files := w.files.List()
		return func(ctx context.Context) (mailbox.Step, error) {
			a, err := Read(ctx, roots, files, req)
			if err == nil && req.Summary {
				err = checkOutline(a.content.Path, w.outlines.On())
			}
			if err != nil {
				return nil, err
			}
			return func() (mailbox.Work, error) {
				if old, in := w.files.Get(a.content.Path); in && req.Pinned == nil && !req.Once {
					a.options.Pinned = old.Pinned
				}
				return w.storeFile(a, reply)
			}, nil
		}, nil
	})
}

// storeFile stores a file that was read, adds it to the context, and replies.
func (w *Workspace) storeFile(a Attachment, reply func(FileInfo, error)) (mailbox.Work, error) {
	e, err := w.files.Try(a.content, a.options)
	if err != nil {
		return nil, err
	}
	counter, size := w.host.Counter(), 0
	stored := func() {
		if _, err := w.files.Put(a.content, a.options); err != nil {
			reply(FileInfo{}, err)
			return
		}
		w.tell(FileChange{Path: e.Path, Change: "added", Reason: a.options.Reason})
		w.remark(a)
		reply(fileInfo(e, size), nil)
	}
	return func(ctx context.Context) (mailbox.Step, error) {
		size = w.size(ctx, e, counter)
		return w.host.Store("store file "+e.Path, history.Change{PutFiles: []history.File{history.File(e.Stored())}}, stored)(ctx)
	}, nil
}

func fileInfo(e filecontext.Entry, tokens int) FileInfo {
	state, reason := e.Availability()
	f := FileInfo{
		Path: e.Path, State: string(state), Reason: reason, Tokens: tokens, Hash: e.Hash,
		Once: e.Once, Pinned: e.Pinned, LineNumbers: e.LineNumbers, Unsaved: e.Unsaved,
	}
	if lines := e.Visible(); !lines.IsWhole() {
		f.Range = &lines
	}
	return f
}

// RemoveFile removes a file from the context and tells whether it was there.
func (w *Workspace) RemoveFile(path string, reply func(bool, error)) {
	mailbox.Change(w.box, reply, func() (mailbox.Work, error) {
		e, in := w.files.Get(w.name(path))
		if !in {
			reply(false, nil)
			return nil, nil
		}
		return w.host.Store("remove file "+e.Path, history.Change{DropFiles: []string{e.Path}}, func() {
			reply(w.files.Remove(e.Path), nil)
			w.tell(FileChange{Path: e.Path, Change: "removed", Reason: "asked for"})
		}), nil
	})
}

// ClearFiles removes all files from the context and tells how many there were.
func (w *Workspace) ClearFiles(reply func(int, error)) {
	mailbox.Change(w.box, reply, func() (mailbox.Work, error) {
		var paths []string
		var changes []FileChange
		for _, e := range w.files.List() {
			paths = append(paths, e.Path)
			changes = append(changes, FileChange{Path: e.Path, Change: "removed", Reason: "asked for"})
		}
		return w.host.Store("remove all files", history.Change{DropFiles: paths}, func() {
			reply(w.files.Clear(), nil)
			w.tell(changes...)
		}), nil
	})
}

// Files lists the files of the context by path. It changes nothing: what happened to them on the disk is noted and told
// before the next request.
func (w *Workspace) Files(reply func([]FileInfo, error)) {
	mailbox.Ask(w.box, reply, func() {
		entries, counter, roots := w.files.List(), w.host.Counter(), w.roots
		w.box.Spawn(func() {
			infos := make([]FileInfo, len(entries))
			for i, e := range entries {
				if w.cache.Lacks(e, counter) || lacksText(&e) {
					e, _ = present(w.box.Context(), roots, e) // a file that cannot be read is listed as it was
				}
				infos[i] = fileInfo(e, w.size(w.box.Context(), e, counter))
			}
			reply(infos, nil)
		})
	})
}

// FileContent returns a file of the context as a request would contain it now.
func (w *Workspace) FileContent(path string, reply func(FileText, error)) {
	mailbox.Ask(w.box, reply, func() {
		e, in := w.files.Get(w.name(path))
		if !in {
			reply(FileText{}, &UnknownFileError{Path: path})
			return
		}
		roots := w.roots
		w.box.Spawn(func() {
			e, err := present(w.box.Context(), roots, e)
			reply(FileText{Path: e.Path, Content: e.Text, Hash: e.Hash}, err)
		})
	})
}

// present returns an entry with the content that the file has now.
func present(ctx context.Context, roots *filecontext.Roots, e filecontext.Entry) (filecontext.Entry, error) {
	if roots == nil {
		return e, nil
	}
	if e.Unsaved {
		changes, err := roots.Refresh(ctx, []filecontext.Entry{e})
		for i := range changes { // at most one, with the content of the disk or the unsaved text
			e = changes[i].On(e)
		}
		return e, err
	}
	ref, err := roots.Locate(e.Path)
	if err != nil {
		return e, err
	}
	ref.Allow = e.Allowed
	content, err := roots.Read(ctx, ref)
	if err == nil {
		e.Content = content
	}
	return e, err
}

// FilesChanged notes that the client wrote files: their content is that of the disk from now on. It tells which of them
// have another content than before.
func (w *Workspace) FilesChanged(paths []string, reply func(changed []string, err error)) {
	mailbox.Change(w.box, reply, func() (mailbox.Work, error) {
		roots, err := w.needRoots()
		if err != nil {
			return nil, err
		}
		entries := w.saved(paths)
		return func(ctx context.Context) (mailbox.Step, error) {
			changes, err := roots.Refresh(ctx, entries)
			if err != nil {
				return nil, fmt.Errorf("look at changed files: %w", err)
			}
			return func() (mailbox.Work, error) { return w.storeRefreshed(changes, entries, reply), nil }, nil
		}, nil
	})
}

// saved notes that the client wrote files and returns their entries.
func (w *Workspace) saved(paths []string) []filecontext.Entry {
	var entries []filecontext.Entry
	for _, path := range paths {
		path = w.name(path)
		if w.files.Saved(path) {
			e, _ := w.files.Get(path)
			entries = append(entries, e)
		}
	}
	return entries
}

// storeRefreshed takes in what was found of files that the client wrote, stores it and replies.
func (w *Workspace) storeRefreshed(changes []filecontext.Change, entries []filecontext.Entry, reply func([]string, error)) mailbox.Work {
	changed := []string{}
	for _, c := range w.Refreshed(changes) {
		changed = append(changed, c.Path)
	}
	for _, e := range entries {
		w.dirty[e.Path] = true
	}
	var change history.Change
	w.TakeDirty(&change)
	return w.host.Store("store changed files", change, func() { reply(changed, nil) })
}

// EditRequest asks whether a file may be patched.
type EditRequest struct {
	Path  string
	Base  string     // hash of the version to patch; empty: the present one
	Lines *FileRange // that the patch concerns; nil: all
}

// CheckEdit tells whether a file may be patched: a request contained all of its present version, as a file of the context or
// in messages, or the lines that are named, and that is the version with the hash Base if one is given. The error is otherwise
// an *EditRefusedError, or a *RefusedError for lines that no file has.
func (w *Workspace) CheckEdit(req EditRequest, reply func(struct{}, error)) {
	mailbox.Change(w.box, reply, func() (mailbox.Work, error) {
		roots, err := w.needRoots()
		if err != nil {
			return nil, err
		}
		if l := req.Lines; l != nil && (l.Start < 1 || l.End < l.Start) {
			return nil, &RefusedError{Path: req.Path, Reason: filecontext.ReasonRange}
		}
		name, shown := w.name(req.Path), w.host.Shown()
		var entries []filecontext.Entry
		if e, in := w.files.Get(name); in {
			entries = append(entries, e)
		}
		return func(ctx context.Context) (mailbox.Step, error) {
			changes, err := roots.Refresh(ctx, entries)
			if err != nil {
				return nil, fmt.Errorf("look at %s: %w", name, err)
			}
			return func() (mailbox.Work, error) {
				w.Refreshed(changes)
				refused := w.files.CheckEdit(name, req.Base)
				if refused == nil {
					reply(struct{}{}, nil)
					return nil, nil
				}
				e, in := w.files.Get(name)
				if !in {
					e.Path = name
				}
				return func(ctx context.Context) (mailbox.Step, error) {
					err := checkMessages(ctx, roots, e, &req, shown, refused)
					return mailbox.Done(func() { reply(struct{}{}, err) }), nil
				}, nil
			}, nil
		}, nil
	})
}

// checkMessages tells whether a file may be patched that may not be as a file of the context, for the reason refused: the
// messages that were sent show all of its present version, or the lines in question. The entry of a file that is not in the
// context has only a path.
func checkMessages(ctx context.Context, roots *filecontext.Roots, e filecontext.Entry, req *EditRequest, shown Shown, refused error) error {
	no := func(reason filecontext.EditReason) error {
		return &EditRefusedError{Path: e.Path, Reason: reason}
	}
	if e.Problem != "" || e.Lossy {
		return refused
	}
	if e.State == "" {
		ref, err := roots.Locate(e.Path)
		if err != nil {
			return refused
		}
		switch e.Content, err = roots.Read(ctx, ref); {
		case ctx.Err() != nil:
			return fmt.Errorf("look at %s: %w", ref.Path, ctx.Err())
		case err != nil:
			return refused
		case e.Lossy:
			return no(filecontext.EditEncoding)
		}
	}
	sent, err := shown.Sent(ctx, e.Path)
	if err != nil {
		return fmt.Errorf("look for the text of %s: %w", e.Path, err)
	}
	view := reads.NewView(sent.Lines)
	state, _ := view.Availability(e.Path, e.Version(), e.Lines)
	lines := req.Lines != nil && view.Covers(e.Path, e.Version(), history.Lines(*req.Lines))
	switch {
	case lines, state == filecontext.Full, slices.ContainsFunc(sent.Copies, func(c fit.Copy) bool { return c.Is(e.Text) }):
		if req.Base != "" && !strings.EqualFold(req.Base, e.Hash) {
			return no(filecontext.EditStale)
		}
		return nil
	case e.State != "":
		return refused
	case state == filecontext.Partial:
		return no(filecontext.EditSummaryOnly)
	case len(sent.Copies) > 0, len(sent.Lines) > 0:
		return no(filecontext.EditStale)
	}
	return refused
}

// FoundPath is a path of the workspace that a search found.
type FoundPath struct {
	Path  string `json:"path"`
	Score int    `json:"score"`
}

// FindPaths searches the paths of the session's folders but for those that git ignores.
func (w *Workspace) FindPaths(query string, limit int, reply func([]FoundPath, error)) {
	mailbox.Ask(w.box, reply, func() {
		roots, err := w.needRoots()
		if err != nil {
			reply(nil, err)
			return
		}
		w.box.Spawn(func() {
			found, err := roots.Find(w.box.Context(), query, limit)
			paths := make([]FoundPath, len(found))
			for i, f := range found {
				paths[i] = FoundPath{Path: f.Path, Score: f.Score}
			}
			reply(paths, err)
		})
	})
}
