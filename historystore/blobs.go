package historystore

import (
	"context"
	"database/sql"
	"fmt"

	"strata/history"
	"strata/historystore/blobs"
)

// Blobs returns the stored bytes for the given hashes. Missing blobs, and blobs whose bytes do not match the hash, are
// omitted. Callers share the bytes and must not modify them.
func (s *Store) Blobs(ctx context.Context, hashes []string) (map[string][]byte, error) {
	values := make([][]byte, len(hashes))
	_, since := s.blobs.Lookup(hashes, values)
	found := make(map[string][]byte, len(hashes))
	var missing []string
	for i, hash := range hashes {
		if values[i] == nil { // cached bytes are not nil, see blobs.Read
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
	var sound []history.Blob
	err := s.view(ctx, "blobs", func(tx *sql.Tx) (err error) {
		sound, err = blobs.Read(ctx, tx, hashes, s.opt.Log)
		return err
	})
	for _, b := range sound {
		found[b.Hash] = b.Bytes
		s.blobs.Put(b.Hash, b.Bytes, len(b.Bytes), since)
	}
	return err
}

// blobs returns tx for the blobs.
func (tx *writeTx) blobs() blobs.Tx { return blobs.Tx{Querier: tx, Exec: tx.exec} }

// putBlobs deletes blobs first, so that a blob in Blobs is stored even if KeepBlobs does not name it.
func (p *prepared) putBlobs(tx *writeTx) (err error) {
	if p.Layout != nil && p.KeepBlobs != nil {
		if p.gone, err = blobs.Keep(tx.blobs(), p.Session, p.KeepBlobs); err != nil {
			return err
		}
	}
	for i := range p.Blobs {
		if err := blobs.Put(tx.blobs(), p.Session, &p.Blobs[i]); err != nil {
			return err
		}
	}
	return nil
}
