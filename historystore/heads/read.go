package heads

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"strata/history"
)

// Columns are the columns of message that a function of Scanner scans.
const Columns = "id, seq, turn, role, status, tokens, bytes, blocks, has_calls, at"

// Scanner returns a function that scans rows of Columns, with types that database/sql assigns without conversion.
func Scanner() func(row interface{ Scan(to ...any) error }) (history.Head, error) {
	var h history.Head
	var tokens, bytes, blocks, at int64
	to := []any{&h.ID, &h.Seq, &h.Turn, (*string)(&h.Role), (*string)(&h.Status), &tokens, &bytes, &blocks, &h.HasCalls, &at}
	return func(row interface{ Scan(to ...any) error }) (history.Head, error) {
		err := row.Scan(to...)
		h.Tokens, h.Bytes, h.Blocks, h.At = int(tokens), int(bytes), int(blocks), time.UnixMicro(at).UTC()
		return h, err
	}
}

// Querier is a transaction that can read.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Found are the heads of a session, and how they are stored.
type Found struct {
	Heads    []history.Head // by Seq
	Packed   int64          // sequence number of the last one from a valid block; 0 if there is none
	Unpacked int            // how many are after it
	Fault    error          // why the blocks after valid cannot be used; nil if there is nothing wrong

	valid int64 // key of the last valid block: the sequence number of its first head; 0 if there is none
}

// maxExpected limits the number of heads for which memory is allocated before they are read.
const maxExpected = 1 << 16

// Read returns the heads of a session with the given number of messages. The error is the database's.
func Read(ctx context.Context, q Querier, session string, messages int) (found Found, err error) {
	if messages >= packFrom { // others have no blocks
		if err := found.readBlocks(ctx, q, session, min(messages, maxExpected)); err != nil {
			return found, err
		}
	}
	if err := found.readRows(ctx, q, session, messages); err != nil {
		return found, err
	}
	if found.Packed == 0 || len(found.Heads) == messages {
		return found, nil
	}
	packed := len(found.Heads)
	found = Found{}
	err = found.readRows(ctx, q, session, messages)
	if len(found.Heads) == messages { // else the number is wrong, and blocks are not to blame
		found.Fault = fmt.Errorf("%d heads of %d messages", packed, messages)
	}
	return found, err
}

// readBlocks reads the heads of all blocks before the first that cannot be used.
func (f *Found) readBlocks(ctx context.Context, q Querier, session string, expected int) error {
	rows, err := q.QueryContext(ctx, "SELECT first_seq, last_seq, heads FROM head_block WHERE session = ? ORDER BY first_seq", session)
	if err != nil {
		return err
	}
	defer rows.Close()
	f.Heads = slices.Grow(f.Heads, expected)
	var first, last int64
	var block sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&first, &last, &block); err != nil {
			return err
		}
		if first <= f.Packed {
			f.Fault = errOrder
			return nil
		}
		if f.Heads, f.Fault = decode(f.Heads, session, first, last, block); f.Fault != nil {
			f.Fault = fmt.Errorf("block from %d to %d: %w", first, last, f.Fault)
			return nil
		}
		f.Packed, f.valid = last, first
	}
	return rows.Err()
}

// readRows reads the heads after those of blocks.
func (f *Found) readRows(ctx context.Context, q Querier, session string, expected int) error {
	rows, err := q.QueryContext(ctx, "SELECT "+Columns+" FROM message WHERE session = ? AND seq > ? ORDER BY seq", session, f.Packed)
	if err != nil {
		return err
	}
	defer rows.Close()
	packed, scan := len(f.Heads), Scanner()
	f.Heads = slices.Grow(f.Heads, max(0, min(expected, maxExpected)-packed))
	for rows.Next() {
		h, err := scan(rows)
		if err != nil {
			return err
		}
		f.Heads = append(f.Heads, h)
	}
	f.Unpacked = len(f.Heads) - packed
	return rows.Err()
}
