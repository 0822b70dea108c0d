package workspace

import (
	"context"
	"errors"
	"runtime"
	"time"

	"strata/filecontext"
	"strata/filecontext/index"
	"strata/filecontext/outline"
	"strata/session/changing"
	"strata/session/clients"
	"strata/session/outlines"
	"strata/session/shell"
	"strata/session/tools"
)

// Tools returns the tools that read and change the workspace, as it is now, and run commands in it; none without a folder. shown
// is what the newest request shows, and lasting what the next one will show, too.
func (w *Workspace) Tools(shown, lasting tools.Shown, editor Editor, commands Commands) []tools.Tool {
	if w.roots == nil {
		return nil
	}
	if w.IsRemote() {
		return w.remoteTools(shown, lasting, editor, commands)
	}
	texts := newUnsaved(w.roots, w.files.List())
	view := tools.Workspace{Roots: w.roots, Reader: fileReader{w.roots, texts, editor}, Shown: lasting, Texts: texts.all}
	if w.outlines != nil && w.outlines.On() {
		view.Symbols = symbols{w.roots, w.outlines}
	}
	writer := changing.NewEditorWriter(changing.DiskWriter{Roots: w.roots}, editor.writing, texts)
	all := append(tools.Reading(view), changing.Tools(writer, shown)...)
	if commands.Runner.IsOff() {
		return all
	}
	return append(all, shell.Tool(shell.Services{
		Roots: w.roots, Runner: commands.Runner, Editor: editor.running, Environment: commands.Environment, Secrets: commands.Secrets,
	}))
}

// remoteTools is Tools for files that a client has. The client returns the texts as its user sees them, saved or not, so that
// there are no other texts. Calls wait for a client that returns. Commands run in a terminal of a client that has the files.
func (w *Workspace) remoteTools(shown, lasting tools.Shown, editor Editor, commands Commands) []tools.Tool {
	held := w.held
	newest := func() uint64 {
		_, after := editor.writing(nil)
		return after
	}
	roots, err := filecontext.NewRemoteRoots(w.roots.Folder(), held.Patient(newest), w.limits)
	if err != nil {
		return nil
	}
	view := tools.Workspace{Roots: roots, Reader: tools.Disk{Roots: roots}, Shown: lasting}
	if w.outlines != nil && w.outlines.On() {
		view.Symbols = symbols{roots, w.outlines}
	}
	all := append(tools.Reading(view), changing.Tools(changing.DiskWriter{Roots: roots}, shown)...)
	if commands.Runner.IsOff() {
		return all
	}
	running := func() (clients.Client, uint64) {
		_, after := editor.running()
		return held.Terminal(), after
	}
	return append(all, shell.Tool(shell.Services{Roots: roots, Runner: shell.Client, Editor: running}))
}

// Commands are the settings of the commands in a workspace.
type Commands struct {
	Runner      shell.Runner
	Environment func() []string // see shell.Services
	Secrets     []string        // names of variables that no command on this machine gets
}

// Editor returns the client that reads or writes files as its user sees them, or runs commands, nil for none, and the event that
// its request follows. It is called for each file, and again with a client whose connection has ended.
type Editor func(to clients.Capability, gone clients.Client) (editor clients.Client, after uint64)

func (e Editor) reading(gone clients.Client) (clients.Client, uint64) {
	return e(clients.ReadFiles, gone)
}
func (e Editor) writing(gone clients.Client) (clients.Client, uint64) {
	return e(clients.WriteFiles, gone)
}
func (e Editor) running() (clients.Client, uint64) { return e(clients.Terminals, nil) }

// Guide returns the part of the system prompt about tools in the workspace, empty without a folder. commands reports whether one of
// the tools runs commands.
func (w *Workspace) Guide(today time.Time, commands bool) string {
	if w.roots == nil {
		return ""
	}
	platform := runtime.GOOS
	if w.IsRemote() {
		platform = "" // of the client; not known
	}
	return tools.Guide(tools.Surroundings{Folder: w.roots.Folder(), Platform: platform, Git: w.IsRepository(), Commands: commands, Date: today})
}

// fileReader reads files as the editor shows them, else as a client gave them, else from disk.
type fileReader struct {
	roots  *filecontext.Roots
	texts  *unsaved
	editor Editor
}

// Read implements tools.Reader. If no editor can read the file, it is read without one.
func (r fileReader) Read(ctx context.Context, path string) (filecontext.Content, error) {
	ref, err := r.roots.Locate(path)
	if err != nil {
		return filecontext.Content{}, err
	}
	for editor, after := r.editor.reading(nil); editor != nil; editor, after = r.editor.reading(editor) {
		text, err := editor.ReadTextFile(ctx, clients.Read{Path: ref.Absolute()}, after)
		if err == nil {
			content, err := r.roots.Opened(ctx, ref, text)
			if err == nil {
				r.texts.Put(&content)
			}
			return content, err
		}
		if ctx.Err() != nil {
			return filecontext.Content{}, ctx.Err()
		}
		if !errors.Is(err, clients.ErrGone) {
			break
		}
	}
	if content, ok := r.texts.Get(ref.Path); ok {
		return content, nil
	}
	return r.roots.Read(ctx, ref)
}

// symbols are the outlines of the workspace for tools.
type symbols struct {
	roots  *filecontext.Roots
	source *outlines.Source
}

// Outline implements tools.Symbols.
func (s symbols) Outline(ctx context.Context, path string) (string, *outline.Outline, error) {
	ref, err := s.roots.Locate(path)
	if err != nil {
		return "", nil, err
	}
	content, err := s.roots.Read(ctx, ref)
	if err != nil {
		return ref.Path, nil, err
	}
	o, err := s.source.Of(ctx, &filecontext.Entry{Content: content})
	return ref.Path, o, err
}

// Find implements tools.Symbols.
func (s symbols) Find(ctx context.Context, query string, limit int) ([]index.Hit, bool, error) {
	found, err := s.source.Search(ctx, query, limit)
	if err != nil {
		if ctx.Err() == nil {
			err = errors.New("the workspace is not indexed: use search instead")
		}
		return nil, false, err
	}
	hits := make([]index.Hit, len(found.Symbols))
	for i, hit := range found.Symbols {
		hits[i] = index.Hit(hit)
	}
	return hits, found.Index.Complete, nil
}
