package history

import "time"

// EditKind is the kind of an edit.
type EditKind string

// The kinds of edits. None of them changes the transcript.
const (
	EditCompact  EditKind = "compact"
	EditDedupe   EditKind = "dedupe"   // replaces copies of a file with notices
	EditTruncate EditKind = "truncate" // removes messages or truncates blocks to fit the window
	EditReplace  EditKind = "replace"  // like a clear: the messages after it replace everything before it
	EditClear    EditKind = "clear"    // removes everything before it from the view
	EditRestore  EditKind = "restore"

	// EditUnanswered notes that a prompt, the newest message, failed without a reply. The prompt leaves the view when a
	// user's message directly follows it there. The note is a fact about the message: restores and undos have no effect on
	// it.
	EditUnanswered EditKind = "unanswered"

	// EditResume removes a reply that broke off after finished steps of its turn: the prompt was sent again, and the turn goes
	// on with the newest of these steps.
	EditResume EditKind = "resume"

	// EditResult moves a tool result that came late behind the calls that it belongs to.
	EditResult EditKind = "result"

	// The edits by which a user arranges single messages. EditKeep returns messages to the view, whole, and keeps them there:
	// no request evicts them and no compaction removes them until EditRelease, which leaves them where they are. EditTakeOut
	// removes messages.
	EditKeep    EditKind = "keep"
	EditRelease EditKind = "release"
	EditTakeOut EditKind = "take_out"
)

// Edit is a stored change of the view. Edits are append-only and share their sequence with messages.
type Edit struct {
	ID     string    `json:"id"` // edit_ + ULID
	Seq    int64     `json:"seq"`
	Kind   EditKind  `json:"kind"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`

	Messages  []string      `json:"messages,omitempty"`  // ids of the messages removed from the view; none for a clear
	Patches   []Patch       `json:"patches,omitempty"`   // changed blocks
	Documents []DocumentCut `json:"documents,omitempty"` // truncated documents

	// Summary replaces Messages and the previous summary. It is empty if the compaction only removes messages.
	Summary       string `json:"summary,omitempty"`
	SummaryTokens int    `json:"summaryTokens,omitempty"`

	CallsMessage string `json:"callsMessage,omitempty"` // of a late result: id of the message with the calls

	// A restore has one of these: the sequence number of the view to restore, or the id of the edit to undo without
	// other changes.
	To     int64  `json:"to,omitempty"`
	Undoes string `json:"undoes,omitempty"`

	Strategy string `json:"strategy,omitempty"` // of a compaction
	Before   int    `json:"before,omitempty"`   // tokens of the working history before and after the edit
	After    int    `json:"after,omitempty"`

	SavedTokens int `json:"savedTokens,omitempty"`
	SavedChars  int `json:"savedChars,omitempty"`
}

// Patch replaces one block of a message in the view.
type Patch struct {
	Message string `json:"message"` // id
	Block   int    `json:"block"`   // index in the message's blocks
	Part    int    `json:"part"`    // index in the content of a tool result, otherwise 0
	Text    string `json:"text"`    // replacement text; for a tool call: its arguments
	Saved   int    `json:"saved"`   // tokens saved
	Origin  string `json:"origin,omitempty"`
}

// DocumentCut limits how much of one version of a document is shown. Other versions are shown whole.
type DocumentCut struct {
	Name    string `json:"name"`
	Version string `json:"version"`        // identifies the text and the time when it was set
	Keep    int    `json:"keep,omitempty"` // bytes of the text to show; 0 for none
}

// Patched returns m as shown in the view, with patches applied. It does not modify m.
func Patched(m Message, patches []Patch) Message {
	if len(patches) == 0 {
		return m
	}
	m.Blocks = append([]Block(nil), m.Blocks...)
	for _, p := range patches {
		if p.Block < 0 || p.Block >= len(m.Blocks) {
			continue
		}
		m.Blocks[p.Block] = patchBlock(m.Blocks[p.Block], p)
	}
	return m
}

func patchBlock(b Block, p Patch) Block {
	switch b.Type {
	case BlockToolCall:
		b.Args = p.Text
		return b
	case BlockToolResult:
	default:
		return Block{Type: BlockText, Text: p.Text}
	}
	b.Content = append([]Block(nil), b.Content...)
	if p.Part >= 0 && p.Part < len(b.Content) {
		b.Content[p.Part] = Block{Type: BlockText, Text: p.Text}
	}
	return b
}
