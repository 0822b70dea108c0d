// Package heads packs the heads of messages in blocks, so that a long session is loaded in few rows. The rows of messages
// remain the truth.
//
// It must never return a head that differs from its row: a block has a checksum, which also covers its session, and the
// heads of a session are counted. Instead of a wrong block, the rows are read, and the block is replaced.
package heads

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"time"

	"strata/history"
)

const (
	// blockHeads and blockBytes bound a block: it ends at the first of them. A head without its texts is not counted.
	blockHeads = 256
	blockBytes = 64 << 10

	// format is the first byte of a block. A block of another format is read from the rows.
	format = 1
)

// The values of enumerations that are stored as their index, from 1. Others are stored as texts after a 0.
var (
	roles    = []history.Role{history.RoleUser, history.RoleAssistant, history.RoleTool}
	statuses = []history.MessageStatus{
		history.StatusComplete, history.StatusCancelled, history.StatusInterrupted, history.StatusFailed, history.StatusDamaged, "",
	}
)

// sum returns the checksum of the block of a session.
func sum(session string, block []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // made once, when it is first needed
	return crc32.Update(crc32.Checksum([]byte(session), table), table, block)
}

// encode returns the block with the given heads: the format, their number, their fields as differences to the head before,
// and the checksum.
func encode(session string, heads []history.Head) []byte {
	b := binary.AppendUvarint([]byte{format}, uint64(len(heads)))
	var last history.Head
	for i := range heads {
		h := &heads[i]
		b = binary.AppendVarint(b, h.Seq-last.Seq)
		b = appendText(b, last.ID, h.ID)
		b = appendText(b, last.Turn, h.Turn)
		b = appendValue(b, roles, h.Role)
		b = appendValue(b, statuses, h.Status)
		b = binary.AppendVarint(b, int64(h.Tokens))
		b = binary.AppendVarint(b, int64(h.Bytes))
		b = binary.AppendVarint(b, int64(h.Blocks))
		b = append(b, 0)
		if h.HasCalls {
			b[len(b)-1] = 1
		}
		b = binary.AppendVarint(b, h.At.UnixMicro()-micros(&last))
		last = *h
	}
	return binary.BigEndian.AppendUint32(b, sum(session, b))
}

// micros returns the time of a head in microseconds since 1970, 0 for the head before the first.
func micros(h *history.Head) int64 {
	if h.Seq == 0 {
		return 0
	}
	return h.At.UnixMicro()
}

// appendText appends a text as the length of what it shares with the last one, and the rest.
func appendText(b []byte, last, text string) []byte {
	n := 0
	for n < min(len(last), len(text)) && last[n] == text[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	b = binary.AppendUvarint(b, uint64(len(text)-n))
	return append(b, text[n:]...)
}

func appendValue[T ~string](b []byte, values []T, value T) []byte {
	i := slices.Index(values, value) + 1
	b = append(b, byte(i))
	if i > 0 {
		return b
	}
	return appendText(b, "", string(value))
}

var (
	errChecksum = errors.New("checksum differs")
	errFormat   = errors.New("unknown format")
	errContent  = errors.New("invalid content")
	errOrder    = errors.New("wrong sequence numbers")
)

// decode appends the heads of a block of session with the given first and last sequence numbers to heads. After an error
// it returns heads as they were.
func decode(heads []history.Head, session string, first, last int64, block []byte) ([]history.Head, error) {
	n := len(block) - crc32.Size
	if n < 1 || binary.BigEndian.Uint32(block[n:]) != sum(session, block[:n]) {
		return heads, errChecksum
	}
	if block[0] != format {
		return heads, errFormat
	}
	r := reader{rest: block[1:n]}
	count := r.unsigned(blockHeads)
	all := slices.Grow(heads, count)
	var before history.Head
	for range count {
		h := r.head(&before)
		if r.bad {
			return heads, errContent
		}
		if h.Seq <= before.Seq {
			return heads, errOrder
		}
		all, before = append(all, h), h
	}
	switch {
	case r.bad || len(r.rest) > 0 || count == 0:
		return heads, errContent
	case all[len(heads)].Seq != first || before.Seq != last:
		return heads, errOrder
	}
	return all, nil
}

// reader reads the fields of heads. After an error, bad is set and all results are zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) head(last *history.Head) (h history.Head) {
	h.Seq = last.Seq + r.signed()
	h.ID = r.text(last.ID)
	h.Turn = r.text(last.Turn)
	h.Role = value(r, roles)
	h.Status = value(r, statuses)
	h.Tokens = int(r.signed())
	h.Bytes = int(r.signed())
	h.Blocks = int(r.signed())
	h.HasCalls = r.unsigned(1) == 1
	h.At = time.UnixMicro(micros(last) + r.signed()).UTC()
	return h
}

// unsigned reads a number of at most limit.
func (r *reader) unsigned(limit int) int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(limit) {
		return int(r.fail())
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) signed() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		return r.fail()
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) fail() int64 {
	r.rest, r.bad = nil, true
	return 0
}

// text reads a text of which a part is shared with the last one. Equal texts share their memory.
func (r *reader) text(last string) string {
	shared := r.unsigned(len(last))
	n := r.unsigned(len(r.rest))
	if n > len(r.rest) {
		r.fail()
	}
	if r.bad {
		return ""
	}
	own := r.rest[:n]
	r.rest = r.rest[n:]
	if n == 0 {
		return last[:shared]
	}
	return last[:shared] + string(own)
}

func value[T ~string](r *reader, values []T) T {
	i := r.unsigned(len(values))
	if i > 0 {
		return values[i-1]
	}
	return T(r.text(""))
}
