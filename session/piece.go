package session

import (
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
	category string
	priority int  // what goes first when the window is full: the lowest
	pinned   bool // never goes
	text     string

	source   string             // of a file: the text whose hash Rev names
	file     *filecontext.Entry // of a file
	messages []history.Viewed   // of the conversation: a message, or a batch of calls and their results
	overhead int                // tokens of framing, which Tokens does not hold
}

// render returns the bytes of a piece that is no message.
func (p *piece) render() string {
	if p.file != nil {
		return p.file.Render()
	}
	return p.text
}

// size is what the piece adds to a request, in counted tokens.
func (p *piece) size() int { return p.Tokens + p.overhead }

// The priorities of what has none of its own: context.md, "Items".
const (
	priorityFile    = 100 // in full and asked for
	priorityFacts   = 98
	priorityMessage = 80 // the newest; falls by messageStep to messageLeast
	messageStep     = 5
	messageLeast    = 40
	priorityDefault = 80
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// textPiece returns a piece that is a text.
func textPiece(key string, kind stability.Kind, category, text string, counter *tokens.Counter) piece {
	return piece{
		Item:     stability.Item{Key: key, Kind: kind, Hash: hashOf(text), Tokens: counter.Count(text)},
		category: category, text: text,
	}
}

// collect returns everything that a request should hold, before it is made to fit.
func (s *snapshot) collect(ctx context.Context, b *built, tools []llm.Tool) ([]piece, error) {
	var pieces []piece
	if len(tools) > 0 {
		pieces = append(pieces, s.toolsPiece(tools))
	}
	if s.system != "" {
		p := textPiece("system", stability.System, categorySystem, s.system, s.counter)
		p.pinned = true
		pieces = append(pieces, p)
	}
	pieces = append(pieces, s.documentPieces(ctx)...)
	files, err := s.filePieces(ctx, b)
	if err != nil {
		return nil, err
	}
	pieces = append(pieces, files...)
	pieces = append(pieces, s.notePieces(b)...)
	return append(pieces, s.conversation()...), nil
}

func (s *snapshot) toolsPiece(tools []llm.Tool) piece {
	text, err := json.Marshal(tools)
	if err != nil {
		panic(err) // tools were decoded from JSON
	}
	p := textPiece("tools", stability.Tools, categoryTools, string(text), s.counter)
	p.pinned = true
	return p
}

// documentPieces returns the documents, the most important first, equal ones by name.
func (s *snapshot) documentPieces(ctx context.Context) []piece {
	documents := slices.Clone(s.documents)
	if rules, ok := s.rules(ctx); ok {
		documents = append(documents, rules)
	}
	slices.SortFunc(documents, func(a, b history.Document) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		return strings.Compare(a.Name, b.Name)
	})
	pieces := make([]piece, 0, len(documents))
	for _, d := range documents {
		if strings.TrimSpace(d.Text) == "" {
			continue
		}
		p := textPiece("doc:"+d.Name, stability.Document, categoryDocuments, renderDocument(d), s.counter)
		p.priority, p.pinned = d.Priority, d.Pinned
		pieces = append(pieces, p)
	}
	return pieces
}

// renderDocument returns a document as the model is shown it. State is what the model can rely on.
func renderDocument(d history.Document) string {
	heading := d.Name
	if d.Name == documentState {
		heading = "Verified facts"
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
			category: categoryFiles, priority: priorityFile, source: e.Text, file: e,
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// notePieces returns the notes on files: those that were sent and whose turn is still in the view, and
// the one that tells what became different since the last request.
func (s *snapshot) notePieces(b *built) []piece {
	var pieces []piece
	for _, e := range s.layout.entries() {
		if e.Kind == stability.Note && s.inView(strings.TrimPrefix(e.Key, notePrefix)) {
			pieces = append(pieces, piece{
				Item:     stability.Item{Key: e.Key, Kind: stability.Note, Hash: e.Blob, Tokens: e.Tokens},
				category: categoryNotes, pinned: true,
			})
		}
	}
	b.told = availability(b.entries)
	note := s.layout.note(b.told)
	if note == "" || len(s.view) == 0 {
		return pieces
	}
	p := textPiece(notePrefix+s.view[len(s.view)-1].ID, stability.Note, categoryNotes, note, s.counter)
	p.pinned = true
	if i := slices.IndexFunc(pieces, func(q piece) bool { return q.Key == p.Key }); i >= 0 {
		pieces = append(pieces[:i], pieces[i+1:]...)
	}
	return append(pieces, p)
}

const notePrefix = "note:"

func (s *snapshot) inView(id string) bool {
	return slices.ContainsFunc(s.view, func(v history.Viewed) bool { return v.ID == id })
}

// conversation returns the working history: each message a piece, but for an assistant's tool calls,
// which are one with their results.
func (s *snapshot) conversation() []piece {
	var pieces []piece
	for i := 0; i < len(s.view); {
		n := batch(s.view[i:])
		pieces = append(pieces, messagePiece(s.view[i:i+n]))
		i += n
	}
	for i, step := len(pieces)-1, 0; i >= 0; i, step = i-1, step+1 {
		pieces[i].priority = max(priorityMessage-messageStep*step, messageLeast)
	}
	if s.omitted > 0 && len(pieces) > 0 {
		pieces = slices.Insert(pieces, min(1, len(pieces)), omittedPiece(s.omitted, s.counter))
	}
	return pieces
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
	p := piece{category: categoryHistory, messages: messages}
	var identity strings.Builder
	for _, v := range messages {
		p.Tokens += max(v.Tokens-tokens.MessageOverhead, 0)
		p.overhead += min(v.Tokens, tokens.MessageOverhead)
		p.Blocks += v.Blocks
		identity.WriteString(v.ID)
		for _, patch := range v.Patches {
			fmt.Fprintf(&identity, "\x00%d.%d %s", patch.Block, patch.Part, patch.Text)
		}
		identity.WriteByte('\n')
	}
	p.Key, p.Kind, p.Hash = "msg:"+messages[0].ID, stability.Message, hashOf(identity.String())
	p.User = messages[0].Role == history.RoleUser
	return p
}

// omittedPiece is the marker that stands where messages were left out.
func omittedPiece(n int, counter *tokens.Counter) piece {
	text := fmt.Sprintf("[%d earlier messages omitted]", n)
	p := textPiece(omittedKey, stability.Summary, categoryHistory, text, counter)
	p.pinned = true
	return p
}

const omittedKey = "summary:omitted"
