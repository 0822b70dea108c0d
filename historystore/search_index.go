package historystore

import (
	"context"
	"database/sql"
	"time"
)

const (
	// indexDelay is the time from a change to the indexing of its messages, unless a search comes first.
	indexDelay = time.Second

	// indexWait is the maximum time for which a search waits for the index.
	indexWait = 200 * time.Millisecond

	// indexMessages and indexBytes bound a step, because changes wait for its end. A step indexes at least one message.
	indexMessages = 64
	indexBytes    = 64 << 10
)

// watermark is the row id up to which messages are in the index: that of the last row for which the index has a size.
// Messages are indexed in the order of their row ids, and a new message gets a higher row id than all that exist. So the
// messages after the watermark are those that are missing, also after a purge has made row ids free.
const watermark = "coalesce((SELECT max(id) FROM message_fts_docsize), 0)"

// behind returns about how many messages are not indexed yet, never too few.
func behind(ctx context.Context, q querier) (int, error) {
	return first(ctx, q, scanOne[int], "SELECT coalesce((SELECT max(rowid) FROM message), 0) - "+watermark)
}

// completeIndex waits until all messages are indexed, at most for the given time.
func (s *Store) completeIndex(ctx context.Context, wait time.Duration) error {
	var missing int
	err := s.view(ctx, "index", func(tx *sql.Tx) (err error) {
		missing, err = behind(ctx, tx)
		return err
	})
	if err != nil || missing == 0 {
		return err
	}
	leave, err := s.enter("index")
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	s.writer.index.CatchUp(ctx)
	return nil
}

// indexStep indexes some messages.
func (w *writer) indexStep() (more bool, err error) {
	err = w.inBackground("index", func(tx *writeTx) (err error) {
		more, err = indexSome(tx)
		return err
	})
	return more && err == nil, err
}

// indexSome indexes the messages after the watermark, within the bounds of a step.
func indexSome(tx *writeTx) (more bool, err error) {
	type size struct{ rowid, bytes int64 }
	next, err := collect(background, tx, func(row scanner) (s size, err error) {
		return s, row.Scan(&s.rowid, &s.bytes)
	}, "SELECT rowid, bytes FROM message WHERE rowid > "+watermark+" ORDER BY rowid LIMIT ?", indexMessages+1)
	if err != nil || len(next) == 0 {
		return false, err
	}
	n, bytes := 1, next[0].bytes
	for n < min(len(next), indexMessages) && bytes+next[n].bytes <= indexBytes {
		bytes += next[n].bytes
		n++
	}
	_, err = tx.exec("INSERT INTO message_fts (rowid, text) SELECT rowid, text FROM message WHERE rowid BETWEEN ? AND ? ORDER BY rowid",
		next[0].rowid, next[n-1].rowid)
	return n < len(next), err
}
