package reads

import (
	"math"

	"strata/history"
)

// Move is a change of a file by the model, from version to version. To is "" if the file was deleted, or if the messages do not
// tell everything of the change; From is "" if they do not tell which version it began with. Disk is as in history.FileLines: of a
// text that the editor had not saved.
type Move struct{ Path, From, To, Disk string }

// Moves returns the changes of files that an assistant's message with calls and the results tell, in their order. Who knows the
// earlier version of a file and reads the messages as a view shows them knows the later one.
func (r *Reads) Moves(messages []history.Viewed) (moves []Move) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range messages {
		for _, b := range r.blocks[messages[i].ID] {
			if b.From == nil {
				continue
			}
			m := Move{b.Path, b.From.Version, b.Version, b.Disk}
			if b.From.Path != "" {
				m.From = "" // the version is that of another file
			}
			if !hasCalls(messages) || !r.tells(messages, &b) {
				m.To = ""
			}
			moves = append(moves, m)
		}
	}
	return moves
}

// hasCalls reports whether messages begin with the calls, as the model wrote them.
func hasCalls(messages []history.Viewed) bool {
	return len(messages) > 0 && messages[0].Role == history.RoleAssistant && len(messages[0].Patches) == 0
}

// tells reports whether messages show all lines of the version that a call has made which are not those of the version before.
func (r *Reads) tells(messages []history.Viewed, made *Block) bool {
	before := history.FileLines{Path: made.Path, Version: made.From.Version, Lines: []history.Lines{{Start: 1, End: math.MaxInt32 / 2}}}
	v := NewView([]history.FileLines{before})
	found := false
	for i := range messages {
		for _, b := range r.blocks[messages[i].ID] {
			if b.Path != made.Path || b.Version != made.Version || isPatched(&messages[i], b.Place) {
				continue
			}
			found = found || b.Place == made.Place
			v.Add(&b.FileLines)
		}
	}
	return found && v.Covers(made.Path, made.Version, whole(made.Of))
}

// whole returns the lines of a whole file; those of an empty one are the zero Lines.
func whole(lines int) history.Lines {
	if lines == 0 {
		return history.Lines{}
	}
	return history.Lines{Start: 1, End: lines}
}
