// Package transfer copies sessions: it exports one as pages of lines, and makes a new one of such lines (import) or of a
// state of another session (fork).
//
// A session under construction is hidden until it is complete; the next start of the server drops the rest. The package
// must never hold a long transaction, and never change the session that it copies.
package transfer

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strings"

	"strata/history"
)

// Format and Version identify the format of an export. The version rises when an older reader would lose data.
const (
	Format  = "strata-session"
	Version = 1
)

// Bounds of pages and transactions.
const (
	pageBytes      = 256 << 10 // a page of an export ends after the line that reaches this size
	pageLines      = 500       // messages in a page of an export, and changes in one transaction
	maxImportLines = 20_000    // in a page of an import: the first page of an export holds all edits and files
)

// Line is one line of an export. Exactly the field that Type names is set.
type Line struct {
	Type    string           `json:"type"` // header, edit, file, message, call
	Header  *Header          `json:"header,omitempty"`
	Edit    *history.Edit    `json:"edit,omitempty"`
	File    *File            `json:"file,omitempty"`
	Message *history.Message `json:"message,omitempty"`
	Call    *history.Call    `json:"call,omitempty"`
}

// Header is the first line of an export.
type Header struct {
	Format  string          `json:"format"` // Format
	Version int             `json:"version"`
	Session history.Session `json:"session"`
}

// File is a file of the session's context. State is opaque.
type File struct {
	Path   string          `json:"path"`
	State  json.RawMessage `json:"state"`
	Buffer []byte          `json:"buffer,omitempty"` // unsaved text
}

// page returns the sequence numbers of as many messages as a page holds, at least one, and the remaining messages.
func page(heads []history.Head) (seqs []int64, rest []history.Head) {
	for size := 0; len(heads) > 0 && len(seqs) < pageLines && size < pageBytes; heads = heads[1:] {
		seqs = append(seqs, heads[0].Seq)
		size += heads[0].Bytes
	}
	return seqs, heads
}

// crockford is the alphabet of ULIDs.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// ownID maps an id of the copied session to an id of the new session. Equal ids map to equal ids, so that references
// between pages hold without a table. Of the first 128 bits of a hash 125 fit the form of a ULID.
func ownID(session, id string) string {
	if id == "" {
		return ""
	}
	prefix, _, found := strings.Cut(id, "_")
	if !found || len(prefix) > 8 {
		prefix = "id"
	}
	sum := sha256.Sum256([]byte(session + "\x00" + id))
	return prefix + "_" + "0" + crockford.EncodeToString(sum[:16])[:25]
}
