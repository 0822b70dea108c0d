package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// The reasons for which a request holds a placeholder for a picture. The first two hold for a model; the other two are
// stored, so that the next requests begin with the same bytes.
const (
	reasonNoVision        = "no_vision"         // the model sees no pictures
	reasonPictureTooLarge = "picture_too_large" // for the model
	reasonRequestTooLarge = "request_too_large" // for the provider, or for the limit of the model: the oldest pictures leave
	reasonPictureRefused  = "picture_refused"   // by the provider
)

// isPictureReason reports whether a patch of this origin is the placeholder of a picture.
func isPictureReason(origin string) bool {
	switch origin {
	case reasonNoVision, reasonPictureTooLarge, reasonRequestTooLarge, reasonPictureRefused:
		return true
	}
	return false
}

// picture is what a request needs to know of a picture in a stored message.
type picture struct {
	block, part   int // as in a history.Patch
	mime          string
	bytes         int // before base64
	width, height int
	tokens        int // that it was counted for
}

// size is what the picture adds to a request, in bytes.
func (p *picture) size() int { return p.bytes * 4 / 3 }

// placeholder is what a request holds for the picture. The wording is the one of package llm.
func (p *picture) placeholder() string {
	return fmt.Sprintf("[picture: %s; not shown to this model]", p.name())
}

// name describes the picture to a user: its type and its size in pixels.
func (p *picture) name() string {
	if p.width > 0 && p.height > 0 {
		return fmt.Sprintf("%s, %d x %d", p.mime, p.width, p.height)
	}
	return p.mime
}

// unfit returns the reason for which a model cannot take the picture, empty where it can.
func (p *picture) unfit(m *llm.Model) string {
	limit := m.Pictures
	switch {
	case !m.Vision:
		return reasonNoVision
	case limit.Bytes > 0 && p.bytes > limit.Bytes, limit.Pixels > 0 && max(p.width, p.height) > limit.Pixels:
		return reasonPictureTooLarge
	}
	return ""
}

// patch returns the patch that puts a placeholder in the place of the picture, which is in a message with the given id.
func (p *picture) patch(message, reason string, counter *tokens.Counter) history.Patch {
	text := p.placeholder()
	return history.Patch{
		Message: message, Block: p.block, Part: p.part, Text: text, Saved: max(p.tokens-counter.Count(text), 0), Origin: reason,
	}
}

// shownIn reports whether a message of the view shows the picture, and no patch in its place.
func (p *picture) shownIn(v *history.Viewed) bool {
	return !slices.ContainsFunc(v.Patches, func(patch history.Patch) bool { return patch.Block == p.block && patch.Part == p.part })
}

// picturesOf returns the pictures in the blocks of a message.
func picturesOf(blocks []history.Block) (all []picture) {
	take := func(b *history.Block, block, part int) {
		if b.Type == history.BlockImage {
			all = append(all, picture{
				block: block, part: part, mime: b.MIME, bytes: len(b.Data), width: b.Width, height: b.Height, tokens: tokens.Image(b.Width, b.Height),
			})
		}
	}
	for i := range blocks {
		take(&blocks[i], i, 0)
		for j := range blocks[i].Content {
			take(&blocks[i].Content[j], i, j)
		}
	}
	return all
}

// gallery remembers the pictures of a session's messages, whose bytes stay in the store. It is safe for concurrent use;
// its lock is a leaf. It grows with the transcript, like the heads of the messages.
type gallery struct {
	mu    sync.Mutex
	known map[string][]picture // by the message's id; of messages that were looked at, also of those without pictures
}

func (g *gallery) add(m *history.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = make(map[string][]picture)
	}
	g.known[m.ID] = picturesOf(m.Blocks)
}

func (g *gallery) of(message string) []picture {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[message]
}

// unseen returns the heads of the messages that were not looked at.
func (g *gallery) unseen(view []history.Viewed) (heads []history.Head) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range view {
		if _, known := g.known[view[i].ID]; !known {
			heads = append(heads, view[i].Head)
		}
	}
	return heads
}

// seePictures looks at the messages that were stored before the session was loaded, and puts placeholders in the place of
// the pictures that the model cannot take.
func (s *snapshot) seePictures(ctx context.Context) error {
	for heads := s.gallery.unseen(s.view); len(heads) > 0; {
		var seqs []int64
		seqs, heads = history.Page(heads, pageBytes)
		messages, err := s.deps.Store.Messages(ctx, s.session, seqs)
		if err != nil {
			return fmt.Errorf("read the history of session %s: %w: %w", s.session, ErrStorage, err)
		}
		for i := range messages {
			s.gallery.add(&messages[i])
		}
	}
	s.view = s.withPatches(s.view, s.pictures(s.view, func(p *picture) string { return p.unfit(&s.model) }))
	return nil
}

// pictures returns the patches that leave out the pictures of messages for which reason is not empty.
func (s *snapshot) pictures(view []history.Viewed, reason func(*picture) string) (patches []history.Patch) {
	for i := range view {
		for _, p := range s.gallery.of(view[i].ID) {
			if !p.shownIn(&view[i]) {
				continue
			}
			if reason := reason(&p); reason != "" {
				patches = append(patches, p.patch(view[i].ID, reason, s.counter))
			}
		}
	}
	return patches
}

// withPatches returns messages with further patches. view is not changed.
func (s *snapshot) withPatches(view []history.Viewed, patches []history.Patch) []history.Viewed {
	if len(patches) == 0 {
		return view
	}
	of := make(map[string][]history.Patch)
	for _, p := range patches {
		of[p.Message] = append(of[p.Message], p)
	}
	view = slices.Clone(view)
	for i := range view {
		for _, p := range of[view[i].ID] {
			view[i] = patched(view[i], p)
		}
	}
	return view
}

// oldestPictures returns the patches that leave out the oldest pictures of messages until save bytes are saved, or there is
// no further picture.
func (s *snapshot) oldestPictures(view []history.Viewed, save int) []history.Patch {
	return s.pictures(view, func(p *picture) string {
		if save <= 0 {
			return ""
		}
		save -= p.size()
		return reasonRequestTooLarge
	})
}

// newPictures returns the patches that leave out, for a reason, the pictures of messages behind held, a sequence number.
func (s *snapshot) newPictures(view []history.Viewed, held int64, reason string) []history.Patch {
	first := slices.IndexFunc(view, func(v history.Viewed) bool { return v.Seq > held })
	if first < 0 {
		return nil
	}
	return s.pictures(view[first:], func(*picture) string { return reason })
}

// fitBytes leaves out the oldest pictures where the request would be larger than the model takes, down to a share of that
// so that it does not come again at each request. The newest message keeps its pictures as long as the others suffice. It
// returns the share of the pieces that the limit still allows, 1 for all of them.
func (s *snapshot) fitBytes(b *built, pieces []piece) ([]piece, float64) {
	limit := requestBytes(&s.model)
	all := s.bytes(pieces)
	if limit == 0 || all <= limit {
		return pieces, 1
	}
	newest := newestMessage(pieces)
	for i := range pieces {
		goal := int(float64(limit) * shedTo)
		if i == newest {
			goal = limit
		}
		now := s.withPatches(pieces[i].messages, s.oldestPictures(pieces[i].messages, all-goal))
		saved := s.replaceMessages(b, &pieces[i], now)
		all -= saved
	}
	return pieces, min(float64(limit)/float64(max(all, 1)), 1)
}

// replaceMessages makes a piece of the conversation show its messages with further patches, notes these as edits and returns
// the bytes that they save.
func (s *snapshot) replaceMessages(b *built, p *piece, now []history.Viewed) (saved int) {
	before := s.bytes([]piece{*p})
	for i := range now {
		if further := now[i].Patches[len(p.messages[i].Patches):]; len(further) > 0 {
			b.fitting.cuts = append(b.fitting.cuts, further...)
			b.leftOut = append(b.leftOut, patchesLeftOut(now[i].ID, further)...)
		}
	}
	if len(now) == 0 {
		return 0
	}
	changed := messagePiece(now)
	changed.priority, changed.pinned = p.priority, p.pinned
	*p = changed
	return before - s.bytes([]piece{*p})
}

// bytes is about what pieces add to the body of a request.
func (s *snapshot) bytes(pieces []piece) int {
	sum := 0
	for i := range pieces {
		p := &pieces[i]
		switch {
		case p.file != nil:
			sum += len(p.file.Text)
		default:
			sum += len(p.text)
		}
		for j := range p.messages {
			sum += s.messageBytes(&p.messages[j])
		}
	}
	return sum
}

// messageBytes is about what a message adds to the body of a request.
func (s *snapshot) messageBytes(v *history.Viewed) int {
	n := v.Bytes
	for _, p := range s.gallery.of(v.ID) {
		if !p.shownIn(v) {
			n -= p.size()
		}
	}
	return n
}

// patchesLeftOut names what patches keep out of a message, once for each reason.
func patchesLeftOut(message string, patches []history.Patch) (out []LeftOut) {
	for _, p := range patches {
		reason := reasonDuplicate
		if p.Origin == reasonCut || isPictureReason(p.Origin) {
			reason = p.Origin
		}
		i := slices.IndexFunc(out, func(l LeftOut) bool { return l.Reason == reason })
		if i < 0 {
			out = append(out, LeftOut{Key: "msg:" + message, Reason: reason})
			i = len(out) - 1
		}
		out[i].Tokens += p.Saved
	}
	return out
}

// typed returns blocks whose pictures have the type that their bytes say: providers refuse a wrong one, and what was stored
// long ago may have one. blocks is not changed.
func typed(blocks []history.Block) []history.Block {
	cloned := false
	for i := range blocks {
		b := blocks[i]
		if b.Type == history.BlockImage {
			if mime, _, _, ok := tokens.Picture(b.Data); ok {
				b.MIME = mime
			}
		}
		if len(b.Content) > 0 {
			b.Content = typed(b.Content)
		}
		if b.MIME == blocks[i].MIME && (len(b.Content) == 0 || &b.Content[0] == &blocks[i].Content[0]) {
			continue
		}
		if !cloned {
			blocks, cloned = slices.Clone(blocks), true
		}
		blocks[i] = b
	}
	return blocks
}

// namedPictures names the pictures that patches leave out to a user, the first few of them.
func (s *snapshot) namedPictures(patches []history.Patch) string {
	const most = 3
	var names []string
	for _, patch := range patches {
		for _, p := range s.gallery.of(patch.Message) {
			if p.block == patch.Block && p.part == patch.Part {
				names = append(names, p.name())
			}
		}
	}
	if further := len(names) - most; further > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", further))
	}
	return strings.Join(names, "; ")
}
