package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"strata/filecontext"
	"strata/history"
)

// The bounds of a session's documents.
const (
	MaxDocuments      = 100
	MaxDocumentBytes  = 1 << 20
	MaxDocumentsBytes = 8 << 20 // of all of them
	maxDocumentName   = 100     // bytes, as of its status and of each phase
	maxDocumentPhases = 32
	maxDocumentPath   = 4096 // bytes
)

// The documents that have a meaning of their own.
const (
	documentRules  = "rules"
	documentDesign = "design"
	documentState  = "state" // shown as verified facts
)

// rulesPath is the file of a workspace that becomes the document rules, unless the session has one.
const rulesPath = "AGENTS.md"

// DocumentRequest sets a document. Fields that are nil get the document's defaults.
type DocumentRequest struct {
	Name     string
	Text     string
	Priority *int
	Pinned   *bool
	Phases   []string
	Status   string
	Order    int

	Path, Implementation string        // of a unit
	Failures             []TestFailure // in the place of Text
}

// DocumentInfo is a document of a session.
type DocumentInfo struct {
	Name     string   `json:"name"`
	Tokens   int      `json:"tokens"`
	Hash     string   `json:"hash"` // SHA-256 of its text
	Priority int      `json:"priority"`
	Pinned   bool     `json:"pinned"`
	Phases   []string `json:"phases,omitempty"`
	Status   string   `json:"status,omitempty"`
	Order    int      `json:"order,omitempty"`
	Path     string   `json:"path,omitempty"`
	Bytes    int      `json:"bytes"`

	ImplementationBytes int `json:"implementationBytes,omitempty"`
}

// SetDocument stores a named text that the next requests hold.
func (s *Session) SetDocument(req DocumentRequest, reply func(DocumentInfo, error)) {
	fail := func(err error) { reply(DocumentInfo{}, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			d, err := s.context.newDocument(req)
			if err != nil {
				return nil, err
			}
			d.At = s.deps.Now()
			counter := s.context.counter
			var info DocumentInfo
			stored := func() {
				s.context.putDocument(d)
				s.contextChanged("document")
				reply(info, nil)
			}
			return func(ctx context.Context) (step, error) {
				info = documentInfo(d, counter.Count(renderDocument(d)))
				return s.store("store document "+d.Name, history.Change{PutDocuments: []history.Document{d}}, stored)(ctx)
			}, nil
		}})
	}, fail)
}

func documentInfo(d history.Document, tokens int) DocumentInfo {
	return DocumentInfo{
		Name: d.Name, Tokens: tokens, Hash: hashOf(d.Text), Priority: d.Priority, Pinned: d.Pinned, Phases: d.Phases,
		Status: d.Status, Order: d.Order, Path: d.Path, Bytes: len(d.Text), ImplementationBytes: len(d.Implementation),
	}
}

// RemoveDocument takes a document out and tells whether it was there.
func (s *Session) RemoveDocument(name string, reply func(bool, error)) {
	fail := func(err error) { reply(false, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			name := strings.TrimSpace(name)
			if s.context.findDocument(name) < 0 {
				reply(false, nil)
				return nil, nil
			}
			return s.store("remove document "+name, history.Change{DropDocuments: []string{name}}, func() {
				i := s.context.findDocument(name)
				s.context.documents = slices.Delete(slices.Clone(s.context.documents), i, i+1)
				s.contextChanged("document")
				reply(true, nil)
			}), nil
		}})
	}, fail)
}

// Documents lists the documents by name.
func (s *Session) Documents(reply func([]DocumentInfo, error)) {
	s.post(func() {
		documents, counter := s.context.documents, s.context.counter
		s.spawn(func() {
			infos := make([]DocumentInfo, len(documents))
			for i, d := range documents {
				infos[i] = documentInfo(d, counter.Count(renderDocument(d)))
			}
			reply(infos, nil)
		})
	}, func(err error) { reply(nil, err) })
}

// newDocument checks a request and fills in the defaults.
func (m *ContextManager) newDocument(req DocumentRequest) (history.Document, error) {
	req.Name = strings.TrimSpace(req.Name)
	if err := req.check(); err != nil {
		return history.Document{}, err
	}
	if len(req.Failures) > 0 {
		if req.Text = failuresText(req.Failures); len(req.Text) > MaxDocumentBytes {
			return history.Document{}, fmt.Errorf("%w: failures: %d bytes, at most %d are taken", ErrInvalid, len(req.Text), MaxDocumentBytes)
		}
	}
	if err := m.roomFor(req); err != nil {
		return history.Document{}, err
	}
	d := history.Document{
		Name: req.Name, Text: req.Text, Priority: priorityDefault, Pinned: req.Name == documentRules || req.Name == documentDesign,
		Phases: req.Phases, Status: req.Status, Order: req.Order, Path: req.Path, Implementation: req.Implementation,
	}
	if isUnit(&d) {
		d.Priority = priorityUnit
	}
	if req.Name == documentState {
		d.Priority = priorityFacts
	}
	if req.Priority != nil {
		d.Priority = *req.Priority
	}
	if req.Pinned != nil {
		d.Pinned = *req.Pinned
	}
	return d, nil
}

// check returns an error for a document that no session takes.
func (req *DocumentRequest) check() error {
	switch {
	case !isName(req.Name):
		return fmt.Errorf("%w: name: between 1 and %d bytes that can be printed are wanted", ErrInvalid, maxDocumentName)
	case len(req.Text) > MaxDocumentBytes:
		return fmt.Errorf("%w: text: %d bytes, at most %d are taken", ErrInvalid, len(req.Text), MaxDocumentBytes)
	case len(req.Status) > maxDocumentName:
		return fmt.Errorf("%w: status: %d bytes, at most %d are taken", ErrInvalid, len(req.Status), maxDocumentName)
	case len(req.Implementation) > MaxDocumentBytes:
		return fmt.Errorf("%w: implementation: %d bytes, at most %d are taken", ErrInvalid, len(req.Implementation), MaxDocumentBytes)
	case len(req.Path) > maxDocumentPath:
		return fmt.Errorf("%w: path: %d bytes, at most %d are taken", ErrInvalid, len(req.Path), maxDocumentPath)
	case len(req.Failures) > 0 && (req.Name != documentFailures || req.Text != ""):
		return fmt.Errorf("%w: failures: only the document %q has them, in the place of a text", ErrInvalid, documentFailures)
	case len(req.Phases) > maxDocumentPhases:
		return fmt.Errorf("%w: phases: %d, at most %d are taken", ErrInvalid, len(req.Phases), maxDocumentPhases)
	case slices.ContainsFunc(req.Phases, func(phase string) bool { return !isName(phase) }):
		return fmt.Errorf("%w: phases: names of between 1 and %d bytes are wanted", ErrInvalid, maxDocumentName)
	}
	return checkFailures(req.Failures)
}

func isName(text string) bool {
	return text != "" && len(text) <= maxDocumentName && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// roomFor returns an error where the session has no room for a document.
func (m *ContextManager) roomFor(req DocumentRequest) error {
	all := len(req.Text) + len(req.Implementation)
	for _, d := range m.documents {
		if d.Name != req.Name {
			all += len(d.Text) + len(d.Implementation)
		}
	}
	switch {
	case m.findDocument(req.Name) < 0 && len(m.documents) >= MaxDocuments:
		return fmt.Errorf("%w: the session has %d documents already, the most there can be", ErrInvalid, MaxDocuments)
	case all > MaxDocumentsBytes:
		return fmt.Errorf("%w: text: with it the session's documents have %d bytes, at most %d are taken", ErrInvalid, all, MaxDocumentsBytes)
	}
	return nil
}

// findDocument returns the index of a document, -1 where there is none.
func (m *ContextManager) findDocument(name string) int {
	return slices.IndexFunc(m.documents, func(d history.Document) bool { return d.Name == name })
}

// putDocument takes a document in. The list is not changed in place, since snapshots hold it.
func (m *ContextManager) putDocument(d history.Document) {
	documents := slices.Clone(m.documents)
	if i := m.findDocument(d.Name); i >= 0 {
		documents[i] = d
	} else {
		documents = append(documents, d)
	}
	slices.SortFunc(documents, func(a, b history.Document) int { return strings.Compare(a.Name, b.Name) })
	m.documents = documents
}

// rules returns the workspace's AGENTS.md as the document rules, unless the session has one of its own
// or that was turned off. One that is there and cannot be read is named among what is left out.
func (s *snapshot) rules(ctx context.Context, b *built) (history.Document, bool) {
	own := slices.ContainsFunc(s.documents, func(d history.Document) bool { return d.Name == documentRules })
	if own || !s.rulesFile || s.roots == nil {
		return history.Document{}, false
	}
	ref, err := s.roots.Locate(rulesPath)
	if err != nil {
		return history.Document{}, false
	}
	content, err := s.roots.Read(ctx, ref)
	if err != nil {
		if reason := filecontext.ReasonOf(err); reason != filecontext.ReasonMissing && ctx.Err() == nil {
			b.leftOut = append(b.leftOut, LeftOut{Key: documentPrefix + documentRules, Reason: string(reason)})
		}
		return history.Document{}, false
	}
	return history.Document{Name: documentRules, Text: content.Text, Priority: priorityDefault, Pinned: true}, true
}
