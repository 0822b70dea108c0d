package history

import (
	"cmp"
	"slices"
)

// Visibility is what the working history does to one message.
type Visibility struct {
	InView  bool
	Edit    string       // id of the edit that took it out; empty where it is in view, or where none can be named
	Reason  HiddenReason // empty where it is in view
	Patches []ShownPatch // blocks that are shown differently, in the order of the edits
}

// HiddenReason says why a message is not in view.
type HiddenReason string

// The reasons.
const (
	HiddenSummarised HiddenReason = "summarised" // a summary stands for it
	HiddenLeftOut    HiddenReason = "left_out"   // it had to make room
	HiddenCleared    HiddenReason = "cleared"    // everything up to it was cleared
	HiddenReplaced   HiddenReason = "replaced"   // others took its place
	HiddenTakenBack  HiddenReason = "taken_back" // a restore went back to what was before it
)

// ShownPatch is a block that is shown differently, and the kind of the edit that made it so.
type ShownPatch struct {
	Patch
	Kind EditKind
}

// Visibility returns the v of each message with one of the sequence numbers, in their order. A number that is no
// message's has the zero Visibility.
func (l *Log) Visibility(seqs []int64) []Visibility {
	f := tracked{bySeq: make(map[int64]*Visibility, len(seqs)), byID: make(map[string]*Visibility, len(seqs))}
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
	all := make([]Visibility, len(seqs))
	for i, seq := range seqs {
		if v, found := f.bySeq[seq]; found {
			all[i] = *v
		}
	}
	return all
}

// tracked are those of some messages while the edits are gone through.
type tracked struct {
	bySeq map[int64]*Visibility
	byID  map[string]*Visibility
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
	case EditRestore:
		return
	}
	for _, id := range e.Messages {
		if v, wanted := f.byID[id]; wanted {
			v.leave(e)
		}
	}
	for _, p := range e.Patches {
		if v, wanted := f.byID[p.Message]; wanted && v.InView {
			v.Patches = append(v.Patches, ShownPatch{Patch: p, Kind: e.Kind})
		}
	}
}

// leave takes the message out of view, where it is in it.
func (f *Visibility) leave(e *Edit) {
	if !f.InView {
		return
	}
	*f = Visibility{Edit: e.ID, Reason: reasonOf(e)}
}

func reasonOf(e *Edit) HiddenReason {
	switch {
	case e.Kind == EditClear:
		return HiddenCleared
	case e.Kind == EditReplace:
		return HiddenReplaced
	case e.Summary != "":
		return HiddenSummarised
	}
	return HiddenLeftOut
}
