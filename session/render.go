package session

import (
	"context"
	"fmt"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/stability"
)

// render makes the request of the plan's entries.
func (s *snapshot) render(ctx context.Context, b *built, pieces []piece, revisions *revisions, tools []llm.Tool) error {
	b.request = llm.Request{
		Model: s.model.Name, Tools: tools, MaxOutput: reserve(s.model), Thought: s.thought, Purpose: history.PurposeTurn,
	}
	r := renderer{snapshot: s, built: b, byKey: make(map[string]*piece, len(pieces)), earlier: make(map[string]string)}
	b.request.Entries = make([]llm.Entry, 0, len(b.plan.Entries))
	b.blobs, b.keep = make([]textBlob, 0, len(pieces)), make([]string, 0, len(pieces))
	for i := range pieces {
		r.byKey[pieces[i].Key] = &pieces[i]
	}
	if err := r.load(ctx, revisions); err != nil {
		return err
	}
	for i := range b.plan.Entries {
		if err := r.entry(&b.plan.Entries[i]); err != nil {
			return err
		}
	}
	b.keepFiles(pieces)
	b.counted = b.plan.Tokens + b.categories[categoryOverhead]
	return nil
}

// renderer makes the entries of a provider's request of the entries of a plan.
type renderer struct {
	*snapshot
	built    *built
	byKey    map[string]*piece
	earlier  map[string]string         // bytes by hash, of what was sent before and of diffs
	messages map[int64]history.Message // by sequence number
	block    []string                  // texts of the block that is open
	size     int                       // of that block, in tokens
	kind     llm.EntryKind             // of that block
	begun    bool                      // something stands that is no part of the leading system part
}

// load gets the bytes of the entries that no piece has: those of earlier requests and the messages come from
// the store, diffs are made.
func (r *renderer) load(ctx context.Context, revisions *revisions) error {
	var missing []string
	seqs := make([]int64, 0, len(r.view))
	last := make(map[string]string) // revision by key, while going through the entries
	for i := range r.built.plan.Entries {
		e := &r.built.plan.Entries[i]
		p := r.byKey[e.Key]
		switch {
		case e.Kind == stability.Message:
			for _, v := range p.messages {
				seqs = append(seqs, v.Seq)
			}
			continue
		case e.Kind == stability.Diff && r.made(revisions, e, last[e.Key]):
		case p.renders(e.Blob):
		default:
			missing = append(missing, e.Blob)
		}
		if e.Rev != "" {
			last[e.Key] = e.Rev
		}
	}
	found, err := r.blobs(ctx, missing)
	if err != nil {
		return err
	}
	for hash, bytes := range found {
		r.earlier[hash] = string(bytes)
	}
	return r.loadMessages(ctx, seqs)
}

// made reports whether e is a diff that this request makes, and keeps its bytes.
func (r *renderer) made(revisions *revisions, e *stability.Entry, from string) bool {
	d := r.diff(revisions, e.Key, from, e.Rev)
	if !d.ok || d.hash != e.Blob {
		return false
	}
	r.earlier[e.Blob] = d.text
	return true
}

func (r *renderer) loadMessages(ctx context.Context, seqs []int64) error {
	messages, err := r.deps.Store.Messages(ctx, r.session, seqs)
	if err != nil {
		return fmt.Errorf("read the history of session %s: %w: %w", r.session, ErrStorage, err)
	}
	r.messages = make(map[int64]history.Message, len(messages))
	for _, m := range messages {
		r.messages[m.Seq] = m
	}
	return nil
}

// entry adds one entry of the plan to the request. Texts are gathered until their block ends.
func (r *renderer) entry(e *stability.Entry) error {
	mark := markOf(r.built.plan, e)
	r.begun = r.begun || !leads(e.Kind)
	if e.Kind == stability.Message {
		for i, v := range r.byKey[e.Key].messages {
			m := history.Patched(r.messages[v.Seq], v.Patches)
			out := llm.Entry{Kind: llm.EntryMessage, Role: m.Role, Blocks: typed(m.Blocks), Model: m.Model}
			if i == len(r.byKey[e.Key].messages)-1 {
				out.Mark = mark
			}
			r.add(out, v.Tokens)
		}
		return nil
	}
	text, ok := r.text(e)
	if !ok {
		return fmt.Errorf("session %s: the bytes of %s that were sent are not stored: %w", r.session, e.Key, ErrStorage)
	}
	r.keep(e, text)
	if e.Kind == stability.Tools {
		return nil // they have a place of their own in the request
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

// text returns the bytes of an entry that is no message.
func (r *renderer) text(e *stability.Entry) (text string, ok bool) {
	if p := r.byKey[e.Key]; p.renders(e.Blob) {
		return p.render(), true
	}
	text, ok = r.earlier[e.Blob]
	return text, ok
}

// leads reports whether what is of a kind belongs to the system part where it stands at the beginning.
func leads(k stability.Kind) bool {
	return k == stability.Tools || k == stability.System || k == stability.Document || k == stability.Outline
}

func (r *renderer) closeBlock(mark llm.Mark) {
	block := history.Block{Type: history.BlockText, Text: strings.Join(r.block, "\n")}
	r.add(llm.Entry{Kind: r.kind, Blocks: []history.Block{block}, Mark: mark}, r.size)
	r.block, r.size = nil, 0
}

// add adds an entry of so many tokens to the request.
func (r *renderer) add(e llm.Entry, size int) {
	r.built.request.Entries = append(r.built.request.Entries, e)
	r.built.sizes = append(r.built.sizes, size)
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

// keep notes that the layout refers to a text, and that it must be stored if this request made it. The
// text of a file that the entry leads to is stored already or is the present one: later diffs may begin
// with it.
func (r *renderer) keep(e *stability.Entry, text string) {
	r.built.keep = append(r.built.keep, e.Blob)
	if e.Rev != "" && !strings.HasSuffix(e.Rev, numbered) {
		r.built.keep = append(r.built.keep, e.Rev)
	}
	r.built.blobs = append(r.built.blobs, textBlob{e.Blob, text})
}

// keepFiles notes which files the request holds, in one piece or as an older text with the changes to
// it, and the texts that their revisions name: the next diff begins with them.
func (b *built) keepFiles(pieces []piece) {
	for i := range pieces {
		p := &pieces[i]
		if p.file == nil {
			continue
		}
		b.sent = append(b.sent, sentFile{path: p.file.Path, hash: p.file.Hash, whole: p.file.State == filecontext.Full})
		if !strings.HasSuffix(p.Rev, numbered) {
			b.blobs = append(b.blobs, textBlob{p.Rev, p.file.Text})
		}
	}
}
