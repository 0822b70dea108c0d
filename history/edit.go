package history

import "time"

// EditKind says what an edit does to the view.
type EditKind string

// The kinds of edits. None of them changes the transcript.
const (
	EditCompact  EditKind = "compact"
	EditDedupe   EditKind = "dedupe"   // copies of a file gave way to notices
	EditTruncate EditKind = "truncate" // messages left the view, or blocks were cut, to fit the window
	EditReplace  EditKind = "replace"  // like a clear: the messages behind it took the place of all before it
	EditClear    EditKind = "clear"    // everything before it left the view
	EditRestore  EditKind = "restore"
)

// Edit is a stored change of the view. Edits are append-only and share their sequence with messages.
type Edit struct {
	ID     string    `json:"id"` // edit_ + ULID
	Seq    int64     `json:"seq"`
	Kind   EditKind  `json:"kind"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`

	Messages  []string      `json:"messages,omitempty"`  // ids of those that leave the view; a clear names none
	Patches   []Patch       `json:"patches,omitempty"`   // blocks that are shown differently
	Documents []DocumentCut `json:"documents,omitempty"` // documents of which less is shown

	// Summary is what a compaction shows in the place of Messages and of what the summary before it stood
	// for. It is empty where the strategy only removes.
	Summary       string `json:"summary,omitempty"`
	SummaryTokens int    `json:"summaryTokens,omitempty"`

	// A restore has one of these: the sequence number whose view it goes back to, or the id of the edit
	// that it makes ineffective while everything else stays.
	To     int64  `json:"to,omitempty"`
	Undoes string `json:"undoes,omitempty"`

	Strategy string `json:"strategy,omitempty"` // of a compaction
	Before   int    `json:"before,omitempty"`   // tokens of the working history before and after it
	After    int    `json:"after,omitempty"`

	SavedTokens int `json:"savedTokens,omitempty"`
	SavedChars  int `json:"savedChars,omitempty"`
}

// Patch says what the view shows in the place of one block of a message.
type Patch struct {
	Message string `json:"message"` // id
	Block   int    `json:"block"`   // index in the message's blocks
	Part    int    `json:"part"`    // index in the block's content where it is a tool result, otherwise 0
	Text    string `json:"text"`    // what is shown instead; of a tool call: its arguments
	Saved   int    `json:"saved"`   // tokens that this saves
	Origin  string `json:"origin,omitempty"`
}

// DocumentCut says how much of one version of a document is shown. Another version is shown whole again.
type DocumentCut struct {
	Name    string `json:"name"`
	Version string `json:"version"`        // names the text, and when it was set
	Keep    int    `json:"keep,omitempty"` // bytes of the text that are shown; 0 for none of it
}

// Patched returns a message as the view shows it. m is not changed.
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
