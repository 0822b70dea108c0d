// Package historystore keeps sessions in one SQLite file: transcripts, edits, turns, usage, files, documents and
// layouts, with full-text search over the transcripts. A change that Commit reported as stored survives the death of the
// process and of the machine.
//
// It must never delete what the user did not delete, create a database over a damaged one, read meaning into the
// bytes of a layout or of a file's state, or let a type, an error or a row id of SQLite out.
package historystore
