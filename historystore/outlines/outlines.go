// Package outlines stores the outlines of files and the file lists of workspace folders. They belong to no session, and can be
// made again.
package outlines

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The limits of Store.Purge that its callers should use.
const (
	Retention = 30 * 24 * time.Hour
	MaxBytes  = 256 << 20
)

const (
	someRows = 500            // changed by a transaction, so that other writes do not wait long
	maxWrite = 512 << 10      // bytes of outlines in a transaction, likewise
	exact    = 24 * time.Hour // how exact used_at is: a use is not worth a write each time
)

// Store has the outlines of files and the file lists of workspace folders. It is safe for concurrent use.
type Store struct {
	db  DB
	now func() time.Time
}

// New returns the outlines and file lists of a database. now returns the time of a use.
func New(db DB, now func() time.Time) Store { return Store{db, now} }

// Outlines returns the stored outlines with the given keys. Missing ones are omitted.
func (s Store) Outlines(ctx context.Context, keys []string) (map[string][]byte, error) {
	found, err := s.read(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read outlines: %w", err)
	}
	return found, nil
}

func (s Store) read(ctx context.Context, keys []string) (map[string][]byte, error) {
	found := make(map[string][]byte)
	old := s.now().Add(-exact).UnixMicro()
	var touched []string
	for some := range slices.Chunk(keys, someRows) {
		wanted, err := asJSON(some)
		if err != nil {
			return nil, err
		}
		err = s.db.View(ctx, "outlines", func(tx Querier) error {
			return each(ctx, tx, func(row *sql.Rows) error {
				var key string
				var data []byte
				var used int64
				if err := row.Scan(&key, &data, &used); err != nil {
					return err
				}
				found[key] = notNil(data)
				if used < old {
					touched = append(touched, key)
				}
				return nil
			}, "SELECT key, bytes, used_at FROM outline WHERE key IN (SELECT value FROM json_each(?))", wanted)
		})
		if err != nil {
			return nil, err
		}
	}
	return found, s.touch(ctx, touched)
}

// touch records that outlines were used.
func (s Store) touch(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, someRows) {
		used, err := asJSON(some)
		if err != nil {
			return err
		}
		err = s.db.Write(ctx, "outlines", func(tx Tx) error {
			_, err := tx.Exec("UPDATE outline SET used_at = ? WHERE key IN (SELECT value FROM json_each(?))", s.now().UnixMicro(), used)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PutOutlines stores outlines by key, in small transactions. After an error some of them may be stored.
func (s Store) PutOutlines(ctx context.Context, outlines map[string][]byte) error {
	keys := slices.Sorted(maps.Keys(outlines))
	for len(keys) > 0 {
		n, size := 0, 0
		for n < min(len(keys), someRows) && (n == 0 || size+len(outlines[keys[n]]) <= maxWrite) {
			size += len(outlines[keys[n]])
			n++
		}
		some := keys[:n]
		keys = keys[n:]
		err := s.db.Write(ctx, "outlines", func(tx Tx) error {
			for _, key := range some {
				if _, err := tx.Exec("INSERT OR REPLACE INTO outline (key, bytes, used_at) VALUES (?, ?, ?)",
					key, notNil(outlines[key]), s.now().UnixMicro()); err != nil {
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
func (s Store) Listing(ctx context.Context, folder string) (listing []byte, err error) {
	err = s.db.View(ctx, "listing", func(tx Querier) error {
		return each(ctx, tx, func(row *sql.Rows) error {
			err := row.Scan(&listing)
			listing = notNil(listing)
			return err
		}, "SELECT bytes FROM listing WHERE folder = ?", folder)
	})
	if err != nil {
		return nil, fmt.Errorf("read the file list of a folder: %w", err)
	}
	return listing, nil
}

// PutListing stores the file list of a workspace folder. An unchanged list is written at most once a day, to record its
// use.
func (s Store) PutListing(ctx context.Context, folder string, listing []byte) error {
	err := s.db.Write(ctx, "listing", func(tx Tx) error {
		now := s.now()
		_, err := tx.Exec(`INSERT INTO listing (folder, bytes, used_at) VALUES (?, ?, ?)
			ON CONFLICT (folder) DO UPDATE SET bytes = excluded.bytes, used_at = excluded.used_at
			WHERE bytes <> excluded.bytes OR used_at < ?`, folder, notNil(listing), now.UnixMicro(), now.Add(-exact).UnixMicro())
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
func (s Store) Purge(ctx context.Context, before time.Time, maxBytes int64) (purged int, err error) {
	err = s.db.Purge(ctx, func(tx Tx) (bool, error) {
		n, err := tx.Exec("DELETE FROM outline WHERE key IN (SELECT key FROM outline WHERE used_at < ? LIMIT ?)", before.UnixMicro(), someRows)
		purged += int(n)
		return n == someRows, err
	})
	if err == nil {
		err = s.db.Purge(ctx, func(tx Tx) (bool, error) {
			n, err := tx.Exec("DELETE FROM listing WHERE folder IN (SELECT folder FROM listing WHERE used_at < ? LIMIT ?)", before.UnixMicro(), someRows)
			return n == someRows, err
		})
	}
	if err == nil {
		err = s.db.Purge(ctx, func(tx Tx) (bool, error) {
			n, err := purgeExcess(tx, maxBytes)
			purged += n
			return n == someRows, err
		})
	}
	if err == nil && purged > 0 {
		err = s.db.Vacuum(ctx)
	}
	if err != nil {
		return purged, fmt.Errorf("purge outlines: %w", err)
	}
	return purged, nil
}

// purgeExcess deletes some of the outlines that exceed maxBytes in total, counted from the latest use.
func purgeExcess(tx Tx, maxBytes int64) (int, error) {
	n, err := tx.Exec(`DELETE FROM outline WHERE key IN (
		SELECT key FROM (SELECT key, sum(length(bytes)) OVER (ORDER BY used_at DESC, key) AS total FROM outline)
		WHERE total > ? LIMIT ?)`, maxBytes, someRows)
	return int(n), err
}
