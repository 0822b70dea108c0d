package transfer

import (
	"context"
	"slices"
	"time"

	"strata/history"
	"strata/session"
)

// Fork stores a new session that starts with a state of another one, and returns its record. Nothing of the fork is left
// after an error.
func (in *Importer) Fork(ctx context.Context, state session.Fork) (history.Session, error) {
	record, source := state.Session, state.Session.ID
	record.ID = in.NewID("sess_")
	record.CreatedAt = in.Now()
	record.UpdatedAt, record.DeletedAt = record.CreatedAt, time.Time{}
	record.Hidden, record.Messages = true, 0
	if err := in.begin(record.ID); err != nil {
		return record, err
	}
	defer in.end(record.ID)
	err := in.copy(ctx, source, record, state.Loaded)
	if err == nil {
		err = in.copyFileChanges(ctx, source, record.ID, state.Seq)
	}
	if err == nil {
		err = in.Show(ctx, record.ID)
	}
	if err != nil {
		in.drop(context.WithoutCancel(ctx), record.ID)
		return record, err
	}
	return in.Store.Session(ctx, record.ID)
}

// copy stores a hidden session and its first state, in transactions of at most pageLines messages or edits.
func (in *Importer) copy(ctx context.Context, source string, record history.Session, l history.Loaded) error {
	own := func(id string) string { return ownID(record.ID, id) }
	first := history.Change{Session: record.ID, Create: &record, PutFiles: l.Files, PutDocuments: l.Documents}
	for _, c := range l.Checkpoints {
		c.ID = own(c.ID)
		first.PutCheckpoints = append(first.PutCheckpoints, c)
	}
	if err := in.Store.Commit(ctx, first); err != nil {
		return err
	}
	for edits := range slices.Chunk(l.Edits, pageLines) {
		ch := history.Change{Session: record.ID}
		for _, e := range edits {
			ch.Edits = append(ch.Edits, e.WithIDs(own))
		}
		if err := in.Store.Commit(ctx, ch); err != nil {
			return err
		}
	}
	for rest := l.Heads; len(rest) > 0; {
		var seqs []int64
		seqs, rest = page(rest)
		messages, err := in.Store.Messages(ctx, source, seqs)
		if err != nil {
			return err
		}
		ch := history.Change{Session: record.ID}
		for _, m := range messages {
			ch.Messages = append(ch.Messages, m.WithIDs(own))
		}
		if err := in.Store.Commit(ctx, ch); err != nil {
			return err
		}
	}
	return nil
}

// copyFileChanges stores the file changes of source up to a place in another session. Their images are found by their
// hashes: those that source lacks, or drops meanwhile, the fork may lack too.
func (in *Importer) copyFileChanges(ctx context.Context, source, session string, place int64) error {
	own := func(id string) string { return ownID(session, id) }
	all, err := in.Store.FileChangeStore().List(ctx, source, history.FileChangeQuery{})
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c history.FileChange) bool { return c.Seq > place })
	for changes := range slices.Chunk(all, pageLines) {
		ch := history.Change{Session: session}
		for _, c := range changes {
			ch.PutFileChanges = append(ch.PutFileChanges, c.WithIDs(own))
		}
		if err := in.Store.Commit(ctx, ch); err != nil {
			return err
		}
	}
	return nil
}
