package index

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"strata/filecontext"
	"strata/filecontext/source"
)

// held has the files of a client, with the sizes that it says they have.
type held struct {
	source.Files

	mu    sync.Mutex
	list  source.List
	texts map[string]string
	away  bool // for lists and reads
	reads int
}

var errAway = &filecontext.RefusedError{Reason: filecontext.ReasonAway}

func (h *held) List(context.Context) (*source.List, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away {
		return nil, errAway
	}
	list := h.list
	return &list, nil
}

func (h *held) Known() *source.List { return nil }

func (h *held) ReadSome(_ context.Context, paths []string, _ source.Reading) (map[string]source.Text, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	all := make(map[string]source.Text)
	for _, path := range paths {
		all[path] = source.Text{Data: []byte(h.texts[path])}
	}
	return all, nil
}

func (h *held) Read(context.Context, string, source.Reading) (source.Text, error) {
	return source.Text{}, errors.New("one file was read alone")
}

// put changes a file and its version.
func (h *held) put(path, text, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.texts[path]; !known {
		h.list.Files = append(h.list.Files, source.File{Path: path})
	}
	for i := range h.list.Files {
		if h.list.Files[i].Path == path {
			h.list.Files[i].Version = version
		}
	}
	h.texts[path] = text
}

func (h *held) isAway(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = away
}

// indexed returns the index of a client's files, after its first sweep, in a registry with a store that must not be used.
func (h *held) indexed(t *testing.T, opt Options) *Handle {
	t.Helper()
	roots, err := filecontext.NewRemoteRoots("/project", h, filecontext.Limits{})
	must(t, err)
	opt.Store = noStore{t}
	handle, err := registry(t, opt).AcquireRemote(roots, nil)
	must(t, err)
	t.Cleanup(handle.Release)
	_, err = handle.Wait(t.Context())
	must(t, err)
	return handle
}

type noStore struct{ t *testing.T }

func (s noStore) Outlines(context.Context, []string) (map[string][]byte, error) {
	s.t.Error("outlines were looked up")
	return nil, nil
}

func (s noStore) PutOutlines(context.Context, map[string][]byte) error {
	s.t.Error("outlines were stored")
	return nil
}

func (s noStore) Listing(context.Context, string) ([]byte, error) {
	s.t.Error("a list was looked up")
	return nil, nil
}

func (s noStore) PutListing(context.Context, string, []byte) error {
	s.t.Error("a list was stored")
	return nil
}

// Files of a client are read together, kept while it is away, and never stored.
func TestFilesOfAClient(t *testing.T) {
	h := &held{texts: make(map[string]string)}
	h.put("a.go", "package a", "1")
	h.put("b.go", "package b", "1")
	h.put("c.txt", "text", "1")
	i := h.indexed(t, Options{})
	const all = "a.go outlined\nb.go outlined\nc.txt name_only\n"
	equal(t, "files", states(i), all)
	equal(t, "requests", h.reads, 1)
	h.isAway(true)
	if status := refresh(t, i); status.Problem == "" || status.Complete {
		t.Errorf("while the client is away: %+v", status)
	}
	equal(t, "files while the client is away", states(i), all)
	h.isAway(false)
	h.put("d.go", "package d", "1")
	if status := refresh(t, i); !status.Complete {
		t.Errorf("after the return: %+v", status)
	}
	equal(t, "files after the return", states(i), "a.go outlined\nb.go outlined\nc.txt name_only\nd.go outlined\n")
}

// A client whose files are larger than it says cannot make a sweep keep more than its total size.
func TestSizesThatAClientSays(t *testing.T) {
	h := &held{texts: make(map[string]string)}
	for _, path := range []string{"a.go", "b.go", "c.go"} {
		h.put(path, "package a // "+strings.Repeat("x", 500), "1")
	}
	i := h.indexed(t, Options{TotalBytes: 1100})
	equal(t, "files", states(i), "a.go outlined\nb.go outlined\nc.go name_only no_room\n")
}

// Indexes of clients' files do not take the room of folders on disk, nor the other way round.
func TestRoomForClientsAndFolders(t *testing.T) {
	r := registry(t, Options{Folders: 1})
	acquire(t, r, workspace(t, map[string]string{"a.go": ""}))
	for n := range 2 {
		roots, err := filecontext.NewRemoteRoots("/project", &held{}, filecontext.Limits{})
		must(t, err)
		h, err := r.AcquireRemote(roots, nil)
		if n == 0 {
			must(t, err)
			t.Cleanup(h.Release)
		} else if !errors.Is(err, ErrFolders) {
			t.Errorf("a second index: %v", err)
		}
	}
}
