package assembly

import (
	"slices"
	"strings"

	"strata/filecontext"
	"strata/session/fit"
	"strata/stability"
)

// notes returns the notes on files, and on documents that left the request: those that were sent with a message of the
// conversation, and one with the changes since the last request. If one of them left with its message the rest are
// incomplete, and one note tells everything again. untold are the keys of notes that do not fit. now is the availability of
// files as the model knows it by the notes.
func (s *State) notes(others, talk []fit.Item, files []filecontext.Entry, untold []string) (items []fit.Item, now map[string]string) {
	newest := fit.NotePrefix // of a request without a message
	for i := len(talk) - 1; i >= 0 && newest == fit.NotePrefix; i-- {
		if n := len(talk[i].Messages); n > 0 {
			newest += talk[i].Messages[n-1].ID
		}
	}
	told := s.Layout.lastTold()
	items, whole := s.sentNotes(talk, untold)
	if !whole {
		told = nil
	}
	now = availability(files)
	s.noteDocuments(now, told, others)
	note := availabilityNote(told, now)
	if note != "" && slices.ContainsFunc(items, func(it fit.Item) bool { return it.Key == newest }) {
		whole, note = false, availabilityNote(nil, now) // one message has one note
	}
	if note == "" && !whole {
		note = noFiles
	}
	if slices.Contains(untold, newest) {
		note, now = "", told
	}
	if !whole {
		items = nil
	}
	if note == "" {
		return items, now
	}
	it := fit.TextItem(newest, stability.Note, note, s.Counter)
	it.Pinned = true
	return append(items, it), now
}

// sentNotes returns the notes of the last request whose messages are in talk, and whether these are all of them.
func (s *State) sentNotes(talk []fit.Item, untold []string) (items []fit.Item, whole bool) {
	whole = true
	entries := s.Layout.entries()
	var said map[string]bool // ids of messages; made when the first note is found
	for i := range entries {
		e := &entries[i]
		if e.Kind != stability.Note || e.Dead {
			continue
		}
		if said == nil {
			said = messagesIn(talk)
		}
		if !said[strings.TrimPrefix(e.Key, fit.NotePrefix)] || slices.Contains(untold, e.Key) {
			whole = false
			continue
		}
		items = append(items, fit.Item{
			Item:   stability.Item{Key: e.Key, Kind: stability.Note, Hash: e.Blob, Tokens: e.Tokens},
			Pinned: true,
		})
	}
	return items, whole
}

// messagesIn returns the ids of the messages in talk.
func messagesIn(talk []fit.Item) map[string]bool {
	ids := make(map[string]bool, len(talk))
	for i := range talk {
		for j := range talk[i].Messages {
			ids[talk[i].Messages[j].ID] = true
		}
	}
	return ids
}

// noteDocuments adds to now the documents that were sent and are removed, since their text may be sent until the next
// rebuild, and the removed documents that are back. told is what the remaining notes have told.
func (s *State) noteDocuments(now, told map[string]string, items []fit.Item) {
	held := make(map[string]bool)
	for i := range items {
		if items[i].Kind == stability.Document {
			held[documentInNotes(items[i].Key)] = true
		}
	}
	for name := range s.Layout.lastTold() {
		if held[name] {
			now[name] = fullFile
		}
	}
	for name, state := range told {
		if state == removedFile && !held[name] && now[name] == "" {
			now[name] = removedFile
		}
	}
	entries := s.Layout.entries()
	for i := range entries {
		if e := &entries[i]; fit.IsDocument(e.Kind, e.Key) && !held[documentInNotes(e.Key)] {
			now[documentInNotes(e.Key)] = removedFile
		}
	}
}

// documentInNotes returns the name that notes have for the document with a key.
func documentInNotes(key string) string {
	return "document " + filecontext.Printable(strings.TrimPrefix(key, fit.DocumentPrefix))
}

const (
	filesHeading = "Files available for this step:\n"
	noFiles      = filesHeading + "none\n" // revokes older notes, which may still be sent
)

// availabilityNote returns a note with the files whose availability changed since the last note, with all files if there
// was none. It is empty if nothing changed.
func availabilityNote(told, now map[string]string) string {
	var lines []string
	for path, state := range now {
		if told[path] != state {
			lines = append(lines, state+": "+path)
		}
	}
	for path, state := range told {
		if _, still := now[path]; !still && state != removedFile {
			lines = append(lines, removedFile+": "+path)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(pathOf(a), pathOf(b)) })
	heading := "Changes to the files available for this step:\n"
	if len(told) == 0 {
		heading = filesHeading
	}
	return heading + strings.Join(lines, "\n") + "\n"
}

func pathOf(line string) string {
	_, path, _ := strings.Cut(line, ": ")
	return path
}

// The availabilities as notes tell them. A file of which only a part is shown counts as a summary, since neither may be
// patched.
const (
	fullFile    = "FULL"
	summaryFile = "SUMMARY"
	removedFile = "REMOVED"
)

// availability returns the availability of each file as notes tell it, by the path as it is printed.
func availability(entries []filecontext.Entry) map[string]string {
	now := make(map[string]string, len(entries))
	for _, e := range entries {
		switch state, _ := e.Availability(); state {
		case filecontext.Full:
			now[filecontext.Printable(e.Path)] = fullFile
		case filecontext.Partial, filecontext.SummaryOnly:
			now[filecontext.Printable(e.Path)] = summaryFile
		}
	}
	return now
}
