// Package historystore stores sessions in one SQLite file: transcripts, edits, turns, usage, files, documents and
// layouts, with full-text search in the transcripts. A change reported as stored by Commit survives a crash of the
// process or the machine.
//
// It must never delete data that the user did not delete, replace a damaged database by a new one, interpret the bytes
// of a layout or a file's state, or expose types, errors or row ids of SQLite.
package historystore
