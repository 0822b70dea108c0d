package history

import (
	"cmp"
	"slices"
)

// Visibility describes whether and how the view shows a message.
type Visibility struct {
	InView  bool
	Edit    string       // id of the edit that removed it; empty if it is in view or a restore removed it
	Reason  HiddenReason // empty if it is in view
	Patches []ShownPatch // blocks that are shown differently, in the order of the edits
	Kept    bool         // neither evicted nor compacted, since a user wants it so
}

// HiddenReason is the reason why a message is not in view.
type HiddenReason string

// The reasons.
const (
	HiddenSummarised HiddenReason = "summarised" // replaced by a summary
	HiddenLeftOut    HiddenReason = "left_out"   // removed to fit the window
	HiddenCleared    HiddenReason = "cleared"    // removed by a clear
	HiddenReplaced   HiddenReason = "replaced"   // removed by a replace
	HiddenTakenBack  HiddenReason = "taken_back" // a restore returned to an earlier state
	HiddenUnanswered HiddenReason = "unanswered" // a prompt that failed without a reply, after which another followed
	HiddenUnfinished HiddenReason = "unfinished" // a reply that broke off, before whose end its turn went on
	HiddenTakenOut   HiddenReason = "taken_out"  // removed by a user
)

// ShownPatch is a patch with the kind of its edit.
type ShownPatch struct {
	Patch
	Kind EditKind
}

// Visibility returns the visibility of the messages with the given sequence numbers, in the same order. For a number
// that is not a message's it returns the zero Visibility.
func (l *Log) Visibility(seqs []int64) []Visibility {
	f := tracked{bySeq: make(map[int64]*Visibility, len(seqs)), byID: make(map[string]*Visibility, len(seqs)), patches: make(map[*Visibility][]ShownPatch)}
	for _, seq := range seqs {
		i, found := slices.BinarySearchFunc(l.heads, seq, func(h Head, seq int64) int { return cmp.Compare(h.Seq, seq) })
		if found {
			v := &Visibility{Reason: HiddenTakenBack}
			f.bySeq[seq], f.byID[l.heads[i].ID] = v, v
		}
	}
	for _, e := range l.effective(l.LastSeq()) {
		if e.head != nil {
			f.comes(e.head)
			continue
		}
		f.take(e.edit)
	}
	for id, v := range f.byID {
		if note := l.unanswered[id]; v.InView && note != "" && !slices.ContainsFunc(l.messages, func(m Viewed) bool { return m.ID == id }) {
			*v = Visibility{Edit: note, Reason: HiddenUnanswered}
		}
	}
	all := make([]Visibility, len(seqs))
	for i, seq := range seqs {
		if v, found := f.bySeq[seq]; found {
			all[i] = *v
		}
	}
	return all
}

// tracked holds the visibility of some messages while the edits are replayed.
type tracked struct {
	bySeq map[int64]*Visibility
	byID  map[string]*Visibility

	patches map[*Visibility][]ShownPatch // of messages that left the view
}

func (f tracked) comes(h *Head) {
	if v, wanted := f.bySeq[h.Seq]; wanted {
		v.InView, v.Reason = true, ""
	}
}

func (f tracked) take(e *Edit) {
	switch e.Kind {
	case EditClear, EditReplace:
		for _, v := range f.bySeq {
			v.leave(e)
		}
		return
	case EditRestore, EditUnanswered, EditResult:
		return
	}
	for _, id := range e.Messages {
		switch v, wanted := f.byID[id]; {
		case !wanted || e.Kind == EditRelease && !v.InView:
		case e.Kind == EditRelease:
			v.Kept = false
		case e.Kind == EditKeep:
			f.keep(v)
		default:
			if len(v.Patches) > 0 {
				f.patches[v] = v.Patches
			}
			v.leave(e)
		}
	}
	for _, p := range e.Patches {
		if v, wanted := f.byID[p.Message]; wanted && v.InView {
			v.Patches = append(v.Patches, ShownPatch{Patch: p, Kind: e.Kind})
		}
	}
}

// leave removes the message from view if it is in view. A message that was left out before can be summarised later.
func (f *Visibility) leave(e *Edit) {
	summarised := f.Reason == HiddenLeftOut && e.Kind == EditCompact && e.Summary != ""
	takenOut := e.Kind == EditTakeOut && (f.Reason == HiddenLeftOut || f.Reason == HiddenSummarised)
	if !f.InView && !summarised && !takenOut {
		return
	}
	*f = Visibility{Edit: e.ID, Reason: reasonOf(e)}
}

// keep returns a message to the view, unless a clear or a replace removed it, and keeps it there.
func (f tracked) keep(v *Visibility) {
	patches := v.Patches
	if !v.InView {
		patches = f.patches[v]
	}
	if !v.InView && (v.Reason == HiddenCleared || v.Reason == HiddenReplaced) {
		return
	}
	patches = slices.DeleteFunc(slices.Clone(patches), func(p ShownPatch) bool { return p.Origin == OriginCut })
	*v = Visibility{InView: true, Kept: true, Patches: patches}
}

func reasonOf(e *Edit) HiddenReason {
	switch {
	case e.Kind == EditClear:
		return HiddenCleared
	case e.Kind == EditReplace:
		return HiddenReplaced
	case e.Kind == EditResume:
		return HiddenUnfinished
	case e.Kind == EditTakeOut:
		return HiddenTakenOut
	case e.Summary != "":
		return HiddenSummarised
	}
	return HiddenLeftOut
}
