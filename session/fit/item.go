// Package fit decides what a request keeps if not everything fits: copies of files are removed first, then items are
// evicted by priority, then the largest are truncated.
//
// It must never change what it is given: the result lists the changes, and its caller stores them.
package fit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/stability"
	"strata/tokens"
)

// The prefixes of keys, and the keys of the items of which a request has one.
const (
	DocumentPrefix = "doc:"
	FilePrefix     = "file:"
	OutlinePrefix  = "outline:"
	NotePrefix     = "note:"
	SummaryPrefix  = "summary:"
	MessagePrefix  = "msg:"
	SystemKey      = "system"
	ToolsKey       = "tools"
	OmittedKey     = "summary:omitted"
	OutlineHeading = "outline-heading" // sorts before the outlines
)

// The documents that Strata makes itself unless the session has them.
const (
	DocumentRules     = "rules"     // no code in the sense of shares
	FolderRules       = "rules:"    // and the path of a folder of the workspace: likewise
	DocumentStructure = "structure" // the tree of the workspace
)

// Item is one item of a request. Its content is Text or the rendered File; a message's content is in the store.
type Item struct {
	stability.Item
	Priority int   // the lowest is evicted first
	Pinned   bool  // never evicted
	Unit     bool  // an earlier unit of work
	Failed   bool  // a step that failed: evicted after the others
	Required bool  // evicted only if nothing else can be: the phase requires it
	Whole    bool  // truncated only if nothing else can be
	Since    int64 // age among items of one kind and priority; the oldest has the lowest
	Text     string

	File     *filecontext.Entry // of a file
	Document *history.Document  // of a document
	Messages []history.Viewed   // of the conversation: a message, or a batch of calls and their results
	Shows    []history.Viewed   // messages that the item shows in other words: they leave the view with the item
	Overhead int                // tokens of framing, which Tokens does not contain

	rank int // evicted before items of higher rank, whatever their priority
}

// Render returns the bytes of an item that is not a message.
func (it *Item) Render() string {
	if it.File != nil {
		return it.File.Render()
	}
	return it.Text
}

// Renders reports whether the item, which may be nil, can render the bytes with a hash.
func (it *Item) Renders(hash string) bool {
	return it != nil && it.Hash == hash && (it.Text != "" || it.File != nil)
}

// Size returns the counted tokens that the item adds to a request.
func (it *Item) Size() int { return it.Tokens + it.Overhead }

func isMessage(it Item) bool { return it.Kind == stability.Message }

func isHistory(it *Item) bool { return it.Kind == stability.Message || len(it.Shows) > 0 }

// Size returns the counted tokens of items.
func Size(items []Item) int {
	sum := 0
	for i := range items {
		sum += items[i].Size()
	}
	return sum
}

// Hash returns the SHA-256 of a text in hex.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TextItem returns an item that is a text.
func TextItem(key string, kind stability.Kind, text string, counter *tokens.Counter) Item {
	return Item{
		Item: stability.Item{Key: key, Kind: kind, Hash: Hash(text), Tokens: counter.Count(text)},
		Text: text,
	}
}

// MessageItem returns messages as one item. Messages never change, so their ids replace their bytes in the hash, with the
// patches of edits.
func MessageItem(messages []history.Viewed) Item {
	it := Item{Messages: messages}
	for i := range messages {
		v := &messages[i]
		it.Tokens += max(v.Tokens-tokens.MessageOverhead, 0)
		it.Overhead += min(v.Tokens, tokens.MessageOverhead)
		it.Blocks += v.Blocks
		it.Pinned = it.Pinned || v.Kept
	}
	it.Key, it.Kind, it.Hash = MessagePrefix+messages[0].ID, stability.Message, identity(messages)
	it.User, it.Open = messages[0].Role == history.RoleUser, messages[len(messages)-1].Role == history.RoleTool
	return it
}

// identity returns a text that is the same as long as the messages are sent as the same bytes.
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
	return Hash(all.String())
}

// showing returns the item with its messages as they are now.
func (it *Item) showing(messages []history.Viewed) Item {
	now := MessageItem(messages)
	now.Priority, now.Failed = it.Priority, it.Failed
	return now
}

// Conversation returns the working history as items: each message, and an assistant's tool calls together with their
// results.
func Conversation(view []history.Viewed) []Item {
	items := appendItems(make([]Item, 0, len(view)+1), view) // and the marker of omitted messages
	prioritize(items)
	return items
}

// appendItems appends the items of a view, with the least priority.
func appendItems(items []Item, view []history.Viewed) []Item {
	for i := 0; i < len(view); {
		n := batch(view[i:])
		it := MessageItem(view[i : i+n])
		it.Priority = MessageLeast
		items = append(items, it)
		i += n
	}
	return items
}

// prioritize sets the priorities of the newest items of a conversation. The others have the least one.
func prioritize(items []Item) {
	for i, priority := len(items)-1, PriorityMessage; i >= 0 && priority > MessageLeast; i, priority = i-1, priority-MessageStep {
		items[i].Priority = priority
	}
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

// Marked returns the conversation with a marker for so many omitted messages after the first exchange, or after the first
// message if there is only one exchange, unless that message is the newest.
func Marked(talk []Item, omitted int, counter *tokens.Counter) []Item {
	start := slices.IndexFunc(talk, isMessage)
	if omitted == 0 || start < 0 {
		return talk
	}
	at := min(start+1, len(talk)-1)
	if end := secondExchange(talk[start:]); talk[start].User && end >= 0 {
		at = start + end
	}
	return slices.Insert(slices.Clip(talk), at, omittedItem(omitted, counter))
}

// secondExchange returns the index of the first message that is not of the exchange of talk[0], a message; -1 for none.
func secondExchange(talk []Item) int {
	first := talk[0].Messages[0].Exchange
	return slices.IndexFunc(talk, func(it Item) bool { return isMessage(it) && it.Messages[0].Exchange != first })
}

// Summarized returns the conversation with its summary as an item: after the prompt of a turn of which it replaces steps that
// were older than those in the conversation; else after the first exchange if that is older than the oldest message that it
// replaces; otherwise before everything.
func Summarized(talk []Item, item Item, of *history.Summary) []Item {
	at := 0
	if prompt := promptOfSteps(talk, of.Through); prompt >= 0 {
		at = prompt + 1
	} else if len(talk) > 0 && talk[0].Messages[0].Seq < of.Since {
		at = max(secondExchange(talk), 0)
	}
	return slices.Insert(slices.Clip(talk), at, item)
}

// promptOfSteps returns the index of the prompt of an exchange if steps with calls follow it; -1 if not.
func promptOfSteps(talk []Item, exchange int) int {
	prompt := slices.IndexFunc(talk, func(it Item) bool { return it.User && it.Messages[0].Exchange == exchange })
	if prompt < 0 || prompt+1 >= len(talk) || talk[prompt+1].Messages[0].Exchange != exchange || isAnswer(&talk[prompt+1]) {
		return -1
	}
	return prompt
}

func omittedItem(n int, counter *tokens.Counter) Item {
	it := TextItem(OmittedKey, stability.Summary, fmt.Sprintf("[%d earlier messages omitted]", n), counter)
	it.Pinned = true
	return it
}

// The categories of a request's tokens, in the usage log and in the breakdown.
const (
	CategoryTools     = "tools"
	CategorySystem    = "system"
	CategoryDocuments = "documents"
	CategoryOutlines  = "outlines"
	CategoryFiles     = "files"
	CategoryNotes     = "notes"
	CategoryHistory   = "history"
	CategoryOverhead  = "overhead" // the framing of messages
)

// Category returns the category of an item or entry by its kind and key. The diffs of a file count as files.
func Category(kind stability.Kind, key string) string {
	switch kind {
	case stability.Tools:
		return CategoryTools
	case stability.System:
		return CategorySystem
	case stability.Document:
		if IsDocument(kind, key) {
			return CategoryDocuments
		}
		return CategoryHistory
	case stability.Outline:
		return CategoryOutlines
	case stability.File, stability.Base, stability.Diff:
		return CategoryFiles
	case stability.Note:
		return CategoryNotes
	default:
		return CategoryHistory
	}
}

// IsDocument reports whether an item or entry shows a document: a loop's view is laid out like documents too.
func IsDocument(kind stability.Kind, key string) bool {
	return kind == stability.Document && strings.HasPrefix(key, DocumentPrefix)
}
