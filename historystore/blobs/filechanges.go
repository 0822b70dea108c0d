package blobs

import (
	"context"
	"fmt"
	"log/slog"
	"math"

	"strata/history"
)

// condition returns a query as a condition and its arguments.
func condition(q *history.FileChangeQuery, session string) (where string, args []any) {
	where, args = "c.session = ?", []any{session}
	add := func(set bool, condition string, value ...any) {
		if set {
			where, args = where+" AND "+condition, append(args, value...)
		}
	}
	add(q.Turn != "", "c.turn = ?", q.Turn)
	add(q.After > 0, "c.seq > ?", q.After)
	add(q.RestoredBy != "", "c.restored_by = ?", q.RestoredBy)
	add(q.Planned, "c.state = 'planned'") // as in the index
	return where, args
}

// FileChanges returns changes of files in session, oldest first, and which of their contents are stored. It logs damaged
// records and omits them.
func FileChanges(ctx context.Context, tx Querier, session string, q history.FileChangeQuery, log *slog.Logger) (sound []history.FileChange, err error) {
	where, args := condition(&q, session)
	all, err := collect(ctx, tx, scanFileChange, `SELECT c.id, c.turn, c.step, c.call, c.seq, c.kind, c.path, c.target,
			c.hash_before, c.hash_after, c.mode, c.at, c.state, c.restored_by,
			EXISTS (SELECT 1 FROM file_image i WHERE i.session = c.session AND i.hash = c.hash_before),
			EXISTS (SELECT 1 FROM file_image i WHERE i.session = c.session AND i.hash = c.hash_after)
		FROM file_change c WHERE `+where+" ORDER BY c.rowid", args...)
	for i := range all {
		if err := all[i].Check(); err != nil {
			log.Error("damaged record", "kind", "file change", "id", all[i].ID, "err", err)
			continue
		}
		sound = append(sound, all[i])
	}
	return sound, err
}

func scanFileChange(row scanner) (c history.FileChange, err error) {
	var mode, at int64
	err = row.Scan(&c.ID, &c.Turn, &c.Step, &c.Call, &c.Seq, &c.Kind, &c.Path, &c.To,
		&c.Before, &c.After, &mode, &at, &c.State, &c.RestoredBy, &c.HasBefore, &c.HasAfter)
	c.Mode = uint32(min(uint64(mode), math.MaxUint32)) // one that is not valid stays so
	c.At = history.StoredTime(at)
	return c, err
}

// ByTurn returns the file changes of up to limit turns, newest turn first: of those whose newest change is before a sequence
// number. The changes of a turn are together, as FileChanges returns them. older is the number for the older turns, 0 if
// there are none.
func ByTurn(ctx context.Context, tx Querier, session string, before int64, limit int, log *slog.Logger) (turns [][]history.FileChange, older int64, err error) {
	type turn struct {
		id     string
		newest int64
	}
	found, err := collect(ctx, tx, func(row scanner) (t turn, err error) {
		err = row.Scan(&t.id, &t.newest)
		return t, err
	}, "SELECT turn, max(seq) AS newest FROM file_change WHERE session = ? AND turn <> '' GROUP BY turn HAVING newest < ? ORDER BY newest DESC, turn LIMIT ?",
		session, before, limit+1)
	if len(found) > limit {
		found = found[:limit]
		older = found[limit-1].newest
	}
	for i := 0; i < len(found) && err == nil; i++ {
		var changes []history.FileChange
		changes, err = FileChanges(ctx, tx, session, history.FileChangeQuery{Turn: found[i].id}, log)
		if len(changes) > 0 { // not all of them are damaged
			turns = append(turns, changes)
		}
	}
	return turns, older, err
}

// Images returns the contents of changed files of session by their hashes. It omits the same as Read.
func Images(ctx context.Context, tx Querier, session string, hashes []string, log *slog.Logger) (map[string][]byte, error) {
	sound, err := read(ctx, tx, log, `SELECT hash, blob.bytes FROM file_image JOIN blob USING (hash)
		WHERE session = ? AND hash IN (SELECT value FROM json_each(?))`, session, list(hashes))
	images := make(map[string][]byte, len(sound))
	for _, b := range sound {
		images[b.Hash] = b.Bytes
	}
	return images, err
}

// CheckFiles validates the file changes and images of a change. An image must belong to one of the file changes, because
// nothing else would refer to it.
func CheckFiles(ch *history.Change) error {
	named := make(map[string]bool)
	for i := range ch.PutFileChanges {
		c := &ch.PutFileChanges[i]
		if err := c.Check(); err != nil {
			return err
		}
		named[c.Before], named[c.After] = true, true
	}
	for i := range ch.FileImages {
		if hash := ch.FileImages[i].Hash; !named[hash] {
			return fmt.Errorf("image %s belongs to no file change", hash)
		}
	}
	return Check(ch.FileImages)
}

// PutFiles stores the file changes and images of a change, and deletes images until those of its session have at most limit
// bytes. It returns the hashes of the deleted blobs. taken is the id of a file change that is stored with other content; then
// the transaction must not be committed.
func PutFiles(tx Tx, ch *history.Change, limit int64) (gone []string, taken string, err error) {
	if len(ch.PutFileChanges) == 0 {
		return nil, "", nil
	}
	for i := range ch.FileImages {
		if err := put(tx, &ch.FileImages[i]); err != nil {
			return nil, "", err
		}
	}
	for i := range ch.PutFileChanges {
		c := &ch.PutFileChanges[i]
		if rows, err := putFileChange(tx, ch.Session, c); err != nil || rows == 0 {
			return nil, c.ID, err
		}
	}
	gone, err = dropOld(tx, ch.Session, limit)
	return gone, "", err
}

// putFileChange stores a change, or the new state of a stored one, and refers to its images. It returns 0 rows if the stored
// one is another change.
func putFileChange(tx Tx, session string, c *history.FileChange) (rows int64, err error) {
	rows, err = tx.Exec(`INSERT INTO file_change (session, id, turn, step, call, seq, kind, path, target, hash_before, hash_after, mode, at, state, restored_by)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (session, id) DO UPDATE SET kind = excluded.kind, hash_before = excluded.hash_before, hash_after = excluded.hash_after,
			mode = excluded.mode, state = excluded.state, restored_by = excluded.restored_by
		WHERE turn = excluded.turn AND step = excluded.step AND call = excluded.call AND seq = excluded.seq
			AND path = excluded.path AND target = excluded.target
			AND (file_change.state = 'planned' OR kind = excluded.kind AND hash_before = excluded.hash_before)`,
		session, c.ID, c.Turn, c.Step, c.Call, c.Seq, c.Kind, c.Path, c.To, c.Before, c.After, c.Mode, c.At.UnixMicro(), c.State, c.RestoredBy)
	if err != nil || rows == 0 {
		return 0, err
	}
	_, err = tx.Exec(`INSERT INTO file_image (session, hash, bytes, newest)
		SELECT c.session, hash, length(blob.bytes), c.rowid FROM file_change c JOIN blob ON hash IN (c.hash_before, c.hash_after)
		WHERE c.session = ? AND c.id = ?
		ON CONFLICT DO UPDATE SET newest = max(newest, excluded.newest)`, session, c.ID)
	return rows, err
}

// dropOld deletes images of session until they have at most limit bytes, those whose newest change is the oldest first.
// It returns the hashes of the deleted blobs.
func dropOld(tx Tx, session string, limit int64) (gone []string, err error) {
	total, err := collect(background, tx, scanOne[int64], "SELECT image_bytes FROM session WHERE id = ?", session)
	if err != nil || len(total) == 0 {
		return nil, err
	}
	for excess := total[0] - limit; excess > 0; {
		oldest, err := collect(background, tx, scanSized,
			"SELECT hash, bytes FROM file_image WHERE session = ? ORDER BY newest, hash LIMIT ?", session, some)
		if err != nil || len(oldest) == 0 {
			return gone, err
		}
		var hashes []string
		for i := 0; i < len(oldest) && excess > 0; i++ {
			hashes, excess = append(hashes, oldest[i].hash), excess-oldest[i].bytes
		}
		dropped, err := drop(tx, OfFiles, session, hashes)
		if err != nil {
			return gone, err
		}
		gone = append(gone, dropped...)
	}
	return gone, nil
}
