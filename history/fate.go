package history

import (
	"cmp"
	"slices"
)

// Fate is what the working history does to one message.
type Fate struct {
	InView  bool
	Edit    string      // id of the edit that took it out; empty where it is in view, or where none can be named
	Reason  FateReason  // empty where it is in view
	Patches []FatePatch // blocks that are shown differently, in the order of the edits
}

// FateReason says why a message is not in view.
type FateReason string

// The reasons.
const (
	FateSummarised FateReason = "summarised" // a summary stands for it
	FateLeftOut    FateReason = "left_out"   // it had to make room
	FateCleared    FateReason = "cleared"    // everything up to it was cleared
	FateReplaced   FateReason = "replaced"   // others took its place
	FateTakenBack  FateReason = "taken_back" // a restore went back to what was before it
)

// FatePatch is a block that is shown differently, and the kind of the edit that made it so.
type FatePatch struct {
	Patch
	Kind EditKind
}

// Fates returns the fate of each message with one of the sequence numbers, in their order. A number that is no
// message's has the zero Fate.
func (l *Log) Fates(seqs []int64) []Fate {
	f := fates{bySeq: make(map[int64]*Fate, len(seqs)), byID: make(map[string]*Fate, len(seqs))}
	for _, seq := range seqs {
		i, found := slices.BinarySearchFunc(l.heads, seq, func(h Head, seq int64) int { return cmp.Compare(h.Seq, seq) })
		if found {
			fate := &Fate{Reason: FateTakenBack}
			f.bySeq[seq], f.byID[l.heads[i].ID] = fate, fate
		}
	}
	for _, e := range l.effective(l.LastSeq()) {
		if e.head != nil {
			f.comes(e.head)
			continue
		}
		f.take(e.edit)
	}
	all := make([]Fate, len(seqs))
	for i, seq := range seqs {
		if fate, found := f.bySeq[seq]; found {
			all[i] = *fate
		}
	}
	return all
}

// fates are those of some messages while the edits are gone through.
type fates struct {
	bySeq map[int64]*Fate
	byID  map[string]*Fate
}

func (f fates) comes(h *Head) {
	if fate, wanted := f.bySeq[h.Seq]; wanted {
		fate.InView, fate.Reason = true, ""
	}
}

func (f fates) take(e *Edit) {
	switch e.Kind {
	case EditClear, EditReplace:
		for _, fate := range f.bySeq {
			fate.leave(e)
		}
		return
	case EditRestore:
		return
	}
	for _, id := range e.Messages {
		if fate, wanted := f.byID[id]; wanted {
			fate.leave(e)
		}
	}
	for _, p := range e.Patches {
		if fate, wanted := f.byID[p.Message]; wanted && fate.InView {
			fate.Patches = append(fate.Patches, FatePatch{Patch: p, Kind: e.Kind})
		}
	}
}

// leave takes the message out of view, where it is in it.
func (f *Fate) leave(e *Edit) {
	if !f.InView {
		return
	}
	*f = Fate{Edit: e.ID, Reason: reasonOf(e)}
}

func reasonOf(e *Edit) FateReason {
	switch {
	case e.Kind == EditClear:
		return FateCleared
	case e.Kind == EditReplace:
		return FateReplaced
	case e.Summary != "":
		return FateSummarised
	}
	return FateLeftOut
}
