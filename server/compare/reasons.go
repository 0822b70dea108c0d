package compare

import (
	"cmp"
	"strings"

	"strata/history"
)

// Reasons besides those of omissions, of edits of the view, and of files.
const (
	reasonNew       = "new"
	reasonEdited    = "edited"    // another text
	reasonUnused    = "unused"    // it was sent only because it was cached
	reasonRebuilt   = "rebuilt"   // the items are laid out again
	reasonWhole     = "whole"     // an outline, of a file that is in full now
	reasonOutlined  = "outlined"  // a file, of which the outline remains
	reasonReplaced  = "replaced"  // a summary, by a newer one
	reasonCompacted = "compacted" // a message, by a summary
)

// The prefixes of keys.
const (
	messagePrefix = "msg:"
	summaryPrefix = "summary:"
	filePrefix    = "file:"
	outlinePrefix = "outline:"
)

// kindDiff is the kind of an entry with a change of a file.
const kindDiff = "diff"

// reasons holds the known causes of the changes between two requests.
type reasons struct {
	cut      string
	omitted  map[string]string        // reasons by key, of the later request
	left     map[string]string        // likewise, of the earlier one
	edits    map[string]*history.Edit // by message: the newest edit that removed it
	cleared  *history.Edit            // the newest edit that removed everything before it; nil for none
	restored *history.Edit            // the newest restore; nil for none
	was, now map[string]bool          // keys of the earlier and the later request
	summary  bool                     // it has a summary
}

func newReasons(before, after *history.Request, edits []history.Edit) *reasons {
	w := &reasons{
		cut: after.Cut, omitted: omissions(after), left: omissions(before), edits: make(map[string]*history.Edit), was: keysOf(before), now: keysOf(after),
	}
	for key := range w.now {
		w.summary = w.summary || strings.HasPrefix(key, summaryPrefix+"edit_")
	}
	for i := range edits {
		e := &edits[i]
		switch e.Kind {
		case history.EditClear, history.EditReplace:
			w.cleared = e
		case history.EditRestore:
			w.restored = e
		}
		for _, id := range e.Messages {
			w.edits[id] = e
		}
	}
	return w
}

func keysOf(r *history.Request) map[string]bool {
	all := make(map[string]bool, len(r.Items))
	for i := range r.Items {
		all[r.Items[i].Key] = true
	}
	return all
}

func omissions(r *history.Request) map[string]string {
	all := make(map[string]string, len(r.Omitted))
	for _, o := range r.Omitted {
		all[o.Key] = o.Reason
	}
	return all
}

// explain sets the reason of a row. was and is are its items, nil for none.
func (w *reasons) explain(r *Row, was, is *history.RequestItem) {
	switch r.Change {
	case Same:
		if r.Reason = is.Moved; is.Dead && !was.Dead {
			r.Reason = reasonUnused
		}
	case Moved:
		r.Reason = cmp.Or(is.Moved, w.cut, reasonRebuilt)
	case Changed:
		if reason, ok := w.omitted[r.Key]; ok && is.Tokens < was.Tokens {
			r.Change, r.Reason = Shortened, reason
			return
		}
		r.Reason = reasonEdited
	case Added:
		r.Reason, r.Edit = w.whyAdded(is)
	case Removed:
		r.Reason, r.Edit = w.whyRemoved(was)
	}
}

func (w *reasons) whyAdded(is *history.RequestItem) (reason, edit string) {
	if _, wasOmitted := w.left[is.Key]; wasOmitted {
		return "room_again", ""
	}
	switch {
	case strings.HasPrefix(is.Key, summaryPrefix+"edit_"):
		return reasonCompacted, strings.TrimPrefix(is.Key, summaryPrefix)
	case is.Kind == kindDiff || w.was[is.Key]: // another entry had the earlier text
		return reasonEdited, ""
	case is.Reason != "":
		return is.Reason, ""
	case is.Kind == "message" && is.N > 0 && w.restored != nil:
		return string(history.EditRestore), w.restored.ID
	}
	return reasonNew, ""
}

func (w *reasons) whyRemoved(was *history.RequestItem) (reason, edit string) {
	id, isMessage := strings.CutPrefix(was.Key, messagePrefix)
	if e := w.edits[id]; isMessage && e != nil {
		return whyLeft(e), e.ID
	}
	if reason, ok := w.omitted[was.Key]; ok {
		return reason, ""
	}
	switch {
	case isMessage:
		for _, e := range []*history.Edit{w.cleared, w.restored} {
			if e != nil {
				return string(e.Kind), e.ID
			}
		}
	case strings.HasPrefix(was.Key, summaryPrefix) && w.summary:
		return reasonReplaced, ""
	case was.Dead:
		return reasonUnused, ""
	case w.now[was.Key]: // another entry shows the file
		return reasonRebuilt, ""
	case w.now[outlinePrefix+strings.TrimPrefix(was.Key, filePrefix)]:
		return reasonOutlined, ""
	case w.now[filePrefix+strings.TrimPrefix(was.Key, outlinePrefix)]:
		return reasonWhole, ""
	}
	return Removed, ""
}

// whyLeft returns why an edit removed messages.
func whyLeft(e *history.Edit) string {
	switch e.Kind {
	case history.EditCompact:
		return reasonCompacted
	case history.EditTruncate:
		return cmp.Or(e.Reason, string(e.Kind))
	}
	return string(e.Kind)
}
