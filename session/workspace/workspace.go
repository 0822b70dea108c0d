// Package workspace is the files and folders of a session: which files are in its context, reading them, and telling its
// subscribers what happens to them.
//
// It must never decide what a request contains, and never write to a folder.
package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
	"strata/session/clients"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/session/outlines"
	"strata/session/reads"
	"strata/session/remote"
	"strata/tokens"
)

// Host is the session of a workspace. Its methods belong to the mailbox.
type Host interface {
	// Store returns the work that stores a change and then runs then on the mailbox.
	Store(what string, change history.Change, then func()) mailbox.Work
	// Counter counts tokens for the session's model.
	Counter() *tokens.Counter
	// Used notes that the session is in use.
	Used()
	// Outlined returns what the newest answered request showed of the workspace, outlines among it.
	Outlined() []outlines.Shown
	// Shown returns what the requests of the session show of files in messages, as they are now.
	Shown() Shown
}

// Shown finds the files in the messages of a session. It may be used outside the mailbox.
type Shown interface {
	// Sent returns what the messages of the newest answered request contain of a file.
	Sent(ctx context.Context, path string) (fit.Sent, error)
	// Read returns the files that tools read and that are not in the context, by path: how much of them the next request shows.
	Read(ctx context.Context) ([]reads.File, error)
}

// Workspace is the files and folders of one session. It belongs to the session's mailbox.
type Workspace struct {
	host   Host
	box    *mailbox.Mailbox
	events *events.Stream

	outlines *outlines.Source

	files    *filecontext.FileContext
	guard    *filecontext.Guard
	roots    *filecontext.Roots
	rootsErr error // why roots is nil
	git      bool  // the working folder is a repository
	cache    *fit.RenderCache
	dirty    map[string]bool // paths of files whose stored form is behind

	held   *remote.Files      // has the files of a workspace that is not on this machine; nil: they are on disk
	limits filecontext.Limits // of held
}

// New returns a workspace without files and folders.
func New(host Host, box *mailbox.Mailbox, stream *events.Stream) *Workspace {
	return &Workspace{host: host, box: box, events: stream, outlines: outlines.New(nil, "", box, stream), cache: new(fit.RenderCache), dirty: make(map[string]bool)}
}

// Restore makes the stored files those of the context. The error names files that cannot be used; the workspace goes on
// without them. Requests run only after it.
func (w *Workspace) Restore(stored []history.File) error {
	files := make([]filecontext.StoredFile, len(stored))
	for i, f := range stored {
		files[i] = filecontext.StoredFile(f)
	}
	var err error
	w.files, err = filecontext.Restore(files)
	return err
}

// Imported returns a file of an imported session as it may be stored: the user must allow secret-looking files again.
func Imported(f history.File) history.File { return history.File(filecontext.StoredFile(f).Disallow()) }

// Folders are a session's folders that were opened, or why they cannot be.
type Folders struct {
	roots *filecontext.Roots
	guard *filecontext.Guard
	err   error
	git   bool // the working folder is a repository
	held  *remote.Files

	limits filecontext.Limits // of held
}

// OpenFolders opens a session's working folder and its additional folders. It may take as long as its limits allow for a disk, so it
// must not run on a mailbox. allowed returns an error for a folder in which no session may work.
func OpenFolders(ctx context.Context, cwd string, more []string, limits filecontext.Limits, allowed func(ctx context.Context, folder string) error) Folders {
	f := Folders{guard: limits.Guard}
	for _, folder := range append([]string{cwd}, more...) {
		if f.err = allowed(ctx, folder); f.err != nil {
			return f
		}
	}
	if f.roots, f.err = filecontext.NewRoots(ctx, cwd, more, limits); f.err == nil {
		f.git = f.roots.IsRepository(ctx)
	}
	return f
}

// OpenRemote returns the folder of a session whose files a client has. It looks at no disk, and asks no client.
func OpenRemote(files *remote.Files, cwd string, limits filecontext.Limits) Folders {
	f := Folders{guard: limits.Guard, held: files, limits: limits}
	f.roots, f.err = filecontext.NewRemoteRoots(cwd, files, limits)
	return f
}

// Join adds a client that has subscribed and says that it has the files of the session, and reports whether it can have them.
// The files of the context are compared with those of the client.
func (w *Workspace) Join(client clients.Client) bool {
	if w.held == nil || !w.held.Join(client) {
		return false
	}
	entries, roots := w.files.List(), w.roots
	w.outlines.Compare()
	w.box.Spawn(func() {
		changes, err := roots.Refresh(w.box.Context(), entries)
		if err == nil && len(changes) > 0 {
			w.box.Tell(func() { w.Refreshed(changes) }, nil)
		}
	})
	return true
}

// Leave removes a client that has unsubscribed, or whose connection has ended.
func (w *Workspace) Leave(client clients.Client) {
	if w.held != nil {
		w.held.Leave(client)
	}
}

// IsRemote reports whether a client has the files of the session.
func (w *Workspace) IsRemote() bool { return w.held != nil }

// DiskRoots returns the session's folders, nil if they cannot be opened, or are not on a disk of this machine.
func (w *Workspace) DiskRoots() *filecontext.Roots {
	if w.IsRemote() {
		return nil
	}
	return w.roots
}

// Use makes folders those of the session. Without them the session goes on without files. services are those of the
// outlines; nil: there are none.
func (w *Workspace) Use(f Folders, services *outlines.Services) {
	w.roots, w.guard, w.rootsErr, w.git, w.held, w.limits = f.roots, f.guard, f.err, f.git, f.held, f.limits
	folder := ""
	if f.roots == nil {
		services = nil
	} else {
		folder = f.roots.Folder()
	}
	if folder == w.outlines.Folder() {
		return
	}
	w.outlines.Close()
	if f.held != nil && f.roots != nil {
		w.outlines = outlines.NewRemote(services, f.roots, w.box, w.events)
		return
	}
	w.outlines = outlines.New(services, folder, w.box, w.events)
}

// Outlines returns the outlines of the session's working folder.
func (w *Workspace) Outlines() *outlines.Source { return w.outlines }

// IsRepository reports whether the working folder is a git repository.
func (w *Workspace) IsRepository() bool { return w.git }

// Roots returns the session's folders, nil if they cannot be opened.
func (w *Workspace) Roots() *filecontext.Roots { return w.roots }

// needRoots returns the session's folders, or why there are none.
func (w *Workspace) needRoots() (*filecontext.Roots, error) {
	if w.roots == nil {
		return nil, fmt.Errorf("%w: the session's folder cannot be opened: %w", mailbox.ErrInvalid, w.rootsErr)
	}
	return w.roots, nil
}

// List returns the files of the context by path; the slice is the caller's.
func (w *Workspace) List() []filecontext.Entry { return w.files.List() }

// Count returns how many files the context has.
func (w *Workspace) Count() int { return w.files.Len() }

// Cache returns the renderings of the files.
func (w *Workspace) Cache() *fit.RenderCache { return w.cache }

// name returns a path as the context knows it.
func (w *Workspace) name(path string) string {
	if w.roots != nil {
		if ref, err := w.roots.Locate(path); err == nil {
			return ref.Path
		}
	}
	return path
}

// Stored returns the files of the context in their stored form.
func (w *Workspace) Stored() []history.File {
	var stored []history.File
	for _, e := range w.files.List() {
		stored = append(stored, history.File(e.Stored()))
	}
	return stored
}

// TakeDirty adds the files whose stored form is behind to a change.
func (w *Workspace) TakeDirty(change *history.Change) {
	for path := range w.dirty {
		if e, in := w.files.Get(path); in {
			change.PutFiles = append(change.PutFiles, history.File(e.Stored()))
		} else {
			change.DropFiles = append(change.DropFiles, path)
		}
	}
	clear(w.dirty)
}

// UntakeDirty notes that the files of a change could not be stored.
func (w *Workspace) UntakeDirty(change *history.Change) {
	for _, f := range change.PutFiles {
		w.dirty[f.Path] = true
	}
	for _, path := range change.DropFiles {
		w.dirty[path] = true
	}
}

// HasBuffers reports whether a file has a client's unsaved text.
func (w *Workspace) HasBuffers() bool {
	return slices.ContainsFunc(w.files.List(), func(e filecontext.Entry) bool { return e.Unsaved })
}

// ForgetBuffers gives up the clients' unsaved texts: the files are as they are on the disk.
func (w *Workspace) ForgetBuffers() {
	for _, e := range w.files.List() {
		if e.Unsaved {
			w.files.Saved(e.Path)
			w.dirty[e.Path] = true
		}
	}
}

// Hide makes files that did not fit show less of themselves from now on, and those for which there is room again as much as
// was requested.
func (w *Workspace) Hide(changes []fit.FileChange) {
	for _, c := range changes {
		e, _ := w.files.Get(c.Path)
		whole, _ := fit.Whole(&e)
		state, reason := c.State()
		wanted := whole.Range
		if c.Returns {
			wanted = filecontext.Range{}
		}
		if w.files.Shorten(c.Path, state, reason, c.Lines, wanted) {
			w.dirty[c.Path] = true
		}
	}
}

// MarkSent notes that a request contained a version of a file.
func (w *Workspace) MarkSent(path, hash string, whole bool) {
	w.files.MarkSent(path, hash, whole)
	w.dirty[path] = true
}

// AfterReply removes the files that were wanted for one reply, with all its steps.
func (w *Workspace) AfterReply() {
	var gone []FileChange
	for _, e := range w.files.AfterReply() {
		w.dirty[e.Path] = true
		gone = append(gone, FileChange{Path: e.Path, Change: "removed", Reason: "wanted once"})
	}
	w.tell(gone...)
}

// FilesChanged tells which files of the context changed and how.
type FilesChanged struct {
	Files []FileChange `json:"files"`
}

// FileChange is one change of a file in the context.
type FileChange struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, removed, changed, deleted, unreadable
	Reason string `json:"reason,omitempty"`
}

// tell tells the subscribers what changed.
func (w *Workspace) tell(changes ...FileChange) {
	w.host.Used()
	if len(changes) > 0 {
		w.events.Emit(events.Event{Kind: events.FilesChanged, Data: FilesChanged{Files: changes}})
	}
}

// Refreshed takes in the changes that were found on the disk, tells the subscribers, and returns those that were new.
func (w *Workspace) Refreshed(changes []filecontext.Change) []filecontext.Change {
	var lossy []string // files that were whole text before
	for _, c := range changes {
		if e, _ := w.files.Get(c.Path); c.Content.Lossy && !e.Lossy && c.Kind == filecontext.Changed {
			lossy = append(lossy, filecontext.Printable(c.Path))
		}
	}
	told := w.files.Apply(changes)
	list := make([]FileChange, len(told))
	for i, c := range told {
		w.dirty[c.Path] = true
		list[i] = FileChange{Path: c.Path, Change: string(c.Kind), Reason: string(c.Reason)}
	}
	w.tell(list...)
	w.notice(lossyNotice, lossy)
	if text := lostFiles(told); text != "" {
		w.events.Emit(events.Event{Kind: events.Notice, Text: text})
	}
	return told
}

const (
	secretNotice = "Looks like a secret, and is sent to the model because the request allows it or contains its text: "
	lossyNotice  = "Not UTF-8: bytes that cannot be read are shown as U+FFFD, and edits are refused: "
)

// remark tells the user which files of a request look like secrets, since their content is sent to the model's provider, and
// which are not shown as they are.
func (w *Workspace) remark(files ...Attachment) {
	var secret, lossy []string
	for _, f := range files {
		if f.told != "" {
			secret = append(secret, filecontext.Printable(f.told))
			continue
		}
		if f.content.Secret {
			secret = append(secret, filecontext.Printable(f.content.Path))
		}
		if f.content.Lossy {
			lossy = append(lossy, filecontext.Printable(f.content.Path))
		}
	}
	w.notice(secretNotice, secret)
	w.notice(lossyNotice, lossy)
}

// notice emits a notice about the things with these names, if there are any.
func (w *Workspace) notice(text string, names []string) {
	if len(names) == 0 {
		return
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", more))
	}
	w.events.Emit(events.Event{Kind: events.Notice, Text: text + strings.Join(names, ", ") + "."})
}

// NotAdded says which files and addresses that a prompt names are not read, and why; empty if there are none.
func NotAdded(omitted []fit.Omitted) string {
	var texts []string
	for _, o := range omitted {
		name := o.Key
		if !strings.HasPrefix(name, fit.FilePrefix+"/") { // not an address
			name = strings.TrimPrefix(name, fit.FilePrefix)
		}
		texts = append(texts, filecontext.Printable(clip.Line(name, maxAddress))+" "+filecontext.Reason(o.Reason).Explain())
	}
	if len(texts) == 0 {
		return ""
	}
	if more := len(texts) - maxNamed; more > 0 {
		texts = append(texts[:maxNamed], fmt.Sprintf("And %d more", more))
	}
	return "Not read: " + strings.Join(texts, ". ") + "."
}

// What a notice names is limited in number, and in characters.
const (
	maxNamed   = 10
	maxAddress = 200
)

// lostFiles says which files cannot be sent any more, and why; empty if there are none.
func lostFiles(changes []filecontext.Change) string {
	var lost []string
	for _, c := range changes {
		switch c.Kind {
		case filecontext.Deleted:
			lost = append(lost, filecontext.Printable(c.Path)+" was deleted and has left the context")
		case filecontext.Unreadable:
			if c.Reason == filecontext.ReasonAway {
				lost = append(lost, filecontext.Printable(c.Path)+" is not sent until the client that has it is connected")
				continue
			}
			lost = append(lost, filecontext.Printable(c.Path)+" cannot be sent any more: it "+c.Explain())
		}
	}
	if more := len(lost) - maxNamed; more > 0 {
		lost = append(lost[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lost, "; ")
}
