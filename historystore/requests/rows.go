package requests

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"strata/history"
)

// Querier reads from a database.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tx is a transaction that writes. Exec returns the number of changed rows.
type Tx struct {
	Querier
	Exec func(query string, args ...any) (int64, error)
}

// background is the context of statements that write: a caller that gives up must not interrupt a transaction.
var background = context.Background()

// Row is a request that is to be stored.
type Row struct {
	Encoded
	of  *history.Request
	row int64 // once it is stored
}

// Rows encodes requests of a session. It omits those that are too large.
func (b *Bases) Rows(session string, all []history.Request) (rows []Row) {
	for i := range all {
		if e, ok := b.Encode(session, &all[i]); ok {
			rows = append(rows, Row{Encoded: e, of: &all[i]})
		}
	}
	return rows
}

// Insert inserts requests of a session. A difference whose whole request has been purged is stored whole.
func Insert(tx Tx, session string, rows []Row) error {
	for i := range rows {
		r := &rows[i]
		if r.Base != 0 {
			found, err := numbers(background, tx, "SELECT 1 FROM request WHERE rowid = ? AND session = ? AND call = ? AND base = 0", r.Base, session, r.Of)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				r.Encoded = Encoded{Body: Encode(r.of, nil)}
			}
		}
		if _, err := tx.Exec("INSERT INTO request (session, call, message, at, base, bytes, checksum, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			session, r.of.Call, r.of.Message, r.of.At.UnixMicro(), r.Base, len(r.Body), sum(r.of.Call, r.Base, r.Body), r.Body); err != nil {
			return err
		}
		id, err := numbers(background, tx, "SELECT last_insert_rowid()")
		if err != nil {
			return err
		}
		r.row = id[0]
	}
	return nil
}

// Keep makes stored requests of a session the bases of later ones.
func (b *Bases) Keep(session string, rows []Row) {
	for i := range rows {
		b.Stored(session, rows[i].of, &rows[i].Encoded, rows[i].row)
	}
}

// Read returns the request of a call, nil if it is not kept. The error is ErrBody if it is damaged.
func Read(ctx context.Context, q Querier, session, call string) (*history.Request, error) {
	return read(ctx, q, "session = ? AND call = ?", session, call)
}

func read(ctx context.Context, q Querier, where string, args ...any) (*history.Request, error) {
	rows, err := q.QueryContext(ctx, "SELECT call, message, at, base, checksum, body FROM request WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	var r history.Request
	var at, base, checksum int64
	var body []byte
	found := rows.Next()
	if found {
		err = rows.Scan(&r.Call, &r.Message, &at, &base, &checksum, &body)
	}
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil || !found {
		return nil, err
	}
	if checksum != sum(r.Call, base, body) {
		return nil, fmt.Errorf("%w: checksum differs", ErrBody)
	}
	var whole *history.Request
	if IsDifference(body) {
		if whole, err = read(ctx, q, "rowid = ? AND base = 0", base); err != nil {
			return nil, err
		}
	}
	decoded, err := Decode(body, whole)
	if err != nil {
		return nil, err
	}
	decoded.Call, decoded.Message, decoded.At = r.Call, r.Message, history.StoredTime(at)
	return &decoded, nil
}

// sum returns the checksum of a request, a CRC-32C. With the base in it, a difference is never applied to another request.
func sum(call string, base int64, body []byte) int64 {
	table := crc32.MakeTable(crc32.Castagnoli)
	head := binary.BigEndian.AppendUint64([]byte(call), uint64(base))
	return int64(crc32.Update(crc32.Checksum(head, table), table, body))
}

// Due returns the time, in microseconds, before which requests are to be purged: at least before, and so that the later ones have
// at most maxBytes.
func Due(ctx context.Context, q Querier, before, maxBytes int64) (int64, error) {
	size, err := numbers(ctx, q, "SELECT coalesce(sum(bytes), 0) FROM request WHERE at >= ?", before)
	if err != nil || size[0] <= maxBytes {
		return before, err
	}
	excess, err := numbers(ctx, q, `SELECT max(at) + 1 FROM (SELECT at, sum(bytes) OVER (ORDER BY at DESC, rowid DESC) AS total FROM request)
		WHERE total > ?`, maxBytes)
	if err != nil {
		return before, err
	}
	return max(before, excess[0]), nil
}

// Purge deletes up to limit requests before a time, in microseconds, and returns their number: first differences, then the whole
// ones to which no difference is left.
func Purge(tx Tx, before int64, limit int) (int, error) {
	purged := 0
	for _, some := range []string{"base <> 0", "base = 0 AND NOT EXISTS (SELECT 1 FROM request AS other WHERE other.base <> 0 AND other.base = request.rowid)"} {
		n, err := tx.Exec("DELETE FROM request WHERE rowid IN (SELECT rowid FROM request WHERE at < ? AND "+some+" LIMIT ?)", before, limit-purged)
		if err != nil {
			return purged, err
		}
		purged += int(n)
	}
	return purged, nil
}

// numbers returns the numbers that a query finds.
func numbers(ctx context.Context, q Querier, query string, args ...any) (all []int64, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}
