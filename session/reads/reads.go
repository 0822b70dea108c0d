package reads

import (
	"slices"
	"sync"

	"strata/history"
)

// Block is a text in a tool result that shows lines of a file.
type Block struct {
	history.FileLines
	Place
	Seq  int64 // of the message
	Read bool  // the text is these lines; otherwise it contains them, as the result of a search does
}

// Place is where a block is.
type Place struct {
	Message     string // id
	Block, Part int    // as in a history.Patch
}

// Reads remembers which lines of files the tool results of a session's messages show, whose texts stay in the store, and how
// these files were on disk at the last look. A nil *Reads knows nothing. It is safe for concurrent use; its lock is a leaf. It
// grows with the transcript, like the heads of the messages.
type Reads struct {
	mu     sync.Mutex
	blocks map[string][]Block // by the message's id; only of messages that show lines
	files  []string           // paths of the files that were read, in the order of their first reads
	disk   map[string]onDisk  // by path, of the newest look
	notes  map[change]Note    // likewise
}

// Add notes what a message shows of files.
func (r *Reads) Add(m *history.Message) {
	if r == nil || m.Role != history.RoleTool {
		return
	}
	blocks := blocksOf(m)
	if len(blocks) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocks == nil {
		r.blocks = make(map[string][]Block)
	}
	r.blocks[m.ID] = blocks
	for i := range blocks {
		if path := blocks[i].Path; blocks[i].Read && !slices.Contains(r.files, path) {
			r.files = append(r.files, path)
		}
	}
}

func blocksOf(m *history.Message) (blocks []Block) {
	for i := range m.Blocks {
		if m.Blocks[i].Type != history.BlockToolResult {
			continue
		}
		for j := range m.Blocks[i].Content {
			part, at := &m.Blocks[i].Content[j], Place{m.ID, i, j}
			if part.File != nil {
				blocks = append(blocks, Block{FileLines: *part.File, Place: at, Seq: m.Seq, Read: true})
			}
			for _, lines := range part.Shows {
				blocks = append(blocks, Block{FileLines: lines, Place: at, Seq: m.Seq})
			}
		}
	}
	return blocks
}

// Files returns the paths of the files that were read in messages that were added, also in those that no view has any more.
func (r *Reads) Files() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.files)
}

// Shown returns the blocks that a view shows, oldest first.
func (r *Reads) Shown(view []history.Viewed) (shown []Block) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range view {
		v := &view[i]
		for _, b := range r.blocks[v.ID] {
			if !isPatched(v, b.Place) {
				shown = append(shown, b)
			}
		}
	}
	return shown
}

// isPatched reports whether a patch replaces the text at a place.
func isPatched(v *history.Viewed, at Place) bool {
	return slices.ContainsFunc(v.Patches, func(p history.Patch) bool { return p.Block == at.Block && p.Part == at.Part })
}
