// Package documents is the documents of a session as data: which are valid, what their defaults are, and which of them a
// phase shows.
//
// It must never read or store a document.
package documents

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"strata/filecontext"
	"strata/history"
	"strata/session/fit"
	"strata/tokens"
)

// The limits of a session's documents.
const (
	Max       = 100
	MaxBytes  = 1 << 20
	MaxTotal  = 8 << 20 // bytes of all of them
	maxName   = 100     // bytes, also of a status and of each phase
	maxPhases = 32
	maxPath   = 4096 // bytes
)

// The documents with a meaning of their own, beside those of package fit.
const (
	Design   = "design"
	State    = "state"    // shown as verified facts
	Failures = "failures" // of tests
)

// Request sets a document. Fields that are nil get the document's defaults.
type Request struct {
	Name     string
	Text     string
	Priority *int
	Pinned   *bool
	Phases   []string
	Status   string
	Order    int

	Path, Implementation string    // of a unit
	Failures             []Failure // instead of Text
}

// Info is a document of a session.
type Info struct {
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

// InfoOf describes a document.
func InfoOf(d *history.Document, counter *tokens.Counter) Info {
	return Info{
		Name: d.Name, Tokens: counter.Count(Render(d)), Hash: fit.Hash(d.Text), Priority: d.Priority, Pinned: d.Pinned, Phases: d.Phases,
		Status: d.Status, Order: d.Order, Path: d.Path, Bytes: len(d.Text), ImplementationBytes: len(d.Implementation),
	}
}

// Render returns a document as the model sees it. State is what the model can rely on.
func Render(d *history.Document) string {
	heading := d.Name
	if d.Name == State {
		heading = "Verified facts"
	}
	if d.Path != "" {
		heading += " (" + filecontext.Printable(d.Path) + ")"
	}
	return "# " + strings.Join(strings.Fields(heading), " ") + "\n\n" + strings.TrimRight(d.Text, "\n") + "\n"
}

// New returns the document of a request with the defaults filled in, for a session that has others already. It returns an
// error that names the field for a document that exceeds a limit.
func New(req Request, others []history.Document) (history.Document, error) {
	req.Name = strings.TrimSpace(req.Name)
	if err := req.check(); err != nil {
		return history.Document{}, err
	}
	if len(req.Failures) > 0 {
		if req.Text = failuresText(req.Failures); len(req.Text) > MaxBytes {
			return history.Document{}, fmt.Errorf("failures: %d bytes exceeds the limit of %d", len(req.Text), MaxBytes)
		}
	}
	if err := req.fits(others); err != nil {
		return history.Document{}, err
	}
	d := history.Document{
		Name: req.Name, Text: req.Text, Priority: fit.PriorityDefault, Pinned: req.Name == fit.DocumentRules || req.Name == Design,
		Phases: req.Phases, Status: req.Status, Order: req.Order, Path: req.Path, Implementation: req.Implementation,
	}
	if IsUnit(&d) {
		d.Priority = fit.PriorityUnit
	}
	if req.Name == State {
		d.Priority = fit.PriorityFacts
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
func (req *Request) check() error {
	limited := func(field string, n, limit int) error {
		if n > limit {
			return fmt.Errorf("%s: %d bytes exceeds the limit of %d", field, n, limit)
		}
		return nil
	}
	if !isName(req.Name) {
		return fmt.Errorf("name: must have between 1 and %d printable bytes", maxName)
	}
	for _, err := range []error{
		limited("text", len(req.Text), MaxBytes), limited("status", len(req.Status), maxName),
		limited("implementation", len(req.Implementation), MaxBytes), limited("path", len(req.Path), maxPath),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case len(req.Failures) > 0 && (req.Name != Failures || req.Text != ""):
		return fmt.Errorf("failures: only the document %q takes them, instead of a text", Failures)
	case len(req.Phases) > maxPhases:
		return fmt.Errorf("phases: %d exceeds the limit of %d", len(req.Phases), maxPhases)
	case slices.ContainsFunc(req.Phases, func(phase string) bool { return !isName(phase) }):
		return fmt.Errorf("phases: each name must have between 1 and %d printable bytes", maxName)
	}
	return checkFailures(req.Failures)
}

func isName(text string) bool {
	return text != "" && len(text) <= maxName && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// fits returns an error if a session with the other documents has no room for this one.
func (req *Request) fits(others []history.Document) error {
	all := len(req.Text) + len(req.Implementation)
	for _, d := range others {
		if d.Name != req.Name {
			all += len(d.Text) + len(d.Implementation)
		}
	}
	switch {
	case Find(others, req.Name) < 0 && len(others) >= Max:
		return fmt.Errorf("the session has %d documents, the limit; remove one", Max)
	case all > MaxTotal:
		return fmt.Errorf("text: with it the session's documents have %d bytes, more than the limit of %d", all, MaxTotal)
	}
	return nil
}

// Find returns the index of a document, -1 if there is none of that name.
func Find(documents []history.Document, name string) int {
	return slices.IndexFunc(documents, func(d history.Document) bool { return d.Name == name })
}

// With returns documents with one more, in the place of the one of the same name, by name. documents is not changed.
func With(documents []history.Document, d history.Document) []history.Document {
	documents = Without(documents, d.Name)
	documents = append(documents, d)
	slices.SortFunc(documents, func(a, b history.Document) int { return strings.Compare(a.Name, b.Name) })
	return documents
}

// Without returns documents without the one of that name. documents is not changed.
func Without(documents []history.Document, name string) []history.Document {
	return slices.DeleteFunc(slices.Clone(documents), func(d history.Document) bool { return d.Name == name })
}
