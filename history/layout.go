package history

import "encoding/json"

// Layout is the stored form of the layout of a session's requests. Its bytes are opaque to the store.
type Layout struct {
	Head []byte // nil if there is no layout
	Rows [][]byte
}

// LayoutChange replaces the head of a stored layout, and those of its rows that have changed.
type LayoutChange struct {
	Head []byte
	Len  int // number of all rows; the store deletes later ones
	Rows []LayoutRow
}

// LayoutRow is a row of a layout.
type LayoutRow struct {
	N     int // from 0
	Bytes []byte
}

// UnmarshalJSON also reads the form of earlier versions, in which the head was all of a layout.
func (c *LayoutChange) UnmarshalJSON(data []byte) error {
	*c = LayoutChange{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &c.Head)
	}
	type plain LayoutChange
	return json.Unmarshal(data, (*plain)(c))
}
