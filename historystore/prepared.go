package historystore

import (
	"strata/history"
	"strata/historystore/requests"
)

// prepared is an encoded change, ready for the writer.
type prepared struct {
	*history.Change
	messages  []messageRow
	edits     []string // bodies of Edits
	documents []string // bodies of PutDocuments
	requests  []requests.Row
	gone      []string // hashes of the blobs that apply deleted
	images    int64    // maximum size of the session's images, in bytes
}

// messageRow is a row of the table message.
type messageRow struct {
	history.Head
	body     []byte
	checksum int64
	text     string
}
