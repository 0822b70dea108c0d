package history

import "time"

// EditKind says what an edit does to the view.
type EditKind string

// The kinds of edits. None of them changes the transcript.
const (
	EditCompact  EditKind = "compact"
	EditDedupe   EditKind = "dedupe"
	EditTruncate EditKind = "truncate"
	EditReplace  EditKind = "replace"
	EditClear    EditKind = "clear"
	EditRestore  EditKind = "restore"
)

// Edit is a stored change of the view. Edits are append-only and share their sequence with messages.
type Edit struct {
	ID     string    `json:"id"` // edit_ + ULID
	Seq    int64     `json:"seq"`
	Kind   EditKind  `json:"kind"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`

	// Messages are the ids that it concerns, in order; empty for a clear, which concerns all before Seq.
	Messages []string `json:"messages,omitempty"`

	SavedTokens int `json:"savedTokens,omitempty"`
	SavedChars  int `json:"savedChars,omitempty"`
}
