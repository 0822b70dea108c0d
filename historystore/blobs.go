package historystore

import (
	"context"
	"database/sql"
	"fmt"

	"strata/history"
)

// Blobs returns the bytes of those hashes that are stored. One whose bytes do not match its hash is left out as if it
// were missing.
func (s *Store) Blobs(ctx context.Context, hashes []string) (map[string][]byte, error) {
	wanted, err := asJSON(hashes)
	if err != nil {
		return nil, fmt.Errorf("read blobs: %w", err)
	}
	var rows []history.Blob
	err = s.view(ctx, "blobs", func(tx *sql.Tx) error {
		rows, err = collect(ctx, tx, scanBlob, "SELECT hash, bytes FROM blob WHERE hash IN (SELECT value FROM json_each(?))", wanted)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read blobs: %w", err)
	}
	found := make(map[string][]byte, len(rows))
	for _, b := range rows {
		if hashOf(b.Bytes) != b.Hash {
			s.opt.Log.Error("damaged blob", "hash", b.Hash)
			continue
		}
		found[b.Hash] = b.Bytes
	}
	return found, nil
}

func scanBlob(row scanner) (b history.Blob, err error) {
	err = row.Scan(&b.Hash, &b.Bytes)
	return b, err
}

// KeepBlobs says that the session's layout refers to these blobs only: the others are dropped unless another session's
// layout refers to them. The hashes must be those of the session's last committed layout, with no later one on its way.
func (s *Store) KeepBlobs(ctx context.Context, session string, hashes []string) error {
	kept, err := asJSON(append([]string{}, hashes...)) // never null, which is in no list
	if err == nil {
		err = s.write(ctx, "keep_blobs", nil, func(tx *writeTx) error { return keepBlobs(tx, session, kept) })
	}
	if err != nil {
		return fmt.Errorf("drop blobs of session %s: %w", session, err)
	}
	return nil
}

// keepBlobs drops what session refers to beside kept, a JSON array of hashes.
func keepBlobs(tx *writeTx, session, kept string) error {
	gone, err := collect(background, tx, scanOne[string],
		"SELECT hash FROM blob_ref WHERE session = ? AND hash NOT IN (SELECT value FROM json_each(?))", session, kept)
	if err != nil {
		return err
	}
	for _, hash := range gone {
		if _, err := tx.exec("DELETE FROM blob_ref WHERE session = ? AND hash = ?", session, hash); err != nil {
			return err
		}
		if _, err := tx.exec("DELETE FROM blob WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM blob_ref WHERE hash = ?)", hash, hash); err != nil {
			return err
		}
	}
	return nil
}
