// Package assembly makes a request of the state of a session: it collects the items, makes them fit, plans their order and
// cache marks, and renders them.
//
// It must never change a session or the state that it is given: a built request lists the changes, and its caller stores
// them.
package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/content"
	"strata/session/fit"
	"strata/session/loop"
	"strata/session/outlines"
	"strata/session/profile"
	"strata/session/reads"
	"strata/stability"
	"strata/tokens"
)

// Errors that are wrapped with their subject.
var (
	ErrStorage = errors.New("storing failed")
	ErrBudget  = errors.New("the message does not fit the model's window")
)

// BudgetError says by how much a message is too large. It is an ErrBudget.
type BudgetError struct {
	Tokens, Limit int
	Files         bool // the tokens are also those of required files
}

func (e *BudgetError) Error() string {
	subject := "message and system prompt"
	if e.Files {
		subject = "message, required files and system prompt"
	}
	return fmt.Sprintf("%s: %d tokens exceeds the limit of %d", subject, e.Tokens, e.Limit)
}

// Is reports whether target is ErrBudget.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// Store reads what a request is made of.
type Store interface {
	// Messages returns the messages with the given sequence numbers, in the order asked for.
	Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error)
	// Blobs returns the bytes of those hashes that are stored.
	Blobs(ctx context.Context, hashes []string) (map[string][]byte, error)
}

// State is what a request is made of. Nothing of it changes, so that a request can be built outside the mailbox.
type State struct {
	Session string
	Store   Store
	Log     *slog.Logger
	Now     func() time.Time

	Measure
	Mirrors  *Mirrors
	Layout   *Layout
	Cache    *fit.RenderCache
	Diffs    *Diffs
	Pictures *content.Gallery
	Reads    *reads.Reads // nil: what tools read is not known
	Counter  *tokens.Counter

	Beginning *Beginning // what is kept of the newest request; nil: nothing

	View      []history.Viewed
	Summary   history.Summary
	Omitted   int            // messages that the view omits
	Evicted   []history.Head // of them those that did not fit
	Truncated map[string]history.DocumentCut
	First     *history.Head // of the user's messages since the last clear; nil for none
	Exchanges int

	HistoryTokens int // counted tokens of the view and the summary
	Beside        int // counted tokens of the last request other than those

	Files     []filecontext.Entry
	Roots     *filecontext.Roots // nil: the session has no folder
	Outlines  *outlines.Source   // nil: none
	RulesFile bool               // AGENTS.md and CLAUDE.md are read

	Documents    []history.Document // that the phase shows
	AllDocuments []history.Document
	System       string     // the system prompt, without the guide to the tools
	Tools        []llm.Tool // that the model may call, by name
	Withdrawn    []string   // names of those that are no longer there
	Profile      *profile.Profile
	Phase        *profile.Phase // nil: the profile has none
	Thought      llm.ThoughtLevel
	Guide        string // to the session's own tools, a part of the system prompt
}

// systemPrompt returns the system prompt with the guide to the tools.
func (s *State) systemPrompt() string {
	if s.Guide == "" {
		return s.System
	}
	return strings.TrimRight(s.System, "\n") + "\n\n" + s.Guide + "\n"
}

// PathOf returns the absolute path of a file of the session, empty for a path that is not in its folders.
func (s *State) PathOf(path string) string {
	if s.Roots == nil {
		return ""
	}
	ref, err := s.Roots.Locate(path)
	if err != nil {
		return ""
	}
	return ref.Absolute()
}

// Built is a request and what was found while it was built.
type Built struct {
	Request    llm.Request
	Sizes      []int // tokens of each of its entries, with the framing
	Plan       *stability.Plan
	Mirror     *stability.Mirror // of the cache that the request goes to
	Counted    int               // tokens of the request, uncalibrated
	Categories map[string]int    // adds up to Counted
	Documents  map[string]int    // tokens by name
	Phase      string
	Layout     string        // name of the layout
	Changes    fit.Changes   // that the session has to store for the request to fit
	Omitted    []fit.Omitted // everything that the request omits, and why
	Unanswered int           // tool calls for which the request says that they have no result
	Withdrawn  []string      // names of the withdrawn tools that the request leaves out
	Step       bool          // the reply to it is a step: the turn goes on
	Files      []filecontext.Entry
	Refreshed  []filecontext.Change // that were found on the disk
	Sent       []SentFile
	Index      *outlines.IndexStatus // of the workspace; nil if there is none

	prefixes []string // that outlines abbreviate

	cache string            // name of the cache
	told  map[string]string // availability of files, as the notes tell it
	blobs []textBlob        // that the stored layout has to find again
	keep  []string          // hashes of those and of the older ones that the layout refers to
}

// textBlob is a text and its hash.
type textBlob struct{ hash, text string }

// SentFile is a file that a request contains.
type SentFile struct {
	Path, Hash string
	Whole      bool
}

// Claims returns how many tokens of a window the request takes: its own, as counted, and those of the reply that it asks
// for.
func (b *Built) Claims() int { return b.Counted + b.Request.MaxOutput }

// Build makes the next request: what it contains, made to fit, in the order and with the cache marks of the layout.
func (s State) Build(ctx context.Context) (Built, error) {
	b, err := s.build(ctx)
	if err != nil {
		return Built{}, fmt.Errorf("session %s: %w", s.Session, err)
	}
	return b, nil
}

func (s *State) build(ctx context.Context) (Built, error) {
	if s.Beginning == nil {
		s.Beginning = (*Beginnings)(nil).New()
	}
	state, err := s.withoutUnfitPictures(ctx)
	if err != nil {
		return Built{}, err
	}
	c, err := state.collect(ctx)
	if err != nil {
		return Built{}, err
	}
	state, back := state.returned(&c)
	if !back.Empty() {
		if c, err = state.collect(ctx); err != nil {
			return Built{}, err
		}
	}
	fitted, err := fit.Fit(ctx, state.fitting(&c))
	if err != nil {
		return Built{}, err
	}
	p, fitted, err := state.plan(ctx, &c, fitted)
	if err != nil {
		return Built{}, err
	}
	if p.Expect == 0 && len(s.Withdrawn) > 0 {
		return s.buildWithoutWithdrawn(ctx)
	}
	b, err := state.render(ctx, &c, &p, &fitted)
	b.Changes.Returned, b.Changes.Files = back.Returned, append(back.Files, b.Changes.Files...)
	return b, err
}

// buildWithoutWithdrawn builds the request without the withdrawn tools. If nothing of a request is cached, that costs nothing.
func (s State) buildWithoutWithdrawn(ctx context.Context) (Built, error) {
	withdrawn := s.Withdrawn
	s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(t llm.Tool) bool { return slices.Contains(withdrawn, t.Name) })
	s.Withdrawn = nil
	b, err := s.build(ctx)
	b.Withdrawn = withdrawn
	return b, err
}

// returned returns the state with the documents and files for which there is room again, and the changes that make them
// whole. In a request without earlier messages they may fill the room.
func (s State) returned(c *collected) (State, fit.Changes) {
	kept, room := s.Kept(), s.Capacity(s.Room())
	if len(s.View) <= 1 && s.Summary.Text == "" {
		kept = room
	}
	changes := fit.Returning(c.absent, fit.Size(c.items)+s.separators(c.items), kept, room)
	s.Truncated, s.Files = maps.Clone(s.Truncated), slices.Clone(s.Files)
	for _, d := range changes.Returned {
		delete(s.Truncated, d.Name)
	}
	for _, f := range changes.Files {
		i := slices.IndexFunc(s.Files, func(e filecontext.Entry) bool { return e.Path == f.Path })
		s.Files[i].State, s.Files[i].Reason = f.State()
		s.Files[i].Range = f.Lines
	}
	return s, changes
}

// read reads messages of the session.
func (s *State) read(ctx context.Context, seqs []int64) ([]history.Message, error) {
	messages, err := s.Store.Messages(ctx, s.Session, seqs)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w: %w", ErrStorage, err)
	}
	return messages, nil
}

// Messages reads messages of the session as the view shows them.
func (s *State) Messages(ctx context.Context, view []history.Viewed) ([]history.Message, error) {
	return content.Reader(s.read).View(ctx, view)
}

// pageBytes limits the messages that are read from the store at once.
const pageBytes = 256 << 10

// withoutUnfitPictures returns the state with placeholders for the pictures that the model cannot take.
func (s State) withoutUnfitPictures(ctx context.Context) (State, error) {
	if err := s.see(ctx); err != nil {
		return State{}, err
	}
	s.View = content.WithPatches(s.View, s.Pictures.Unfit(s.View, &s.Model, s.Counter))
	return s, nil
}

// see notes the pictures and the lines of files in the messages of the view that were stored before the session was loaded.
func (s *State) see(ctx context.Context) error {
	for heads := s.Pictures.Unseen(s.View); len(heads) > 0; {
		var seqs []int64
		seqs, heads = history.Page(heads, pageBytes)
		messages, err := s.read(ctx, seqs)
		if err != nil {
			return err
		}
		for i := range messages {
			s.Pictures.Add(&messages[i])
			s.Reads.Add(&messages[i])
		}
	}
	return nil
}

// loops reports whether the profile composes a loop's view.
func (s *State) loops() bool { return !s.Profile.Loop.Zero() }

func (s *State) loopView() *loop.View {
	return &loop.View{
		Profile: &s.Profile.Loop, Counter: s.Counter, Read: s.read, Model: s.Model.Name, First: s.First, Exchanges: s.Exchanges,
		Summary: s.Summary, Room: s.Capacity(s.Profile.Loop.TotalTokens),
	}
}

// fitting returns what has to fit.
func (s *State) fitting(c *collected) fit.Request {
	return fit.Request{
		Items: c.items, Files: c.files, Told: c.told, Omitted: s.Omitted, Budget: &s.Profile.Budget,
		Limit: s.Capacity(s.Room()), Goal: s.Kept(), Between: s.separators,
		History: s.Capacity(s.Profile.Budget.HistoryTokens), Bytes: content.RequestBytes(&s.Model),
		Counter: s.Counter, Cache: s.Cache, Pictures: s.Pictures, Read: s.read, Name: s.fileName,
		Log: s.Log.With(slog.String("session", s.Session)), Documents: s,
		Notes: func(others, talk []fit.Item, files []filecontext.Entry, untold []string) ([]fit.Item, map[string]string) {
			return s.notes(others, talk, files, c.reads, untold)
		},
		FailureWords: s.Profile.Compaction.FailureWords,
	}
}

// Copies returns the changes that remove copies of files from the conversation.
func (s State) Copies(ctx context.Context) (fit.Changes, error) {
	request := s.fitting(&collected{items: fit.Conversation(s.View)})
	deduped, err := fit.Dedupe(ctx, request)
	return deduped.Changes, err
}

// Sent returns what those messages of the view that the newest answered request contained as they are now contain of a file.
func (s State) Sent(ctx context.Context, path string) (fit.Sent, error) {
	state, err := s.withoutUnfitPictures(ctx)
	if err != nil {
		return fit.Sent{}, err
	}
	sent := make(map[string]string) // hash by key
	for _, e := range state.Layout.entries() {
		if e.Kind == stability.Message {
			sent[e.Key] = e.Blob
		}
	}
	items := slices.DeleteFunc(fit.Conversation(state.View), func(it fit.Item) bool { return sent[it.Key] != it.Hash })
	return fit.SentOf(ctx, items, state.read, state.fileName, path)
}

// fileName returns the one name of a file of the session's folders, however a path is written, and any other path as it
// is. It is empty for some lines of a file.
func (s *State) fileName(path string) string {
	if s.Roots == nil {
		return path
	}
	ref, err := s.Roots.Locate(path)
	switch {
	case err != nil:
		return path
	case ref.Part:
		return ""
	}
	return ref.Path
}

// CheckFits returns a *BudgetError for a request whose tools, system prompt and newest message do not fit.
func (s *State) CheckFits(b *Built) error {
	need := s.Calibrated(b.Counted)
	if limit := s.Room(); need > limit {
		return fmt.Errorf("session %s: %w", s.Session, &BudgetError{Tokens: need, Limit: limit})
	}
	return nil
}

// CheckPrompt returns a *BudgetError for a message and required files of so many tokens that cannot fit at all.
func (s *State) CheckPrompt(message, files int) error {
	need := s.Calibrated(message + files + s.Counter.Count(s.systemPrompt()))
	if limit := s.Room(); need > limit {
		return &BudgetError{Tokens: need, Limit: limit, Files: files > 0}
	}
	return nil
}

// LogPlanned logs how a request that is to be sent was laid out, and what its provider is expected to have of it.
func (s *State) LogPlanned(b *Built) {
	s.Log.Debug("request planned", slog.String("session", s.Session), slog.Int("tokens", b.Counted),
		slog.Int("kept", b.Plan.Kept), slog.String("cut", string(b.Plan.Cut)), slog.Int("expected", b.Plan.Expect),
		slog.Int("expectedBlocks", b.Plan.ExpectBlocks), slog.Int("omitted", len(b.Omitted)))
	if b.Unanswered > 0 {
		s.Log.Info("tool calls without a result", slog.String("session", s.Session), slog.Int("calls", b.Unanswered))
	}
}
