package historystore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"strata/history"
	"strata/historystore/blobs"
	"strata/historystore/heads"
)

// Maximum sizes of the transactions of a purge, so that other writes do not wait long.
const (
	purgeMessages = 100
	purgeBytes    = 512 << 10
	purgeRows     = 500
	vacuumPages   = 256
	mergePages    = 256
)

// Purge permanently removes the sessions that were deleted before the given time, and returns their number. It erases
// their text from the file and shrinks the file. It uses small transactions: when ctx ends, it stops between two of
// them, and the next Purge continues.
func (s *Store) Purge(ctx context.Context, before time.Time) (purged int, err error) {
	if purged, err = s.purge(ctx, before); err != nil {
		return purged, fmt.Errorf("purge: %w", err)
	}
	return purged, nil
}

// purge deletes the session records last, because they mark unfinished work.
func (s *Store) purge(ctx context.Context, before time.Time) (purged int, err error) {
	ids, err := s.hideDue(ctx, before)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	for _, id := range ids {
		if err := s.purgeContent(ctx, id); err != nil {
			return 0, err
		}
	}
	if err := s.mergeIndex(ctx); err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := s.repeat(ctx, func(tx *writeTx) (bool, error) { return false, tx.must("DELETE FROM session WHERE id = ?", id) }); err != nil {
			return purged, err
		}
		purged++
	}
	if err := s.repeat(ctx, vacuum); err != nil {
		return purged, err
	}
	return purged, s.run(ctx, "purge", &job{alone: true, apply: emptyLog})
}

// hideDue returns the sessions to purge and hides them, so that they can no longer be undeleted.
func (s *Store) hideDue(ctx context.Context, before time.Time) (ids []string, err error) {
	err = s.write(ctx, "purge", []string{"purge"}, func(tx *writeTx) error {
		due := micros(before)
		if ids, err = collect(background, tx, scanOne[string], "SELECT id FROM session WHERE deleted_at < ? ORDER BY deleted_at, id", due); err != nil {
			return err
		}
		_, err := tx.exec("UPDATE session SET hidden = 1 WHERE deleted_at < ?", due)
		return err
	})
	return ids, err
}

func (s *Store) purgeContent(ctx context.Context, id string) error {
	defer s.messages.DropIf(func(key messageKey) bool { return key.session == id })
	if err := s.repeat(ctx, func(tx *writeTx) (bool, error) { return purgeSomeMessages(tx, id) }); err != nil {
		return err
	}
	for _, table := range []string{"head_block", "partial", "turn", "edit", "checkpoint", "compaction", "request", "usage", "spending", "file", "file_change", "document", "layout", "layout_row"} {
		if err := s.repeat(ctx, func(tx *writeTx) (bool, error) { return purgeSomeRows(tx, table, id) }); err != nil {
			return err
		}
	}
	for _, refs := range []blobs.References{blobs.OfLayouts, blobs.OfFiles} {
		if err := s.purgeBlobs(ctx, refs, id); err != nil {
			return err
		}
	}
	return nil
}

// repeat runs step, each time in a new transaction, until it returns false.
func (s *Store) repeat(ctx context.Context, step func(tx *writeTx) (more bool, err error)) error {
	for more := true; more; {
		err := s.write(ctx, "purge", []string{"purge"}, func(tx *writeTx) (err error) {
			more, err = step(tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// purgeSomeMessages deletes up to purgeMessages messages with up to purgeBytes bytes, at least one.
func purgeSomeMessages(tx *writeTx, session string) (more bool, err error) {
	some, err := collect(background, tx, heads.Scanner(),
		"SELECT "+heads.Columns+" FROM message WHERE session = ? ORDER BY seq LIMIT ?", session, purgeMessages)
	if err != nil || len(some) == 0 {
		return false, err
	}
	_, err = tx.exec("DELETE FROM message WHERE session = ? AND seq <= ?", session, lastWithin(some, purgeBytes))
	return true, err
}

// lastWithin returns the sequence number of the last head for which the contents so far fit into limit bytes, at least
// that of the first head.
func lastWithin(heads []history.Head, limit int) int64 {
	last, bytes := heads[0].Seq, 0
	for _, h := range heads {
		if bytes += h.Bytes; bytes > limit {
			break
		}
		last = h.Seq
	}
	return last
}

// keysWithoutRowID are the primary keys of the tables that have no row ids.
var keysWithoutRowID = map[string]string{"partial": "session, turn, n", "spending": "session, quarter, model"}

func purgeSomeRows(tx *writeTx, table, session string) (more bool, err error) {
	key := cmp.Or(keysWithoutRowID[table], "rowid")
	rows, err := tx.exec("DELETE FROM "+table+" WHERE ("+key+") IN (SELECT "+key+" FROM "+table+" WHERE session = ? LIMIT ?)", session, purgeRows)
	return rows == purgeRows, err
}

// mergeIndex merges all segments of the index into one, because the older ones still contain deleted words.
func (s *Store) mergeIndex(ctx context.Context) error {
	pages := -mergePages // negative: start a merge of all segments
	return s.repeat(ctx, func(tx *writeTx) (bool, error) {
		more, err := mergeSome(tx, pages)
		pages = mergePages
		return more, err
	})
}

// mergeSome merges about the given number of pages of the index. Fewer than two changes mean that the merge is complete.
func mergeSome(tx *writeTx, pages int) (more bool, err error) {
	before, err := totalChanges(tx)
	if err != nil {
		return false, err
	}
	if _, err := tx.exec("INSERT INTO message_fts (message_fts, rank) VALUES ('merge', ?)", pages); err != nil {
		return false, err
	}
	after, err := totalChanges(tx)
	return after-before >= 2, err
}

func totalChanges(tx *writeTx) (int64, error) {
	return first(background, tx, scanOne[int64], "SELECT total_changes()")
}

// vacuum returns some free pages to the file system. A database that was recovered with other tools may not allow that.
func vacuum(tx *writeTx) (more bool, err error) {
	before, err := first(background, tx, scanOne[int64], "PRAGMA freelist_count")
	if err != nil {
		return false, err
	}
	// The pragma frees one page per step, so all of its rows, which are empty, must be read.
	if _, err := collect(background, tx, func(scanner) (int, error) { return 0, nil },
		fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages)); err != nil {
		return false, err
	}
	free, err := first(background, tx, scanOne[int64], "PRAGMA freelist_count")
	return 0 < free && free < before, err
}

// emptyLog moves the write-ahead log into the database and truncates it; if a reader needs it, later commits do so. It must
// not wait for readers, because writes would wait, too.
func emptyLog(tx *writeTx) error {
	var errs []error
	for _, pragma := range []string{"busy_timeout(0)", "wal_checkpoint(TRUNCATE)", tx.patience(!tx.loose)} {
		_, err := tx.conn.ExecContext(background, "PRAGMA "+pragma)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// purgeBlobs removes all blob references of session from one of the tables, in small transactions.
func (s *Store) purgeBlobs(ctx context.Context, refs blobs.References, session string) error {
	var all []string
	defer func() { s.blobs.Drop(all) }()
	return s.repeat(ctx, func(tx *writeTx) (more bool, err error) {
		gone, more, err := blobs.Purge(tx.blobs(), refs, session, purgeBytes)
		all = append(all, gone...)
		return more, err
	})
}
