package content

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// The reasons for which a request has a placeholder instead of a picture. The first two depend on the model; the other two
// are stored, so that the next requests begin with the same bytes.
const (
	ReasonNoVision        = "no_vision"         // the model sees no pictures
	ReasonPictureTooLarge = "picture_too_large" // for the model
	ReasonRequestTooLarge = "request_too_large" // for the provider, or for the limit of the model: the oldest pictures leave
	ReasonPictureRefused  = "picture_refused"   // by the provider
)

// IsPictureReason reports whether a patch with this origin is the placeholder of a picture.
func IsPictureReason(origin string) bool {
	switch origin {
	case ReasonNoVision, ReasonPictureTooLarge, ReasonRequestTooLarge, ReasonPictureRefused:
		return true
	}
	return false
}

// Picture is what a request needs to know of a picture in a stored message.
type Picture struct {
	block, part   int // as in a history.Patch
	mime          string
	bytes         int // before base64
	width, height int
	tokens        int // that it was counted for
}

// size is what the picture adds to a request, in bytes.
func (p *Picture) size() int { return p.bytes * 4 / 3 }

// placeholder is what a request holds for the picture. The wording is the one of package llm.
func (p *Picture) placeholder() string {
	return fmt.Sprintf("[picture: %s; not shown to this model]", p.name())
}

// name describes the picture to a user: its type and its size in pixels.
func (p *Picture) name() string {
	if p.width > 0 && p.height > 0 {
		return fmt.Sprintf("%s, %d x %d", p.mime, p.width, p.height)
	}
	return p.mime
}

// unfit returns the reason for which a model cannot take the picture, empty where it can.
func (p *Picture) unfit(m *llm.Model) string {
	limit := m.Pictures
	switch {
	case !m.Vision:
		return ReasonNoVision
	case limit.Bytes > 0 && p.bytes > limit.Bytes, limit.Pixels > 0 && max(p.width, p.height) > limit.Pixels:
		return ReasonPictureTooLarge
	}
	return ""
}

// patch returns the patch that puts a placeholder in the place of the picture, which is in a message with the given id.
func (p *Picture) patch(message, reason string, counter *tokens.Counter) history.Patch {
	text := p.placeholder()
	return history.Patch{
		Message: message, Block: p.block, Part: p.part, Text: text, Saved: max(p.tokens-counter.Count(text), 0), Origin: reason,
	}
}

// shownIn reports whether a message of the view shows the picture, and no patch in its place.
func (p *Picture) shownIn(v *history.Viewed) bool {
	return !slices.ContainsFunc(v.Patches, func(patch history.Patch) bool { return patch.Block == p.block && patch.Part == p.part })
}

// picturesOf returns the pictures in the blocks of a message.
func picturesOf(blocks []history.Block) (all []Picture) {
	take := func(b *history.Block, block, part int) {
		if b.Type == history.BlockImage {
			all = append(all, Picture{
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

// Gallery remembers the pictures of a session's messages, whose bytes stay in the store. It is safe for concurrent use;
// its lock is a leaf. It grows with the transcript, like the heads of the messages.
type Gallery struct {
	mu    sync.Mutex
	known map[string][]Picture // by the message's id; of messages that were looked at, also of those without pictures
	shown bool                 // one of them has pictures

	looked []history.Viewed // a view whose messages are all known
}

// Add notes the pictures of a message.
func (g *Gallery) Add(m *history.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = make(map[string][]Picture)
	}
	pictures := picturesOf(m.Blocks)
	g.known[m.ID] = pictures
	g.shown = g.shown || len(pictures) > 0
}

// Forget drops what Add noted of a message that could not be stored.
func (g *Gallery) Forget(message string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.known, message)
}

func (g *Gallery) of(message string) []Picture {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[message]
}

// Unseen returns the heads of the messages that were not added.
func (g *Gallery) Unseen(view []history.Viewed) (heads []history.Head) {
	g.mu.Lock()
	defer g.mu.Unlock()
	from := 0
	if n := len(g.looked); n > 0 && n <= len(view) && &g.looked[0] == &view[0] {
		from = n // the same memory: messages were appended
	}
	for i := from; i < len(view); i++ {
		if _, known := g.known[view[i].ID]; !known {
			heads = append(heads, view[i].Head)
		}
	}
	if len(heads) == 0 {
		g.looked = view
	}
	return heads
}

// empty reports whether no message that was looked at has a picture.
func (g *Gallery) empty() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.shown
}

// patches returns the patches that omit the pictures of messages for which reason is not empty.
func (g *Gallery) patches(view []history.Viewed, counter *tokens.Counter, reason func(*Picture) string) (patches []history.Patch) {
	if g.empty() {
		return nil
	}
	for i := range view {
		for _, p := range g.of(view[i].ID) {
			if !p.shownIn(&view[i]) {
				continue
			}
			if reason := reason(&p); reason != "" {
				patches = append(patches, p.patch(view[i].ID, reason, counter))
			}
		}
	}
	return patches
}

// WithPatches returns messages with further patches. view is not changed.
func WithPatches(view []history.Viewed, patches []history.Patch) []history.Viewed {
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
			view[i] = Patched(view[i], p)
		}
	}
	return view
}

// Unfit returns the patches that omit the pictures of messages that a model cannot take.
func (g *Gallery) Unfit(view []history.Viewed, model *llm.Model, counter *tokens.Counter) []history.Patch {
	return g.patches(view, counter, func(p *Picture) string { return p.unfit(model) })
}

// Oldest returns the patches that omit the oldest pictures of messages until save bytes are saved, or there is no further
// picture.
func (g *Gallery) Oldest(view []history.Viewed, save int, counter *tokens.Counter) []history.Patch {
	return g.patches(view, counter, func(p *Picture) string {
		if save <= 0 {
			return ""
		}
		save -= p.size()
		return ReasonRequestTooLarge
	})
}

// After returns the patches that omit, for a reason, the pictures of messages after a sequence number.
func (g *Gallery) After(view []history.Viewed, seq int64, reason string, counter *tokens.Counter) []history.Patch {
	later := slices.DeleteFunc(slices.Clone(view), func(v history.Viewed) bool { return v.Seq <= seq })
	return g.patches(later, counter, func(*Picture) string { return reason })
}

// Bytes returns the approximate size of a message of the view in the body of a request.
func (g *Gallery) Bytes(v *history.Viewed) int {
	n := v.Bytes
	if len(v.Patches) == 0 {
		return n // all pictures are shown
	}
	for _, p := range g.of(v.ID) {
		if !p.shownIn(v) {
			n -= p.size()
		}
	}
	return n
}

// Typed returns blocks whose pictures have the type of their bytes: providers refuse a wrong type, and an old message may
// have one. blocks is not changed.
func Typed(blocks []history.Block) []history.Block {
	cloned := false
	for i := range blocks {
		b := blocks[i]
		if b.Type == history.BlockImage {
			if mime, _, _, ok := tokens.Picture(b.Data); ok {
				b.MIME = mime
			}
		}
		if len(b.Content) > 0 {
			b.Content = Typed(b.Content)
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

// Names names the pictures that patches omit for a user, the first few of them.
func (g *Gallery) Names(patches []history.Patch) string {
	const most = 3
	var names []string
	for _, patch := range patches {
		for _, p := range g.of(patch.Message) {
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
