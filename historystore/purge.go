package historystore

import (
	"context"
	"fmt"
	"time"

	"strata/history"
)

// A purge is cut into transactions of this size, so that other writes wait for none of them for long.
const (
	purgeMessages = 100
	purgeBytes    = 512 << 10
	purgeRows     = 500
	vacuumPages   = 256
	mergePages    = 256
)

// Purge removes for good the sessions that were deleted before the given time, and returns how many. It shrinks the
// file afterwards and leaves none of their text behind in it. It works in small transactions; when ctx ends it stops between two, and
// the next Purge goes on there.
func (s *Store) Purge(ctx context.Context, before time.Time) (purged int, err error) {
	for {
		id, err := s.nextToPurge(ctx, before)
		if err == nil && id == "" {
			break
		}
		if err == nil {
			err = s.purgeSession(ctx, id)
		}
		if err != nil {
			return purged, fmt.Errorf("purge: %w", err)
		}
		purged++
	}
	if purged == 0 {
		return 0, nil
	}
	if err := s.tidy(ctx); err != nil {
		return purged, fmt.Errorf("purge: %w", err)
	}
	return purged, nil
}

// nextToPurge returns a session to purge, or an empty id. Hidden from here on, it can no longer be undeleted.
func (s *Store) nextToPurge(ctx context.Context, before time.Time) (id string, err error) {
	err = s.write(ctx, "purge", []string{"purge"}, func(tx *writeTx) error {
		id, err = optional(first(background, tx, scanOne[string],
			"SELECT id FROM session WHERE deleted_at < ? ORDER BY deleted_at LIMIT 1", micros(before)))
		if err != nil || id == "" {
			return err
		}
		return tx.must("UPDATE session SET hidden = 1 WHERE id = ?", id)
	})
	return id, err
}

func (s *Store) purgeSession(ctx context.Context, id string) error {
	defer s.cache.drop(id)
	if err := s.repeat(ctx, func(tx *writeTx) (bool, error) { return purgeSomeMessages(tx, id) }); err != nil {
		return err
	}
	for _, table := range []string{"partial", "turn", "edit", "checkpoint", "usage", "file", "layout"} {
		if err := s.repeat(ctx, func(tx *writeTx) (bool, error) { return purgeSomeRows(tx, table, id) }); err != nil {
			return err
		}
	}
	return s.write(ctx, "purge", []string{"purge"}, func(tx *writeTx) error {
		if err := keepBlobs(tx, id, "[]"); err != nil {
			return err
		}
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

// tidy merges the index, whose older parts still hold deleted words, gives free pages back to the file system and
// empties the log.
func (s *Store) tidy(ctx context.Context) error {
	pages := -mergePages // negative: begin by taking in every part
	if err := s.repeat(ctx, func(tx *writeTx) (bool, error) {
		more, err := mergeIndex(tx, pages)
		pages = mergePages
		return more, err
	}); err != nil {
		return err
	}
	if err := s.repeat(ctx, vacuum); err != nil {
		return err
	}
	return s.run(ctx, "checkpoint", &job{alone: true, apply: s.emptyLog})
}

// mergeIndex works on about so many pages of the index. Less than two changes mean that nothing is left to do.
func mergeIndex(tx *writeTx, pages int) (more bool, err error) {
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
	for _, pragma := range []string{"busy_timeout(0)", "wal_checkpoint(TRUNCATE)", busyPragma(s.opt.BusyTimeout)} {
		if _, err := tx.conn.ExecContext(background, "PRAGMA "+pragma); err != nil {
			return err
		}
	}
	return nil
}
