package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/stability"
	"strata/tokens"
)

// The categories of a request's tokens, in the usage log and the breakdown.
const (
	categoryTools     = "tools"
	categorySystem    = "system"
	categoryDocuments = "documents"
	categoryOutlines  = "outlines"
	categoryFiles     = "files"
	categoryNotes     = "notes"
	categoryHistory   = "history"
	categoryOverhead  = "overhead" // the framing of messages
)

// piece is one item of a request with what it takes to send it. What it shows is in text, or for the
// conversation in the store.
type piece struct {
	stability.Item
	priority int   // what goes first when the window is full: the lowest
	pinned   bool  // never goes
	rank     int   // goes before what has a higher one, whatever its priority
	unit     bool  // an earlier unit of work
	whole    bool  // is cut only where nothing else can be
	since    int64 // orders pieces of one kind and priority by age, the oldest lowest
	text     string

	file     *filecontext.Entry // of a file
	document *history.Document  // of a document
	messages []history.Viewed   // of the conversation: a message, or a batch of calls and their results
	shows    []history.Viewed   // messages that it tells of in other words: they leave the view with it
	overhead int                // tokens of framing, which Tokens does not hold
}

// render returns the bytes of a piece that is no message.
func (p *piece) render() string {
	if p.file != nil {
		return p.file.Render()
	}
	return p.text
}

// renders reports whether the piece, which may be nil, can render the bytes with a hash.
func (p *piece) renders(hash string) bool {
	return p != nil && p.Hash == hash && (p.text != "" || p.file != nil)
}

// size is what the piece adds to a request, in counted tokens.
func (p *piece) size() int { return p.Tokens + p.overhead }

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// textPiece returns a piece that is a text.
func textPiece(key string, kind stability.Kind, text string, counter *tokens.Counter) piece {
	return piece{
		Item: stability.Item{Key: key, Kind: kind, Hash: hashOf(text), Tokens: counter.Count(text)},
		text: text,
	}
}

// collect returns everything that a request should hold, before it is made to fit.
func (s *snapshot) collect(ctx context.Context, b *built, tools []llm.Tool) ([]piece, error) {
	var pieces []piece
	if len(tools) > 0 {
		pieces = append(pieces, s.toolsPiece(tools))
	}
	if s.system != "" {
		p := textPiece("system", stability.System, s.system, s.counter)
		p.pinned = true
		pieces = append(pieces, p)
	}
	pieces = append(pieces, s.documentPieces(ctx, b)...)
	files, err := s.filePieces(ctx, b)
	if err != nil {
		return nil, err
	}
	pieces = append(pieces, files...)
	s.standing(b)
	talk := s.conversation()
	pieces = append(pieces, s.unitPieces(b, size(pieces)+size(talk)+size(s.summaryPieces()))...)
	notes := s.notePieces(b, pieces, talk)
	if s.loops() {
		return s.loopView(ctx, b, pieces, notes, talk)
	}
	return slices.Concat(pieces, notes, s.summaryPieces(), s.marked(talk, s.omitted)), nil
}

func (s *snapshot) toolsPiece(tools []llm.Tool) piece {
	text, err := json.Marshal(tools)
	if err != nil {
		panic(err) // tools were decoded from JSON
	}
	p := textPiece("tools", stability.Tools, string(text), s.counter)
	p.pinned = true
	return p
}

// documentPieces returns the documents, the most important first, equal ones by name.
func (s *snapshot) documentPieces(ctx context.Context, b *built) []piece {
	documents := slices.Clone(s.documents)
	if rules, ok := s.rules(ctx, b); ok {
		documents = append(documents, rules)
	}
	slices.SortFunc(documents, func(a, b history.Document) int {
		return cmp.Or(b.Priority-a.Priority, strings.Compare(a.Name, b.Name))
	})
	pieces := make([]piece, 0, len(documents))
	for _, d := range documents {
		if strings.TrimSpace(d.Text) == "" {
			continue
		}
		if p, shown := s.shownDocument(b, d); shown {
			pieces = append(pieces, p)
		}
	}
	return pieces
}

// shownDocument returns a document as far as an earlier request could hold it; shown is false where that
// is not at all.
func (s *snapshot) shownDocument(b *built, d history.Document) (p piece, shown bool) {
	p = s.documentPiece(d, len(s.body(&d)))
	cut, was := s.cuts[d.Name]
	if !was || cut.Version != documentVersion(&d) {
		return p, true
	}
	out := LeftOut{Key: p.Key, Tokens: p.Tokens, Reason: reasonBudget, Score: d.Priority}
	if cut.Keep > 0 {
		part := s.documentPiece(d, min(cut.Keep, len(s.body(&d))))
		out.Tokens, out.Reason, p = p.Tokens-part.Tokens, reasonCut, part
	}
	b.leftOut = append(b.leftOut, out)
	return p, cut.Keep > 0
}

// documentPiece returns the first bytes of a document as a piece.
func (s *snapshot) documentPiece(d history.Document, keep int) piece {
	shown := d
	shown.Text = withMarker(s.body(&d), keep)
	if s.showsUnit(&d) {
		shown.Text = strings.TrimPrefix(filecontext.Fence("", shown.Text), "\n")
	}
	text, ok := s.loopDocument(shown) // ok: the loop cannot do without it
	if !ok {
		text = renderDocument(shown)
	}
	p := textPiece(documentPrefix+d.Name, stability.Document, text, s.counter)
	p.priority, p.document, p.whole = d.Priority, &d, s.untrimmed(d.Name)
	p.pinned = d.Pinned || ok || p.whole
	return p
}

// documentVersion names the text of a document and when it was set: set anew it is another version.
func documentVersion(d *history.Document) string {
	if d.At.IsZero() {
		return hashOf(d.Text)
	}
	return fmt.Sprintf("%s@%d", hashOf(d.Text), d.At.UnixMicro())
}

// renderDocument returns a document as the model is shown it. State is what the model can rely on.
func renderDocument(d history.Document) string {
	heading := d.Name
	if d.Name == documentState {
		heading = "Verified facts"
	}
	if d.Path != "" {
		heading += " (" + filecontext.Printable(d.Path) + ")"
	}
	return "# " + strings.Join(strings.Fields(heading), " ") + "\n\n" + strings.TrimRight(d.Text, "\n") + "\n"
}

// filePieces returns the files that are shown in their present form, by path, and takes note of what
// changed on disk.
func (s *snapshot) filePieces(ctx context.Context, b *built) ([]piece, error) {
	entries, err := s.refresh(ctx, b)
	if err != nil {
		return nil, err
	}
	b.entries = entries
	var pieces []piece
	for i := range entries {
		e := &entries[i]
		state, _ := e.Availability()
		if state != filecontext.Full && state != filecontext.Partial {
			continue
		}
		fact := s.facts.of(*e, s.counter)
		p := piece{
			Item: stability.Item{
				Key: "file:" + e.Path, Kind: stability.File, Hash: fact.hash, Tokens: fact.tokens,
				Rev: fact.rev, Partial: state == filecontext.Partial,
			},
			priority: filePriority(e), since: int64(e.Since), file: e,
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// notePieces returns the notes on files, and on documents that left: those that were sent with a message of the conversation, and
// the one that tells what became different since the last request. Where one of them has left with its
// message, the rest say too little, and one note tells all anew.
func (s *snapshot) notePieces(b *built, context, talk []piece) []piece {
	said := make(map[string]bool)
	newest := notePrefix // of a request without a message
	for i := range talk {
		for _, v := range talk[i].messages {
			newest = notePrefix + v.ID
			said[newest] = true
		}
	}
	told := s.layout.lastTold()
	pieces, whole := s.sentNotes(b, said)
	if !whole {
		told = nil
	}
	b.told = availability(b.entries)
	s.noteDocuments(b.told, told, context)
	note := availabilityNote(told, b.told)
	if note != "" && slices.ContainsFunc(pieces, func(p piece) bool { return p.Key == newest }) {
		whole, note = false, availabilityNote(nil, b.told) // one message has one note
	}
	if note == "" && !whole {
		note = noFiles
	}
	if slices.Contains(b.untold, newest) {
		note, b.told = "", told
	}
	if !whole {
		pieces = nil
	}
	if note == "" {
		return pieces
	}
	p := textPiece(newest, stability.Note, note, s.counter)
	p.pinned = true
	return append(pieces, p)
}

// noteDocuments adds to now the documents that were sent and are held no more, since what was sent of them may stand
// for a while; and those of which that was told and that are back. told is what the notes that stay have told.
func (s *snapshot) noteDocuments(now, told map[string]string, context []piece) {
	held := make(map[string]bool)
	for i := range context {
		if context[i].Kind == stability.Document {
			held[documentInNotes(context[i].Key)] = true
		}
	}
	for name := range s.layout.lastTold() {
		if held[name] {
			now[name] = fullFile
		}
	}
	for name, state := range told {
		if state == removedFile && !held[name] && now[name] == "" {
			now[name] = removedFile
		}
	}
	entries := s.layout.entries()
	for i := range entries {
		if e := &entries[i]; isDocument(e) && !held[documentInNotes(e.Key)] {
			now[documentInNotes(e.Key)] = removedFile
		}
	}
}

// isDocument reports whether an entry shows a document: a loop's view is laid out like documents.
func isDocument(e *stability.Entry) bool {
	return e.Kind == stability.Document && strings.HasPrefix(e.Key, documentPrefix)
}

const documentPrefix = "doc:"

// documentInNotes returns how notes name the document with a key.
func documentInNotes(key string) string {
	return "document " + filecontext.Printable(strings.TrimPrefix(key, documentPrefix))
}

// sentNotes returns the notes of the last request whose messages are said, and whether these are all of them.
func (s *snapshot) sentNotes(b *built, said map[string]bool) (pieces []piece, whole bool) {
	whole = true
	for _, e := range s.layout.entries() {
		if e.Kind != stability.Note || e.Dead {
			continue
		}
		if !said[e.Key] || slices.Contains(b.untold, e.Key) {
			whole = false
			continue
		}
		pieces = append(pieces, piece{
			Item:   stability.Item{Key: e.Key, Kind: stability.Note, Hash: e.Blob, Tokens: e.Tokens},
			pinned: true,
		})
	}
	return pieces, whole
}

const notePrefix = "note:"

// conversation returns the working history: each message a piece, but for an assistant's tool calls,
// which are one with their results.
func (s *snapshot) conversation() []piece {
	pieces := make([]piece, 0, len(s.view)+1) // and the marker of what was left out
	for i := 0; i < len(s.view); {
		n := batch(s.view[i:])
		pieces = append(pieces, messagePiece(s.view[i:i+n]))
		i += n
	}
	for i, step := len(pieces)-1, 0; i >= 0; i, step = i-1, step+1 {
		pieces[i].priority = max(priorityMessage-messageStep*step, messageLeast)
	}
	return pieces
}

// summaryPieces returns the summary, where there is one.
func (s *snapshot) summaryPieces() []piece {
	if s.summary.Text == "" {
		return nil
	}
	if s.loops() {
		return []piece{s.loopSummary()}
	}
	return []piece{summaryPiece(s.summary, s.counter)}
}

// summaryPiece is what stands for the compacted part of the history: background, before all messages.
func summaryPiece(summary history.Summary, counter *tokens.Counter) piece {
	text := fmt.Sprintf("# Background: summary of %d earlier messages\n\nThis is what happened before; nothing in it is a request.\n\n%s\n",
		summary.Messages, strings.TrimSpace(summary.Text))
	p := textPiece("summary:"+summary.Edit, stability.Summary, text, counter)
	p.priority, p.pinned = prioritySummary, true // short, and all that is left of what it stands for
	return p
}

// batch returns how many messages at the start of view belong together.
func batch(view []history.Viewed) int {
	n := 1
	if view[0].HasCalls {
		for n < len(view) && view[n].Role == history.RoleTool {
			n++
		}
	}
	return n
}

// messagePiece returns messages as one piece. Messages never change, so their ids stand for their bytes;
// what an edit made of them is added.
func messagePiece(messages []history.Viewed) piece {
	p := piece{messages: messages}
	for i := range messages {
		v := &messages[i]
		p.Tokens += max(v.Tokens-tokens.MessageOverhead, 0)
		p.overhead += min(v.Tokens, tokens.MessageOverhead)
		p.Blocks += v.Blocks
	}
	p.Key, p.Kind, p.Hash = "msg:"+messages[0].ID, stability.Message, identity(messages)
	p.User = messages[0].Role == history.RoleUser
	return p
}

// identity returns what is the same as long as messages are sent as the same bytes.
func identity(messages []history.Viewed) string {
	if len(messages) == 1 && len(messages[0].Patches) == 0 {
		return messages[0].ID
	}
	var all strings.Builder
	for i := range messages {
		all.WriteString(messages[i].ID)
		for _, patch := range messages[i].Patches {
			fmt.Fprintf(&all, "\x00%d.%d %s", patch.Block, patch.Part, patch.Text)
		}
		all.WriteByte('\n')
	}
	return hashOf(all.String())
}

// omittedPiece is the marker that stands where messages were left out.
func omittedPiece(n int, counter *tokens.Counter) piece {
	text := fmt.Sprintf("[%d earlier messages omitted]", n)
	p := textPiece(omittedKey, stability.Summary, text, counter)
	p.pinned = true
	return p
}

const omittedKey = "summary:omitted"
