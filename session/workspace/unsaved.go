package workspace

import (
	"context"
	"maps"
	"slices"
	"sync"

	"strata/filecontext"
	"strata/session/changing"
)

// maxRead limits the unsaved texts that a turn has read through an editor, in bytes.
const maxRead = 16 << 20

// unsaved are the texts of files for a turn that differ from the disk: those that a client gave, and those that were read
// through an editor. It is safe for concurrent use.
type unsaved struct {
	roots *filecontext.Roots

	mu    sync.Mutex
	texts map[string]filecontext.Content // by path
	room  int                            // bytes of texts that can be added
}

var _ changing.Texts = (*unsaved)(nil)

// newUnsaved returns the texts that a client gave with files.
func newUnsaved(roots *filecontext.Roots, files []filecontext.Entry) *unsaved {
	u := &unsaved{roots: roots, texts: make(map[string]filecontext.Content), room: maxRead}
	for _, e := range files {
		if e.Unsaved && e.Problem == "" {
			u.texts[e.Path] = e.Content
		}
	}
	return u
}

// Put implements changing.Texts. A text that exceeds the limit is not kept.
func (u *unsaved) Put(content *filecontext.Content) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(content.Path)
	if content.Disk() != "" && len(content.Text) <= u.room {
		u.texts[content.Path] = *content
		u.room -= len(content.Text)
	}
}

func (u *unsaved) drop(path string) {
	u.room += len(u.texts[path].Text)
	delete(u.texts, path)
}

// Get implements changing.Texts.
func (u *unsaved) Get(path string) (content filecontext.Content, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	content, ok = u.texts[path]
	return content, ok
}

// all returns the texts by path, without those whose files on disk have changed since the texts came. The error is that of
// ctx.
func (u *unsaved) all(ctx context.Context) (map[string]filecontext.Content, error) {
	u.mu.Lock()
	texts := maps.Clone(u.texts)
	u.mu.Unlock()
	entries := make([]filecontext.Entry, 0, len(texts))
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		entries = append(entries, filecontext.Entry{Content: texts[path], Unsaved: true})
	}
	changes, err := u.roots.Refresh(ctx, entries)
	for i := range changes {
		if c := &changes[i]; c.Content.Disk() != "" {
			texts[c.Path] = c.Content
		} else {
			delete(texts, c.Path)
		}
	}
	return texts, err
}
