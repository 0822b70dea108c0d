package historystore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"strata/history"
)

// A purge is cut into transactions of this size, so that other writes wait for none of them for long.
const (
	purgeMessages = 100
	purgeBytes    = 512 << 10
	purgeRows     = 500
	purgeRefs     = 50
	vacuumPages   = 256
	mergePages    = 256
)

// Purge removes for good the sessions that were deleted before the given time, and returns how many. It leaves none of their
// text behind in the file and shrinks it. It works in small transactions; when ctx ends it stops between two, and the next Purge
// begins with what is left.
func (s *Store) Purge(ctx context.Context, before time.Time) (purged int, err error) {
	if purged, err = s.purge(ctx, before); err != nil {
		return purged, fmt.Errorf("purge: %w", err)
	}
	return purged, nil
}

// purge deletes the records of the sessions last: as long as they are there, the work is not done.
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
		if err := s.purgeRecord(ctx, id); err != nil {
			return purged, err
		}
		purged++
	}
	if err := s.repeat(ctx, vacuum); err != nil {
		return purged, err
	}
	return purged, s.run(ctx, "purge", &job{alone: true, apply: s.emptyLog})
}

// hideDue returns the sessions to purge. Hidden from here on, they can no longer be undeleted.
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
	defer s.messages.dropIf(func(key messageKey) bool { return key.session == id })
	if err := s.repeat(ctx, func(tx *writeTx) (bool, error) { return purgeSomeMessages(tx, id) }); err != nil {
		return err
	}
	for _, table := range []string{"partial", "turn", "edit", "checkpoint", "compaction", "usage", "file", "document", "layout"} {
		if err := s.repeat(ctx, func(tx *writeTx) (bool, error) { return purgeSomeRows(tx, table, id) }); err != nil {
			return err
		}
	}
	return s.purgeBlobs(ctx, id)
}

func (s *Store) purgeRecord(ctx context.Context, id string) error {
	return s.write(ctx, "purge", []string{"purge"}, func(tx *writeTx) error {
		return tx.must("DELETE FROM session WHERE id = ?", id)
	})
}

// repeat runs step in one transaction after the other until it says that nothing is left.
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

// purgeSomeMessages deletes a few messages, fewer if they are large.
func purgeSomeMessages(tx *writeTx, session string) (more bool, err error) {
	heads, err := collect(background, tx, scanHead,
		"SELECT "+headColumns+" FROM message WHERE session = ? ORDER BY seq LIMIT ?", session, purgeMessages)
	if err != nil || len(heads) == 0 {
		return false, err
	}
	_, err = tx.exec("DELETE FROM message WHERE session = ? AND seq <= ?", session, lastWithin(heads, purgeBytes))
	return true, err
}

// lastWithin returns the sequence number of the last head up to which their contents fit into limit bytes; at least the first.
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

func purgeSomeRows(tx *writeTx, table, session string) (more bool, err error) {
	rows, err := tx.exec("DELETE FROM "+table+" WHERE rowid IN (SELECT rowid FROM "+table+" WHERE session = ? LIMIT ?)", session, purgeRows)
	return rows == purgeRows, err
}

// mergeIndex makes one part of the parts of the index, the older of which still hold words that were deleted.
func (s *Store) mergeIndex(ctx context.Context) error {
	pages := -mergePages // negative: begin by taking in every part
	return s.repeat(ctx, func(tx *writeTx) (bool, error) {
		more, err := mergeSome(tx, pages)
		pages = mergePages
		return more, err
	})
}

// mergeSome works on about so many pages of the index. Less than two changes mean that nothing is left to do.
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

// vacuum gives some free pages back to the file system.
func vacuum(tx *writeTx) (more bool, err error) {
	// The pragma frees one page with each step, so its rows, which are empty, have to be read to the end.
	if _, err := collect(background, tx, func(scanner) (int, error) { return 0, nil },
		fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages)); err != nil {
		return false, err
	}
	free, err := first(background, tx, scanOne[int64], "PRAGMA freelist_count")
	return free > 0, err
}

// emptyLog moves the write-ahead log into the database and cuts it to nothing, unless a reader needs it: then the
// next commits do. It must not wait for readers, because writers would wait with it.
func (s *Store) emptyLog(tx *writeTx) error {
	pragma := func(text string) error {
		_, err := tx.conn.ExecContext(background, "PRAGMA "+text)
		return err
	}
	if err := pragma("busy_timeout(0)"); err != nil {
		return err
	}
	return errors.Join(pragma("wal_checkpoint(TRUNCATE)"), pragma(busyPragma(s.opt.BusyTimeout)))
}
