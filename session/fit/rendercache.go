package fit

import (
	"fmt"
	"sync"

	"strata/filecontext"
	"strata/tokens"
)

// maxRenderings limits the files of a render cache.
const maxRenderings = 4096

// Rendering is what is known of one version of a file as it is shown.
type Rendering struct {
	Tokens int    // of the rendered text
	Hash   string // of the rendered text
	Rev    string // names the text that is rendered: its hash, and how it is rendered

	Version string // of a text to which a diff can lead: see filecontext.Content.Version. Otherwise it is empty
}

// NoDiff ends the revision of a file that is shown with line numbers or with a note on its bytes: no diff leads to or from
// it.
const NoDiff = "#"

// RenderCache remembers the renderings of files, so that an unchanged file is rendered, hashed and counted once. The zero
// value is empty. It is safe for concurrent use; the work is done outside its lock.
type RenderCache struct {
	mu    sync.Mutex
	known map[string]Rendering
}

// Of returns the rendering of e, whose text must be in memory.
func (c *RenderCache) Of(e filecontext.Entry, counter *tokens.Counter) Rendering {
	key := renderKey(&e, counter)
	if r, known := c.find(key); known {
		return r
	}
	rendered := e.Render()
	r := Rendering{Tokens: counter.Count(rendered), Hash: Hash(rendered), Rev: Hash(e.Text)}
	if e.LineNumbers || e.Lossy {
		r.Rev += NoDiff
	} else {
		r.Version = e.Version()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxRenderings {
		c.known = make(map[string]Rendering)
	}
	c.known[key] = r
	return r
}

func renderKey(e *filecontext.Entry, counter *tokens.Counter) string {
	return fmt.Sprintf("%s\x00%s %v %v %p", e.Path, e.Hash, e.Range, e.LineNumbers, counter)
}

func (c *RenderCache) find(key string) (Rendering, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, known := c.known[key]
	return r, known
}

// isShown reports whether a request would contain some of e's text.
func isShown(e *filecontext.Entry) bool {
	return e.Problem == "" && e.State != filecontext.SummaryOnly
}

// Lacks reports whether the text of e is needed to tell its tokens and is not in memory: after a restart it is only on
// the disk.
func (c *RenderCache) Lacks(e filecontext.Entry, counter *tokens.Counter) bool {
	if !isShown(&e) || e.Text != "" || e.Size == 0 {
		return false
	}
	_, known := c.find(renderKey(&e, counter))
	return !known
}

// Tokens returns the tokens that e adds to a request; 0 while it is not shown or its text is not in memory.
func (c *RenderCache) Tokens(e filecontext.Entry, counter *tokens.Counter) int {
	if !isShown(&e) || c.Lacks(e, counter) {
		return 0
	}
	return c.Of(e, counter).Tokens
}
