package assembly

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/content"
	"strata/session/fit"
	"strata/stability"
)

// render makes the request of a plan.
func (s *State) render(ctx context.Context, c *collected, p *planned, fitted *fit.Result) (Built, error) {
	r := renderer{State: s, plan: p, byKey: make(map[string]*fit.Item), earlier: make(map[string]string)}
	r.built = Built{
		Request: llm.Request{
			Model: s.Model.Name, Tools: s.Tools, MaxOutput: Reserve(&s.Model), Thought: s.Thought, Purpose: history.PurposeTurn,
			Entries: make([]llm.Entry, 0, len(p.Entries)+len(p.Entries)/8), Encoded: s.Beginning.encoded,
		},
		Plan: p.Plan, Mirror: p.mirror, Counted: p.Tokens + p.overhead, Changes: fitted.Changes,
		Omitted: fit.Runs(append(c.omitted, fitted.Omitted...)), Files: fitted.Files, Refreshed: c.refreshed, Index: c.index, prefixes: c.prefixes,
		Sizes: make([]int, 0, len(p.Entries)+len(p.Entries)/8), cache: p.cache, told: fitted.Told, Layout: s.Layout.name(),
	}
	if s.Phase != nil {
		r.built.Phase = s.Phase.ID
	}
	for i := range fitted.Items {
		if it := &fitted.Items[i]; it.Kind == stability.Message {
			r.talk = append(r.talk, it)
		} else {
			r.byKey[it.Key] = it
		}
	}
	r.before, r.beforeBlocks = s.Beginning.renderings(s.Counter)
	if err := r.load(ctx); err != nil {
		return Built{}, err
	}
	for i := range p.Entries {
		if err := r.entry(&p.Entries[i]); err != nil {
			return Built{}, err
		}
	}
	s.Beginning.keep(s.Counter, r.before, r.same, r.added, r.blocks)
	r.files(fitted.Items)
	r.built.Categories, r.built.Documents = account(p)
	r.built.Categories[fit.CategoryOverhead] += r.separators
	r.built.Counted += r.separators
	return r.built, nil
}

// account returns the tokens of a plan by category, and of its documents by name.
func account(p *planned) (categories, documents map[string]int) {
	categories, documents = map[string]int{fit.CategoryOverhead: p.overhead}, make(map[string]int)
	talk := 0
	for i := range p.Entries {
		e := &p.Entries[i]
		if e.Kind == stability.Message {
			talk += e.Tokens
			continue
		}
		categories[fit.Category(e.Kind, e.Key)] += e.Tokens
		if fit.IsDocument(e.Kind, e.Key) {
			documents[strings.TrimPrefix(e.Key, fit.DocumentPrefix)] += e.Tokens
		}
	}
	if talk > 0 {
		categories[fit.Category(stability.Message, "")] += talk
	}
	return categories, documents
}

// renderer makes the entries of a provider's request of the entries of a plan.
type renderer struct {
	*State
	plan     *planned
	built    Built
	byKey    map[string]*fit.Item      // other than the conversation
	talk     []*fit.Item               // the conversation, in the order of its entries
	earlier  map[string]string         // bytes by hash, of what was sent before and of diffs
	messages map[int64]history.Message // by sequence number, those whose rendering is not kept
	block    []string                  // texts of the block that is open
	size     int                       // of that block, in tokens
	kind     llm.EntryKind             // of that block
	begun    bool                      // an entry was added that is not part of the leading system part

	separators int // tokens of the replies that separate entries

	shown        int         // items of the conversation so far
	before       []rendering // kept of the conversation
	same         int         // of them that are the same as in this request
	added        []rendering // after those
	beforeBlocks [][]history.Block
	blocks       [][]history.Block
}

// load gets the bytes of the entries that no item has: those of earlier requests and the messages are read from the store,
// diffs are made.
func (r *renderer) load(ctx context.Context) error {
	var missing []string
	last := make(map[string]*stability.Entry) // of each file, while going through the entries
	for i := range r.plan.Entries {
		e := &r.plan.Entries[i]
		if e.Kind == stability.Message {
			continue
		}
		p := r.byKey[e.Key]
		switch {
		case e.Kind == stability.Diff && r.made(e, last[e.Key]):
		case p.Renders(e.Blob):
		default:
			missing = append(missing, e.Blob)
		}
		if e.Rev != "" {
			last[e.Key] = e
		}
	}
	found, err := r.blobs(ctx, missing)
	if err != nil {
		return err
	}
	for hash, bytes := range found {
		r.earlier[hash] = string(bytes)
	}
	return r.loadMessages(ctx)
}

// made reports whether e is a diff that this request makes, and keeps its bytes. It begins with the revision of the entry before
// of its file, or with the one to which messages led from there.
func (r *renderer) made(e, before *stability.Entry) bool {
	for _, from := range revisionsOf(before) {
		if d := r.diff(r.plan.revisions, e.Key, from, e.Rev); d.ok && d.hash == e.Blob {
			r.earlier[e.Blob] = d.text
			return true
		}
	}
	return false
}

// loadMessages reads the messages whose rendering is not kept.
func (r *renderer) loadMessages(ctx context.Context) error {
	r.findKept()
	var seqs []int64
	for _, it := range r.talk[r.same:] {
		for _, v := range it.Messages {
			seqs = append(seqs, v.Seq)
		}
	}
	messages, err := r.read(ctx, seqs)
	if err != nil {
		return err
	}
	r.messages = make(map[int64]history.Message, len(messages))
	for _, m := range messages {
		r.messages[m.Seq] = m
	}
	return nil
}

// findKept finds the kept renderings that are the same as in this request. Those whose messages have moved in memory are
// replaced, so that the old memory is released.
func (r *renderer) findKept() {
	cloned := false
	for r.same < min(len(r.before), len(r.talk)) {
		view := r.talk[r.same].Messages
		same, moved := r.before[r.same].shows(view)
		if !same {
			return
		}
		if moved && !cloned {
			r.before, cloned = slices.Clone(r.before), true
		}
		if moved {
			r.before[r.same].view = view
		}
		r.same++
	}
}

// entry adds one entry of the plan to the request. Texts are gathered until their block ends.
func (r *renderer) entry(e *stability.Entry) error {
	mark := markOf(r.plan.Plan, e)
	r.begun = r.begun || !leads(e.Kind) || e.Run
	r.separate(e)
	if e.Kind == stability.Message {
		r.message(mark)
		return nil
	}
	text, ok := r.text(e)
	if !ok {
		return fmt.Errorf("the bytes of %s that were sent are not stored: %w", e.Key, ErrStorage)
	}
	r.keep(e, text)
	if e.Kind == stability.Tools {
		return nil // tools are not among the entries of a request
	}
	r.kind = llm.EntrySystem
	if r.begun {
		r.kind = llm.EntryContext
	}
	r.block, r.size = append(r.block, text), r.size+e.Tokens
	if e.BlockEnd {
		r.closeBlock(mark)
	}
	return nil
}

// message adds the next message of the conversation, or a message with calls and their results.
func (r *renderer) message(mark llm.Mark) {
	var shown *rendering
	if r.shown < r.same {
		shown = &r.before[r.shown]
	} else {
		r.added = append(r.added, r.rendering(r.talk[r.shown].Messages))
		shown = &r.added[len(r.added)-1]
	}
	r.shown++
	r.built.Request.Entries = append(r.built.Request.Entries, shown.entries...)
	r.built.Request.Entries[len(r.built.Request.Entries)-1].Mark = mark
	r.built.Sizes = append(r.built.Sizes, shown.sizes...)
	r.plan.overhead += shown.added
	r.built.Counted += shown.added
	r.built.Unanswered += shown.unanswered
}

// rendering renders messages that follow those that were rendered so far.
func (r *renderer) rendering(view []history.Viewed) rendering {
	const entry = 640 // bytes of it and of its item, without its content
	made := rendering{view: view}
	switch n := len(r.added); {
	case n > 0:
		made.bytes = r.added[n-1].bytes
	case r.same > 0:
		made.bytes = r.before[r.same-1].bytes
	}
	messages := make([]history.Message, len(view))
	for i, v := range view {
		messages[i] = history.Patched(r.messages[v.Seq], v.Patches)
		made.bytes += entry + v.Bytes
		if messages[i].Status == history.StatusDamaged {
			made.view = nil // it may be readable later
		}
	}
	made.entries, made.sizes, made.added, made.unanswered = r.paired(messages, view)
	return made
}

// What a request contains of a message that says nothing: providers refuse a message without text.
const (
	emptyReply   = "(empty reply)"
	emptyMessage = "(empty message)"
)

// said returns the content of a message as it is sent. A damaged message has none.
func said(m *history.Message) []history.Block {
	blocks := content.Typed(m.Blocks)
	if m.Status == history.StatusDamaged || !content.Empty(blocks) {
		return blocks
	}
	text := emptyMessage
	if m.Role == history.RoleAssistant {
		text = emptyReply
	}
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b history.Block) bool { return b.Type == history.BlockText })
	return append(blocks, history.Block{Type: history.BlockText, Text: text})
}

// text returns the bytes of an entry that is no message.
func (r *renderer) text(e *stability.Entry) (text string, ok bool) {
	if p := r.byKey[e.Key]; p.Renders(e.Blob) {
		return p.Render(), true
	}
	text, ok = r.earlier[e.Blob]
	return text, ok
}

// leads reports whether entries of a kind belong to the system part if they are at the beginning.
func leads(k stability.Kind) bool {
	return k == stability.Tools || k == stability.System || k == stability.Document || k == stability.Outline
}

func (r *renderer) closeBlock(mark llm.Mark) {
	block := []history.Block{{Type: history.BlockText, Text: strings.Join(r.block, "\n")}}
	if n := len(r.blocks); n < len(r.beforeBlocks) && r.beforeBlocks[n][0].Text == block[0].Text {
		block = r.beforeBlocks[n] // the same memory is known to be the same content
	}
	r.blocks = append(r.blocks, block)
	r.add(llm.Entry{Kind: r.kind, Blocks: block, Mark: mark}, r.size)
	r.block, r.size = nil, 0
}

// add adds an entry of so many tokens to the request.
func (r *renderer) add(e llm.Entry, size int) {
	r.built.Request.Entries = append(r.built.Request.Entries, e)
	r.built.Sizes = append(r.built.Sizes, size)
}

func markOf(p *stability.Plan, e *stability.Entry) llm.Mark {
	switch {
	case !e.Mark:
		return llm.MarkNone
	case p.Long:
		return llm.Mark1h
	}
	return llm.Mark5m
}

// keep notes that the layout refers to a text, and that the text must be stored if this request made it. The text of a file
// that the entry leads to is stored already or is the present one: later diffs may begin with it.
func (r *renderer) keep(e *stability.Entry, text string) {
	r.built.keep = append(r.built.keep, e.Blob)
	for _, rev := range revisionsOf(e) {
		if !strings.HasSuffix(rev, fit.NoDiff) {
			r.built.keep = append(r.built.keep, rev)
		}
	}
	r.built.blobs = append(r.built.blobs, textBlob{e.Blob, text})
}

// files notes the files that the request contains, whole or as an older text with changes, and the texts of their
// revisions: the next diff begins with them.
func (r *renderer) files(items []fit.Item) {
	for i := range items {
		it := &items[i]
		if it.File == nil {
			continue
		}
		r.built.Sent = append(r.built.Sent, SentFile{Path: it.File.Path, Hash: it.File.Hash, Whole: it.File.State == filecontext.Full})
		if !strings.HasSuffix(it.Rev, fit.NoDiff) {
			r.built.blobs = append(r.built.blobs, textBlob{it.Rev, it.File.Text})
		}
	}
}
