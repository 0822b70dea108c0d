// Package filechanges makes the stored records of file changes: what a call is about to do, and what became of it.
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

// Put adds the record of a change to what is stored, before its effect, with the bytes of the file before and after it. It
// returns the record.
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

// Settle adds a record to what is stored, with what became of the change. made is nil if that is not known: then the record
// stays planned, and nothing is added.
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

// setEffects sets what a record says of the files.
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

// stored returns a hash of a file as records have it.
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

// Lost settles records of a server that has ended: by what their files have now. Without roots nothing is known. A move that was
// cut has left the file at both paths: it was not done, and a further record has the new file. The error is that of ctx.
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
	record.State = history.FileChangeUnknown
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
