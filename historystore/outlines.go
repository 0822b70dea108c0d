package historystore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"strata/history"
)

// The limits of OutlineStore.Purge that its callers should use.
const (
	OutlineRetention = 30 * 24 * time.Hour
	MaxOutlineBytes  = 256 << 20
)

const (
	maxOutlineWrite = 512 << 10      // bytes of outlines in a transaction, so that other writes do not wait long
	outlineTouch    = 24 * time.Hour // how exact used_at is: a use is not worth a write each time
)

// OutlineStore is the part of a Store that has the outlines of files and the file lists of workspace folders. They belong
// to no session.
type OutlineStore struct{ store *Store }

// write queues a change of outlines. It is patient: outlines can be made again.
func (o OutlineStore) write(ctx context.Context, op string, apply func(tx *writeTx) error) error {
	return o.store.run(ctx, op, &job{kinds: []string{"outlines"}, patient: true, apply: apply})
}

// OutlineStore returns the outlines and file lists of s.
func (s *Store) OutlineStore() OutlineStore { return OutlineStore{s} }

// Outlines returns the stored outlines with the given keys. Missing ones are omitted.
func (o OutlineStore) Outlines(ctx context.Context, keys []string) (map[string][]byte, error) {
	found, err := o.read(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read outlines: %w", err)
	}
	return found, nil
}

func (o OutlineStore) read(ctx context.Context, keys []string) (map[string][]byte, error) {
	found := make(map[string][]byte)
	old := micros(o.store.opt.Now().Add(-outlineTouch))
	var touched []string
	for some := range slices.Chunk(keys, purgeRows) {
		wanted, err := asJSON(some)
		if err != nil {
			return nil, err
		}
		err = o.store.view(ctx, "outlines", func(tx *sql.Tx) error {
			_, err := collect(ctx, tx, func(row scanner) (none struct{}, err error) {
				var key string
				var data []byte
				var used int64
				if err = row.Scan(&key, &data, &used); err == nil {
					found[key] = notNil(data)
				}
				if used < old {
					touched = append(touched, key)
				}
				return none, err
			}, "SELECT key, bytes, used_at FROM outline WHERE key IN (SELECT value FROM json_each(?))", wanted)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, o.touch(ctx, touched)
}

// touch records that outlines were used.
func (o OutlineStore) touch(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, purgeRows) {
		used, err := asJSON(some)
		if err != nil {
			return err
		}
		err = o.write(ctx, "outlines", func(tx *writeTx) error {
			_, err := tx.exec("UPDATE outline SET used_at = ? WHERE key IN (SELECT value FROM json_each(?))", micros(o.store.opt.Now()), used)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PutOutlines stores outlines by key, in small transactions. After an error some of them may be stored.
func (o OutlineStore) PutOutlines(ctx context.Context, outlines map[string][]byte) error {
	keys := slices.Sorted(maps.Keys(outlines))
	for len(keys) > 0 {
		n, size := 0, 0
		for n < min(len(keys), purgeRows) && (n == 0 || size+len(outlines[keys[n]]) <= maxOutlineWrite) {
			size += len(outlines[keys[n]])
			n++
		}
		some := keys[:n]
		keys = keys[n:]
		err := o.write(ctx, "outlines", func(tx *writeTx) error {
			for _, key := range some {
				if _, err := tx.exec("INSERT OR REPLACE INTO outline (key, bytes, used_at) VALUES (?, ?, ?)",
					key, notNil(outlines[key]), micros(o.store.opt.Now())); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("store outlines: %w", err)
		}
	}
	return nil
}

// Listing returns the stored file list of a workspace folder, nil if there is none.
func (o OutlineStore) Listing(ctx context.Context, folder string) (listing []byte, err error) {
	err = o.store.view(ctx, "listing", func(tx *sql.Tx) error {
		listing, err = first(ctx, tx, scanOne[[]byte], "SELECT bytes FROM listing WHERE folder = ?", folder)
		return err
	})
	if errors.Is(err, history.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the file list of a folder: %w", err)
	}
	return notNil(listing), nil
}

// PutListing stores the file list of a workspace folder. An unchanged list is written at most once a day, to record its
// use.
func (o OutlineStore) PutListing(ctx context.Context, folder string, listing []byte) error {
	err := o.write(ctx, "listing", func(tx *writeTx) error {
		now := o.store.opt.Now()
		_, err := tx.exec(`INSERT INTO listing (folder, bytes, used_at) VALUES (?, ?, ?)
			ON CONFLICT (folder) DO UPDATE SET bytes = excluded.bytes, used_at = excluded.used_at
			WHERE bytes <> excluded.bytes OR used_at < ?`, folder, notNil(listing), micros(now), micros(now.Add(-outlineTouch)))
		return err
	})
	if err != nil {
		return fmt.Errorf("store the file list of a folder: %w", err)
	}
	return nil
}

// Purge deletes the outlines and file lists last used before a time, then the outlines unused for the longest
// until the rest has at most maxBytes, and returns the number of deleted outlines. It uses small transactions: when ctx
// ends, it stops between two of them.
func (o OutlineStore) Purge(ctx context.Context, before time.Time, maxBytes int64) (purged int, err error) {
	err = o.store.repeat(ctx, func(tx *writeTx) (bool, error) {
		n, err := tx.exec("DELETE FROM outline WHERE key IN (SELECT key FROM outline WHERE used_at < ? LIMIT ?)", micros(before), purgeRows)
		purged += int(n)
		return n == purgeRows, err
	})
	if err == nil {
		err = o.store.repeat(ctx, func(tx *writeTx) (bool, error) {
			n, err := tx.exec("DELETE FROM listing WHERE folder IN (SELECT folder FROM listing WHERE used_at < ? LIMIT ?)", micros(before), purgeRows)
			return n == purgeRows, err
		})
	}
	if err == nil {
		err = o.store.repeat(ctx, func(tx *writeTx) (bool, error) {
			n, err := purgeExcess(tx, maxBytes)
			purged += n
			return n == purgeRows, err
		})
	}
	if err == nil && purged > 0 {
		err = o.store.repeat(ctx, vacuum)
	}
	if err != nil {
		return purged, fmt.Errorf("purge outlines: %w", err)
	}
	return purged, nil
}

// purgeExcess deletes some of the outlines that exceed maxBytes in total, counted from the latest use.
func purgeExcess(tx *writeTx, maxBytes int64) (int, error) {
	n, err := tx.exec(`DELETE FROM outline WHERE key IN (
		SELECT key FROM (SELECT key, sum(length(bytes)) OVER (ORDER BY used_at DESC, key) AS total FROM outline)
		WHERE total > ? LIMIT ?)`, maxBytes, purgeRows)
	return int(n), err
}
