package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"

	"strata/history"
)

// References is a table with references to blobs.
type References string

// The tables with references.
const (
	OfLayouts References = "blob_ref"
	OfFiles   References = "file_image"
)

// Hash returns the hash by which bytes are stored: their SHA-256 in hex.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Check verifies the hashes of blobs, because all sessions share them.
func Check(blobs []history.Blob) error {
	for i := range blobs {
		if b := &blobs[i]; b.Hash != Hash(b.Bytes) {
			return fmt.Errorf("blob %s: content does not match the hash", b.Hash)
		}
	}
	return nil
}

// Read returns the blobs with the given hashes. Bytes are not nil. Missing ones are omitted, and so are those whose bytes do not match the
// hash, which are logged.
func Read(ctx context.Context, q Querier, hashes []string, log *slog.Logger) ([]history.Blob, error) {
	return read(ctx, q, log, "SELECT hash, bytes FROM blob WHERE hash IN (SELECT value FROM json_each(?))", list(hashes))
}

func read(ctx context.Context, q Querier, log *slog.Logger, query string, args ...any) (sound []history.Blob, err error) {
	all, err := collect(ctx, q, scanBlob, query, args...)
	for _, b := range all {
		if Hash(b.Bytes) != b.Hash {
			log.Error("damaged blob", "hash", b.Hash)
			continue
		}
		sound = append(sound, b)
	}
	return sound, err
}

func scanBlob(row scanner) (b history.Blob, err error) {
	if err = row.Scan(&b.Hash, &b.Bytes); b.Bytes == nil {
		b.Bytes = []byte{} // the driver returns nil for an empty blob
	}
	return b, err
}

// list returns hashes as a JSON array.
func list(hashes []string) string {
	text, _ := json.Marshal(hashes) // of strings never fails
	return string(text)
}

// put stores a blob. It rewrites a blob that is already stored only if that is damaged.
func put(tx Tx, b *history.Blob) error {
	data := b.Bytes
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	_, err := tx.Exec(`INSERT INTO blob (hash, bytes) VALUES (?, ?)
		ON CONFLICT (hash) DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes`, b.Hash, data)
	return err
}

// Put stores a blob, to which a layout of session refers.
func Put(tx Tx, session string, b *history.Blob) error {
	if err := put(tx, b); err != nil {
		return err
	}
	_, err := tx.Exec("INSERT OR IGNORE INTO blob_ref (session, hash) VALUES (?, ?)", session, b.Hash)
	return err
}

// Keep makes the layouts of session refer exactly to the stored blobs in kept.
// It returns the hashes of the blobs that it deleted.
func Keep(tx Tx, session string, kept []string) (gone []string, err error) {
	hashes := list(kept)
	others, err := collect(background, tx, scanOne[string],
		"SELECT hash FROM blob_ref WHERE session = ? AND hash NOT IN (SELECT value FROM json_each(?))", session, hashes)
	if err != nil {
		return nil, err
	}
	if gone, err = drop(tx, OfLayouts, session, others); err != nil {
		return nil, err
	}
	_, err = tx.Exec(`INSERT OR IGNORE INTO blob_ref (session, hash)
		SELECT ?, hash FROM blob WHERE hash IN (SELECT value FROM json_each(?))`, session, hashes)
	return gone, err
}

// drop removes session's references to hashes and deletes blobs without references.
// It returns the hashes of the deleted blobs.
func drop(tx Tx, refs References, session string, hashes []string) (gone []string, err error) {
	for _, hash := range hashes {
		if _, err := tx.Exec("DELETE FROM "+string(refs)+" WHERE session = ? AND hash = ?", session, hash); err != nil {
			return nil, err
		}
		deleted, err := tx.Exec(`DELETE FROM blob WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM blob_ref WHERE hash = ?1)
			AND NOT EXISTS (SELECT 1 FROM file_image WHERE hash = ?1)`, hash)
		if err != nil {
			return nil, err
		}
		if deleted > 0 {
			gone = append(gone, hash)
		}
	}
	return gone, nil
}

// some is the maximum number of references that are read at once, for deletion.
const some = 50

// Purge removes some of session's references to blobs, of up to limit bytes but at least one, and deletes blobs without
// references. It returns the hashes of the deleted blobs, and false if session had no reference left.
func Purge(tx Tx, refs References, session string, limit int64) (gone []string, more bool, err error) {
	found, err := collect(background, tx, scanSized,
		"SELECT hash, length(blob.bytes) FROM "+string(refs)+" JOIN blob USING (hash) WHERE session = ? LIMIT ?", session, some)
	if err != nil || len(found) == 0 {
		return nil, false, err
	}
	var hashes []string
	for _, b := range found {
		if limit -= b.bytes; limit < 0 && len(hashes) > 0 {
			break
		}
		hashes = append(hashes, b.hash)
	}
	gone, err = drop(tx, refs, session, hashes)
	return gone, true, err
}

// sized is a blob's hash and size.
type sized struct {
	hash  string
	bytes int64
}

func scanSized(row scanner) (v sized, err error) {
	err = row.Scan(&v.hash, &v.bytes)
	return v, err
}
