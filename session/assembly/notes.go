package assembly

import (
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/session/fit"
	"strata/session/reads"
	"strata/stability"
	"strata/tokens"
)

// notes returns the notes on files, and on documents that left the request: those that were sent with a message of the
// conversation, and one with the changes since the last request. If one of them left with its message the rest are
// incomplete, and one note tells everything again. read are the files that tools read; untold are the keys of notes that do
// not fit. now is the availability of files as the model knows it by the notes.
func (s *State) notes(others, talk []fit.Item, files []filecontext.Entry, read *reads.Look, untold []string) (items []fit.Item, now map[string]string) {
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
	note := changesTold(s.Counter, now, told, talk, read)
	if note != "" && slices.ContainsFunc(items, func(it fit.Item) bool { return it.Key == newest }) {
		whole, note = false, changesTold(s.Counter, now, nil, talk, read) // one message has one note
	}
	if note == "" && !whole && !toldReadsOnly(s.Layout.lastTold()) {
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

// changesTold adds to now the files that have changed since tools read them, and returns a note with what is not told.
func changesTold(counter *tokens.Counter, now, told map[string]string, talk []fit.Item, read *reads.Look) string {
	texts := []string{availabilityNote(told, now), noteReads(counter, now, told, talk, read)}
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n")
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
		if told[path] != state && !isRead(path) {
			lines = append(lines, state+": "+path)
		}
	}
	for path, state := range told {
		if _, still := now[path]; !still && state != removedFile && !isRead(path) {
			lines = append(lines, removedFile+": "+path)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(pathOf(a), pathOf(b)) })
	heading := "Changes to the files available for this step:\n"
	if len(told) == 0 || toldReadsOnly(told) {
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

// readPrefix leads the names that notes have for files that tools read.
const readPrefix = "read "

// diffsTold is the maximum size of the diffs that one note has of files that tools read, in tokens.
const diffsTold = 4000

// noteReads adds to now the files that have changed since tools read them, and returns what the next note tells of them. told
// is what earlier notes have told.
func noteReads(counter *tokens.Counter, now, told map[string]string, talk []fit.Item, l *reads.Look) string {
	var shown []history.Viewed
	for i := range talk {
		shown = append(shown, talk[i].Messages...)
	}
	stale := l.Stale(shown)
	var lines, diffs strings.Builder
	room := diffsTold
	for _, path := range slices.Sorted(l.Paths()) {
		name := readPrefix + filecontext.Printable(path)
		n, changed := stale[path]
		if !changed {
			if before, was := told[name]; was && !strings.HasPrefix(before, l.Present(path).Version+" ") {
				lines.WriteString("The newest lines of " + filecontext.Printable(path) + " in this conversation are its present text again.\n")
			}
			continue
		}
		now[name] = n.Version + " " + fit.Hash(strings.Join(n.Lines, ""))[:16]
		if told[name] == now[name] {
			continue
		}
		for _, line := range n.Lines {
			lines.WriteString(line)
		}
		if size := counter.Count(n.Diff); size <= room {
			room -= size
			diffs.WriteString(n.Diff)
		}
	}
	if lines.Len() == 0 {
		return ""
	}
	return "Changes to files that were read:\n" + lines.String() + diffs.String()
}

func isRead(name string) bool { return strings.HasPrefix(name, readPrefix) }

// toldReadsOnly reports whether notes have told only of files that tools read.
func toldReadsOnly(told map[string]string) bool {
	for name := range told {
		if !isRead(name) {
			return false
		}
	}
	return len(told) > 0
}
