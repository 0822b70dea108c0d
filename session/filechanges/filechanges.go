// Package filechanges creates the stored records of file changes: the planned effect of a call, and its outcome.
//
// It must never change a file.
package filechanges

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
	"strata/session/tools"
)

// Place is the call that changes a file.
type Place struct {
	ID   string // of the record
	Turn string
	Step int    // of the turn, from 1
	Call string // its id
	Seq  int64  // of the message with the call
	At   time.Time
}

// Put adds the record of a planned change to a store change, with the contents of the file before and after. It returns the
// record. Store it before the change is made.
func Put(to *history.Change, at Place, c *tools.Change) history.FileChange {
	record := history.FileChange{
		ID: at.ID, Turn: at.Turn, Step: at.Step, Call: at.Call, Seq: at.Seq, At: at.At, Mode: c.Mode, State: history.FileChangePlanned,
	}
	setEffects(&record, c.Effects)
	if record.Kind == history.FileMoved {
		add(to, record) // the bytes are at the new path
	} else {
		add(to, record, c.Image, c.Next)
	}
	return record
}

// Settle adds a record with the outcome of its change to a store change. If made is nil, the outcome is unknown: Settle adds
// nothing, and the record stays planned.
func Settle(to *history.Change, record history.FileChange, made *tools.Made) {
	if made == nil {
		return
	}
	record.State = states[made.State]
	if made.Effects != nil {
		setEffects(&record, made.Effects)
	}
	add(to, record, made.Image, made.Next)
}

var states = map[change.State]history.FileChangeState{
	change.Done: history.FileChangeDone, change.NotDone: history.FileChangeNotDone, change.Unknown: history.FileChangeUnknown,
}

// setEffects sets the kind, the paths and the hashes of a record.
func setEffects(record *history.FileChange, effects []change.Effect) {
	first, last := effects[0], effects[len(effects)-1]
	record.Path, record.Before, record.After = first.File, stored(first.Before), stored(last.After)
	switch {
	case len(effects) > 1:
		record.Kind, record.To = history.FileMoved, last.File
	case record.Before == "":
		record.Kind = history.FileCreated
	case record.After == "":
		record.Kind = history.FileDeleted
	default:
		record.Kind = history.FileEdited
	}
}

// stored returns the hash in the form of records: empty for no file.
func stored(hash string) string {
	if hash == filecontext.NoFile {
		return ""
	}
	return hash
}

func add(to *history.Change, record history.FileChange, images ...[]byte) {
	to.PutFileChanges = append(to.PutFileChanges, record)
	for _, image := range images {
		if image != nil {
			sum := sha256.Sum256(image)
			to.FileImages = append(to.FileImages, history.Blob{Hash: hex.EncodeToString(sum[:]), Bytes: image})
		}
	}
}

// Lost returns planned records of a server that has ended, with the states that the current contents of their files show. Without
// roots they stay planned. A move that was interrupted has left the file at both paths: it was not done, and a further record has
// the new file. The error is that of ctx.
func Lost(ctx context.Context, roots *filecontext.Roots, planned []history.FileChange) (settled []history.FileChange, err error) {
	for i := range planned {
		records, err := lost(ctx, roots, planned[i])
		if err != nil {
			return nil, err
		}
		settled = append(settled, records...)
	}
	return settled, nil
}

func lost(ctx context.Context, roots *filecontext.Roots, record history.FileChange) ([]history.FileChange, error) {
	if roots == nil {
		return []history.FileChange{record}, nil
	}
	effects := effectsOf(&record)
	state, err := change.StateOf(ctx, roots, effects)
	if err != nil {
		return nil, err
	}
	record.State = states[state]
	if state != change.Unknown || record.Kind != history.FileMoved {
		return []history.FileChange{record}, nil
	}
	isCopied, err := copied(ctx, roots, effects)
	if err != nil || !isCopied {
		return []history.FileChange{record}, err
	}
	record.State = history.FileChangeNotDone
	return []history.FileChange{record, copyOf(record)}, nil
}

// copied reports whether a move has made the file at its new path, and has not removed it at the old one.
func copied(ctx context.Context, roots *filecontext.Roots, effects []change.Effect) (bool, error) {
	source, err := change.StateOf(ctx, roots, effects[:1])
	if err != nil {
		return false, err
	}
	goal, err := change.StateOf(ctx, roots, effects[1:])
	return source == change.NotDone && goal == change.Done, err
}

// copyOf returns the record of the file that a move has made before it was cut.
func copyOf(move history.FileChange) history.FileChange {
	made := move
	made.ID += "_copy"
	made.Kind, made.Path, made.To, made.Before = history.FileCreated, move.To, "", ""
	made.State = history.FileChangeDone
	return made
}

// effectsOf returns the effects of a record.
func effectsOf(record *history.FileChange) []change.Effect {
	hash := func(stored string) string {
		if stored == "" {
			return filecontext.NoFile
		}
		return stored
	}
	before, after := hash(record.Before), hash(record.After)
	if record.Kind == history.FileMoved {
		return []change.Effect{
			{Path: record.Path, File: record.Path, Before: before, After: filecontext.NoFile},
			{Path: record.To, File: record.To, Before: filecontext.NoFile, After: after},
		}
	}
	return []change.Effect{{Path: record.Path, File: record.Path, Before: before, After: after}}
}
