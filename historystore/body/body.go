// Package body is the stored form of messages: JSON with a checksum. Most messages consist of text and calls of tools; a
// Decoder reads those without encoding/json, and all others with it. Tests compare both on the same bytes.
//
// It must never return a message whose bytes are not those that were stored.
package body

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"strata/history"
	"strata/internal/plainjson"
)

// Encode returns the stored form of a message and its checksum, a CRC-32C.
func Encode(m *history.Message) (body []byte, checksum int64, err error) {
	body, err = json.Marshal(m)
	return body, sum(body), err
}

func sum(body []byte) int64 { return int64(crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))) }

var errChecksum = errors.New("checksum differs")

// Decoder decodes messages one after the other. The zero value is ready for use, by one goroutine.
type Decoder struct {
	reader plainjson.Reader[string]
	bytes  []byte          // of the last body
	blocks []history.Block // of the last message
	turn   string          // of the last message
	model  string          // of the last message
}

// Decode returns the message in the row with the given columns. The message may share the memory of body. The error says
// why the body is damaged.
func (d *Decoder) Decode(body string, checksum int64, id string, seq int64) (history.Message, error) {
	d.bytes = append(d.bytes[:0], body...)
	if sum(d.bytes) != checksum {
		return history.Message{}, errChecksum
	}
	m, ok := d.plain(body)
	if !ok {
		m = history.Message{}
		if err := json.Unmarshal(d.bytes, &m); err != nil {
			return history.Message{}, err
		}
	}
	if m.ID != id || m.Seq != seq {
		return history.Message{}, fmt.Errorf("content belongs to message %s", m.ID)
	}
	return m, nil
}
