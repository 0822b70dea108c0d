package finding

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"strata/history"
	"strata/historystore/body"
	"strata/historystore/fulltext"
)

// scanBytes is the number of bytes of messages after which a page ends: a page takes a fraction of a second.
const scanBytes = 32 << 20

// Place is a block of a message, or a part of a tool's result, that contains a phrase.
type Place struct {
	Message string
	Seq     int64
	Role    history.Role
	Type    history.BlockType
	Block   int // index into the message's blocks
	Part    int // index into the content of a tool's result, otherwise 0
	Count   int // how often it contains the phrase, at least 1
}

// Text returns the places of a phrase in the messages of a session whose sequence numbers are above after, oldest first. It
// stops after a message with which the places are at least limit, or after 32 MiB of messages. next is the sequence number
// of the last message that was looked at, 0 if there are no more. Damaged messages are skipped. The error is
// history.ErrNotFound for a session that does not exist or is deleted or hidden.
func Text(ctx context.Context, q Querier, session string, phrase fulltext.Phrase, after int64, limit int) (places []Place, next int64, err error) {
	if err := exists(ctx, q, session); err != nil || phrase.Empty() {
		return nil, 0, err
	}
	var decoder body.Decoder
	var seq int64
	scanned := 0
	err = each(ctx, q, func(rows *sql.Rows) (bool, error) {
		if scanned >= scanBytes || len(places) >= limit {
			next = seq
			return false, nil
		}
		var id, text string
		var sum int64
		if err := rows.Scan(&id, &seq, &sum, &text); err != nil {
			return false, err
		}
		scanned += len(text)
		if m, err := decoder.Decode(text, sum, id, seq); err == nil {
			places = appendPlaces(places, &m, phrase)
		}
		return true, nil
	}, "SELECT id, seq, checksum, CAST(body AS TEXT) FROM message WHERE session = ? AND seq > ? ORDER BY seq", session, after)
	return places, next, err
}

func exists(ctx context.Context, q Querier, session string) error {
	err := history.ErrNotFound
	if failed := each(ctx, q, func(*sql.Rows) (bool, error) { err = nil; return false, nil },
		"SELECT 1 FROM session WHERE id = ? AND deleted_at IS NULL AND hidden = 0", session); failed != nil {
		return failed
	}
	return err
}

func appendPlaces(places []Place, m *history.Message, phrase fulltext.Phrase) []Place {
	for i := range m.Blocks {
		b := &m.Blocks[i]
		add := func(part, count int) {
			if count > 0 {
				places = append(places, Place{m.ID, m.Seq, m.Role, b.Type, i, part, count})
			}
		}
		switch b.Type {
		case history.BlockText:
			add(0, phrase.CountMarkdown(b.Text))
		case history.BlockThinking, history.BlockResource:
			add(0, phrase.Count(b.Text))
		case history.BlockLink:
			add(0, phrase.Count(b.Name))
		case history.BlockToolCall:
			add(0, countInCall(phrase, b))
		case history.BlockToolResult:
			for part := range b.Content {
				add(part, phrase.Count(b.Content[part].Text))
			}
		}
	}
	return places
}

// countInCall counts in the name of a tool and in the texts of its arguments, without the escapes of JSON.
func countInCall(phrase fulltext.Phrase, b *history.Block) int {
	count := phrase.Count(b.Name)
	if !json.Valid([]byte(b.Args)) {
		return count + phrase.Count(b.Args)
	}
	decoder := json.NewDecoder(strings.NewReader(b.Args))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return count
		}
		switch token := token.(type) {
		case string:
			count += phrase.Count(token)
		case json.Number:
			count += phrase.Count(token.String())
		}
	}
}
