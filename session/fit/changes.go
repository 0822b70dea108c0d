package fit

import (
	"slices"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
)

// Changes are what has to change in a session for a request to fit. They are stored as edits of the view and as states of
// files, so that the next request begins with the same bytes.
type Changes struct {
	Dedupe    []history.Patch
	Chars     int              // that Dedupe saves
	Origins   map[string]int   // number of copies that Dedupe replaces, by origin
	Evict     []history.Viewed // messages that leave the view
	Truncate  []history.Patch
	Files     []FileChange
	Documents []history.DocumentCut
	Returned  []history.DocumentCut // of documents that are whole again, since there is room
}

// FileChange says which lines of a file are still shown; the zero range: none. If Returns is set the file shows again as
// much as was requested.
type FileChange struct {
	Path    string
	Lines   filecontext.Range
	Returns bool
}

// State returns the state of the file after the change, and the reason.
func (c *FileChange) State() (filecontext.State, string) {
	switch {
	case c.Returns && c.Lines.IsWhole():
		return filecontext.Full, ReasonReturned
	case c.Returns:
		return filecontext.Partial, ReasonReturned
	case c.Lines.IsWhole():
		return filecontext.SummaryOnly, ReasonBudget
	}
	return filecontext.Partial, ReasonTruncated
}

// Empty reports whether nothing changes.
func (c *Changes) Empty() bool {
	return len(c.Dedupe)+len(c.Evict)+len(c.Truncate)+len(c.Files)+len(c.Documents)+len(c.Returned) == 0
}

// Edits returns the changes of the conversation and of documents as edits of the view, without ids and sequence numbers.
func (c *Changes) Edits() []history.Edit {
	var edits []history.Edit
	if len(c.Returned) > 0 {
		edits = append(edits, history.Edit{Kind: history.EditTruncate, Reason: ReasonReturned, Documents: c.Returned})
	}
	if len(c.Dedupe) > 0 {
		edits = append(edits, history.Edit{
			Kind: history.EditDedupe, Reason: ReasonBudget, Patches: c.Dedupe, SavedTokens: Saved(c.Dedupe), SavedChars: c.Chars,
		})
	}
	if len(c.Evict)+len(c.Truncate)+len(c.Documents) > 0 {
		e := history.Edit{Kind: history.EditTruncate, Reason: c.reason(), Patches: c.Truncate, Documents: c.Documents, SavedTokens: Saved(c.Truncate)}
		for _, v := range c.Evict {
			e.Messages = append(e.Messages, v.ID)
			e.SavedTokens += v.Tokens
			e.SavedChars += v.Bytes
		}
		edits = append(edits, e)
	}
	return edits
}

// reason returns why messages are evicted and truncated.
func (c *Changes) reason() string {
	other := func(p history.Patch) bool { return p.Origin != content.ReasonRequestTooLarge }
	if len(c.Evict)+len(c.Documents) == 0 && !slices.ContainsFunc(c.Truncate, other) {
		return content.ReasonRequestTooLarge
	}
	return ReasonBudget
}

// Saved returns the tokens that patches save.
func Saved(patches []history.Patch) int {
	sum := 0
	for _, p := range patches {
		sum += p.Saved
	}
	return sum
}

// The reasons for which a request omits something.
const (
	ReasonBudget    = "over_budget"
	ReasonDuplicate = "duplicate"
	ReasonTruncated = history.OriginCut
)

// ReasonReturned is the reason for which a request contains again what an earlier one omitted.
const ReasonReturned = "room_again"

// Omitted names something that a request omits, and why.
type Omitted struct {
	Key    string `json:"key"`
	Count  int    `json:"count,omitempty"` // of messages, if it is a run of them
	Tokens int    `json:"tokens,omitempty"`
	Reason string `json:"reason"`
	Score  int    `json:"score,omitempty"` // its priority
}

// Runs returns what a request omits with successive messages as one.
func Runs(all []Omitted) []Omitted {
	out := all[:0:0]
	for _, o := range all {
		if n := len(out) - 1; n >= 0 && o.joins(&out[n]) {
			out[n].Count = max(out[n].Count, 1) + max(o.Count, 1)
			out[n].Tokens += o.Tokens
			continue
		}
		out = append(out, o)
	}
	return out
}

// joins reports whether o, a message, continues the run that ends with before.
func (o *Omitted) joins(before *Omitted) bool {
	return namesMessage(o.Key) && namesMessage(before.Key) && o.Reason == ReasonBudget && before.Reason == ReasonBudget && o.Score == before.Score
}

func namesMessage(key string) bool {
	return len(key) > len(MessagePrefix) && key[:len(MessagePrefix)] == MessagePrefix
}

// OmittedFromView names what earlier requests removed from the view: evicted messages, and parts of messages of the view.
func OmittedFromView(evicted []history.Head, view []history.Viewed) []Omitted {
	var all []Omitted
	if n := len(evicted); n > 0 {
		out := Omitted{Key: MessagePrefix + evicted[0].ID, Reason: ReasonBudget, Score: MessageLeast}
		for _, h := range evicted {
			out.Tokens += h.Tokens
		}
		if n > 1 {
			out.Count = n
		}
		all = append(all, out)
	}
	for i := range view {
		if v := &view[i]; len(v.Patches) > 0 {
			all = append(all, omittedByPatches(v.ID, v.Patches)...)
		}
	}
	return all
}

// omittedByPatches names the parts of a message that patches remove, once for each reason.
func omittedByPatches(message string, patches []history.Patch) (all []Omitted) {
	for _, p := range patches {
		reason := ReasonDuplicate
		if p.Origin == ReasonTruncated || content.IsPictureReason(p.Origin) {
			reason = p.Origin
		}
		i := slices.IndexFunc(all, func(o Omitted) bool { return o.Reason == reason })
		if i < 0 {
			all = append(all, Omitted{Key: MessagePrefix + message, Reason: reason})
			i = len(all) - 1
		}
		all[i].Tokens += p.Saved
	}
	return all
}

// OmittedFile names a file that shows less of itself because the whole did not fit; ok is false for another one.
func OmittedFile(e *filecontext.Entry, tokens func(filecontext.Entry) int) (o Omitted, ok bool) {
	whole, ok := Whole(e)
	if !ok || e.Problem != "" {
		return Omitted{}, false
	}
	missing := tokens(whole)
	if e.State == filecontext.Partial {
		missing -= tokens(*e)
	}
	return Omitted{Key: FilePrefix + e.Path, Tokens: max(missing, 0), Reason: e.Reason, Score: FilePriority(e)}, true
}

// Whole returns a file as it was requested if it shows less of itself because that did not fit; ok is false for another
// one.
func Whole(e *filecontext.Entry) (whole filecontext.Entry, ok bool) {
	summary := e.State == filecontext.SummaryOnly && e.Reason == ReasonBudget
	part := e.State == filecontext.Partial && e.Reason == ReasonTruncated
	if !summary && !part {
		return *e, false
	}
	back := FileChange{Path: e.Path, Lines: e.Wanted, Returns: true}
	whole = *e
	whole.State, whole.Reason = back.State()
	whole.Range, whole.Wanted = e.Wanted, filecontext.Range{}
	return whole, true
}

// Named names what the changes evict, and what they shorten.
func (c *Changes) Named() (evicted, shortened []Omitted) {
	for _, v := range c.Evict {
		evicted = append(evicted, Omitted{Key: MessagePrefix + v.ID, Tokens: v.Tokens, Reason: ReasonBudget})
	}
	for _, f := range c.Files {
		switch o := (Omitted{Key: FilePrefix + f.Path, Reason: ReasonBudget}); {
		case f.Returns:
		case f.Lines.IsWhole():
			evicted = append(evicted, o)
		default:
			o.Reason = ReasonTruncated
			shortened = append(shortened, o)
		}
	}
	for _, d := range c.Documents {
		if d.Keep == 0 {
			evicted = append(evicted, Omitted{Key: DocumentPrefix + d.Name, Reason: ReasonBudget})
		} else {
			shortened = append(shortened, Omitted{Key: DocumentPrefix + d.Name, Reason: ReasonTruncated})
		}
	}
	for _, p := range append(append([]history.Patch(nil), c.Dedupe...), c.Truncate...) {
		shortened = append(shortened, omittedByPatches(p.Message, []history.Patch{p})...)
	}
	return evicted, shortened
}
