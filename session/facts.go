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
	key := fmt.Sprintf("%s\x00%s %v %v %p", e.Path, e.Hash, e.Range, e.LineNumbers, counter)
	f.mu.Lock()
	fact, known := f.known[key]
	f.mu.Unlock()
	if known {
		return fact
	}
	rendered := e.Render()
	fact = fileFact{tokens: counter.Count(rendered), hash: hashOf(rendered), rev: hashOf(e.Text)}
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

// tokens returns what e adds to a request; nothing while it is not shown or its text is not there.
func (f *facts) tokens(e filecontext.Entry, counter *tokens.Counter) int {
	if e.State == filecontext.SummaryOnly || e.Problem != "" || (e.Text == "" && e.Size > 0) {
		return 0
	}
	return f.of(e, counter).tokens
}
