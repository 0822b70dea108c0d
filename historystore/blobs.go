package historystore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"

	"strata/history"
)

// Blobs returns the stored bytes for the given hashes. Missing blobs, and blobs whose bytes do not match the hash, are
// omitted. Callers share the bytes and must not modify them.
func (s *Store) Blobs(ctx context.Context, hashes []string) (map[string][]byte, error) {
	values := make([][]byte, len(hashes))
	_, since := s.blobs.Lookup(hashes, values)
	found := make(map[string][]byte, len(hashes))
	var missing []string
	for i, hash := range hashes {
		if values[i] == nil { // cached bytes are not nil, see scanBlob
			missing = append(missing, hash)
		} else {
			found[hash] = values[i]
		}
	}
	if len(missing) > 0 {
		if err := s.readBlobs(ctx, missing, since, found); err != nil {
			return nil, fmt.Errorf("read blobs: %w", err)
		}
	}
	return found, nil
}

// readBlobs reads blobs from the database and adds the valid ones to found and to the cache.
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
		s.blobs.Put(b.Hash, b.Bytes, len(b.Bytes), since)
	}
	return nil
}

func scanBlob(row scanner) (b history.Blob, err error) {
	err = row.Scan(&b.Hash, &b.Bytes)
	b.Bytes = notNil(b.Bytes) // the driver returns nil for an empty blob
	return b, err
}

// prepareBlobs verifies the hashes, because all sessions share the blobs.
func (p *prepared) prepareBlobs() (err error) {
	for i := range p.Blobs {
		if b := &p.Blobs[i]; b.Hash != hashOf(b.Bytes) {
			return fmt.Errorf("blob %s: content does not match the hash", b.Hash)
		}
	}
	if p.Layout != nil && p.KeepBlobs != nil {
		p.kept, err = asJSON(p.KeepBlobs)
	}
	return err
}

// putBlobs deletes blobs first, so that a blob in Blobs is stored even if KeepBlobs does not name it. A blob that is
// already stored is rewritten only if it is damaged.
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

// keepBlobs makes session refer exactly to the stored blobs in kept, a JSON array of hashes.
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

// dropBlobs removes session's references to hashes and deletes blobs without references.
// It returns the hashes of the deleted blobs.
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

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
