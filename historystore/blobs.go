package historystore

import (
	"context"
	"database/sql"
	"fmt"

	"strata/history"
)

// Blobs returns the bytes of those hashes that are stored. One whose bytes do not match its hash is left out as if it
// were missing. Callers share the bytes and must not change them.
func (s *Store) Blobs(ctx context.Context, hashes []string) (map[string][]byte, error) {
	found, missing, since := s.blobs.lookup(hashes)
	if len(missing) > 0 {
		if err := s.readBlobs(ctx, missing, since, found); err != nil {
			return nil, fmt.Errorf("read blobs: %w", err)
		}
	}
	return found, nil
}

// readBlobs adds those of hashes that are sound to found and to the cache.
func (s *Store) readBlobs(ctx context.Context, hashes []string, since int, found map[string][]byte) error {
	wanted, err := asJSON(hashes)
	if err != nil {
		return err
	}
	var rows []history.Blob
	err = s.view(ctx, "blobs", func(tx *sql.Tx) (err error) {
		rows, err = collect(ctx, tx, scanBlob, "SELECT hash, bytes FROM blob WHERE hash IN (SELECT value FROM json_each(?))", wanted)
		return err
	})
	if err != nil {
		return err
	}
	for _, b := range rows {
		if hashOf(b.Bytes) != b.Hash {
			s.opt.Log.Error("damaged blob", "hash", b.Hash)
			continue
		}
		found[b.Hash] = b.Bytes
		s.blobs.put(b.Hash, b.Bytes, len(b.Bytes), since)
	}
	return nil
}

func scanBlob(row scanner) (b history.Blob, err error) {
	err = row.Scan(&b.Hash, &b.Bytes)
	b.Bytes = notNil(b.Bytes) // an empty blob comes back as nil
	return b, err
}

// prepareBlobs checks the hashes, because what is stored under one counts for every session.
func (p *prepared) prepareBlobs() (err error) {
	for i := range p.Blobs {
		if b := &p.Blobs[i]; b.Hash != hashOf(b.Bytes) {
			return fmt.Errorf("blob %s has another hash", b.Hash)
		}
	}
	if p.Layout != nil && p.KeepBlobs != nil {
		p.kept, err = asJSON(p.KeepBlobs)
	}
	return err
}

// putBlobs drops first, so that a blob that is put stays, named in KeepBlobs or not. One that is stored already is
// only written again where it is damaged.
func (p *prepared) putBlobs(tx *writeTx) (err error) {
	if p.kept != "" {
		if p.gone, err = keepBlobs(tx, p.Session, p.kept); err != nil {
			return err
		}
	}
	for i := range p.Blobs {
		b := &p.Blobs[i]
		if _, err := tx.exec(`INSERT INTO blob (hash, bytes) VALUES (?, ?)
			ON CONFLICT (hash) DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes`, b.Hash, notNil(b.Bytes)); err != nil {
			return err
		}
		if _, err := tx.exec("INSERT OR IGNORE INTO blob_ref (session, hash) VALUES (?, ?)", p.Session, b.Hash); err != nil {
			return err
		}
	}
	return nil
}

// keepBlobs makes session refer to those of kept, a JSON array of hashes, that are stored, and to no others.
// It returns the hashes of the blobs that it deleted.
func keepBlobs(tx *writeTx, session, kept string) (gone []string, err error) {
	others, err := collect(background, tx, scanOne[string],
		"SELECT hash FROM blob_ref WHERE session = ? AND hash NOT IN (SELECT value FROM json_each(?))", session, kept)
	if err != nil {
		return nil, err
	}
	if gone, err = dropBlobs(tx, session, others); err != nil {
		return nil, err
	}
	_, err = tx.exec(`INSERT OR IGNORE INTO blob_ref (session, hash)
		SELECT ?, hash FROM blob WHERE hash IN (SELECT value FROM json_each(?))`, session, kept)
	return gone, err
}

// dropBlobs takes back session's references to hashes, and deletes those blobs to which nothing refers now.
// It returns the hashes of these.
func dropBlobs(tx *writeTx, session string, hashes []string) (gone []string, err error) {
	for _, hash := range hashes {
		if _, err := tx.exec("DELETE FROM blob_ref WHERE session = ? AND hash = ?", session, hash); err != nil {
			return nil, err
		}
		deleted, err := tx.exec("DELETE FROM blob WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM blob_ref WHERE hash = ?)", hash, hash)
		if err != nil {
			return nil, err
		}
		if deleted > 0 {
			gone = append(gone, hash)
		}
	}
	return gone, nil
}

// purgeBlobs takes back all references of session, in small transactions.
func (s *Store) purgeBlobs(ctx context.Context, session string) error {
	var gone []string
	defer func() { s.blobs.drop(gone) }()
	return s.repeat(ctx, func(tx *writeTx) (more bool, err error) {
		hashes, err := collect(background, tx, scanOne[string], "SELECT hash FROM blob_ref WHERE session = ? LIMIT ?", session, purgeRefs)
		if err != nil {
			return false, err
		}
		deleted, err := dropBlobs(tx, session, hashes)
		gone = append(gone, deleted...)
		return len(hashes) == purgeRefs, err
	})
}
