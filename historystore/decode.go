package historystore

import (
	"encoding/json"
	"errors"
)

// decode decodes a JSON column. If it is damaged, decode logs the error and leaves into unchanged, so that the rest of
// the record can be used.
func (s *Store) decode(kind, id, text string, into any) {
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		s.opt.Log.Error("damaged record", "kind", kind, "id", id, "err", err)
	}
}

// decodeWhole decodes a record that is stored as JSON. If it is damaged or does not match its columns, decodeWhole logs
// the error and returns columns.
func decodeWhole[T any](s *Store, kind, id, body string, columns T, same func(T) bool) T {
	var whole T
	err := json.Unmarshal([]byte(body), &whole)
	if err == nil && !same(whole) {
		err = errors.New("content belongs to another record")
	}
	if err != nil {
		s.opt.Log.Error("damaged record", "kind", kind, "id", id, "err", err)
		return columns
	}
	return whole
}
