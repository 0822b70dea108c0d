package session

import (
	"fmt"
	"sync"

	"strata/filecontext"
	"strata/tokens"
)

// maxFacts bounds the files of which facts are kept.
const maxFacts = 4096

// fileFact is what was worked out about one version of a file as it is shown.
type fileFact struct {
	tokens int    // of the rendered text
	hash   string // of the rendered text
	rev    string // names the text that is rendered: its hash, and how it is rendered
}

// numbered marks the revision of a file that is shown with line numbers: no diff leads to or from it.
const numbered = "#"

// facts remembers them, so that an unchanged file is rendered, hashed and counted once.
// It is safe for concurrent use; the work is done outside its lock.
type facts struct {
	mu    sync.Mutex
	known map[string]fileFact
}

// of returns the facts of e, whose text must be there.
func (f *facts) of(e filecontext.Entry, counter *tokens.Counter) fileFact {
	key := factKey(&e, counter)
	if fact, known := f.find(key); known {
		return fact
	}
	rendered := e.Render()
	fact := fileFact{tokens: counter.Count(rendered), hash: hashOf(rendered), rev: hashOf(e.Text)}
	if e.LineNumbers {
		fact.rev += numbered
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxFacts {
		f.known = make(map[string]fileFact)
	}
	f.known[key] = fact
	return fact
}

func factKey(e *filecontext.Entry, counter *tokens.Counter) string {
	return fmt.Sprintf("%s\x00%s %v %v %p", e.Path, e.Hash, e.Range, e.LineNumbers, counter)
}

func (f *facts) find(key string) (fileFact, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fact, known := f.known[key]
	return fact, known
}

// shown reports whether a request would hold some of e's text.
func shown(e *filecontext.Entry) bool {
	return e.Problem == "" && e.State != filecontext.SummaryOnly
}

// lack reports whether the text of e is needed to say what e adds to a request, and is not in memory: after
// a restart it is on the disk only.
func (f *facts) lack(e filecontext.Entry, counter *tokens.Counter) bool {
	if !shown(&e) || e.Text != "" || e.Size == 0 {
		return false
	}
	_, known := f.find(factKey(&e, counter))
	return !known
}

// tokens returns what e adds to a request; nothing while it is not shown or its text is not there.
func (f *facts) tokens(e filecontext.Entry, counter *tokens.Counter) int {
	if !shown(&e) || f.lack(e, counter) {
		return 0
	}
	return f.of(e, counter).tokens
}
