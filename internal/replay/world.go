package replay

import (
	"fmt"
	"sort"

	"strata/stability"
)

// The numbers of "Replaying a turn" in testdata/README.md.
const (
	fileHeader      = 15     // tokens before a file's text
	compactAbove    = 40_000 // tokens of all messages
	compactMessages = 6      // no compaction with this many or fewer
	keepMessages    = 4
	summaryTokens   = 1200
)

// world is the state of a recorded session between two of its turns.
type world struct {
	sys      int
	tools    int
	files    []file
	messages []stability.Item
	turns    int
}

// file is the file at one path.
type file struct {
	tokens, outline   int
	hash, outlineHash int64
	exists, full      bool

	// All versions of the file, with the total tokens of the diffs up to each.
	versions []version
}

type version struct {
	hash  int64
	diffs int
}

func newWorld(h *header) *world {
	w := &world{sys: h.Sys, tools: h.Tools, files: make([]file, len(h.Files))}
	for i, f := range h.Files {
		tokens := int(f[fileTokens])
		w.files[i] = file{
			tokens: tokens, outline: int(f[fileOutline]), exists: tokens > 0, versions: []version{{}},
		}
	}
	return w
}

// clusters groups the outlines by folder, as a trace has no references.
func clusters(h *header) [][]string {
	byDir := map[float64][]string{}
	for i, f := range h.Files {
		byDir[f[fileDir]] = append(byDir[f[fileDir]], outlineKey(i))
	}
	dirs := make([]float64, 0, len(byDir))
	for dir := range byDir {
		dirs = append(dirs, dir)
	}
	sort.Float64s(dirs)
	out := make([][]string, len(dirs))
	for i, dir := range dirs {
		out[i] = byDir[dir]
	}
	return out
}

// Keys sort like their paths.
func fileKey(i int) string    { return fmt.Sprintf("file:%06d", i) }
func outlineKey(i int) string { return fmt.Sprintf("outline:%06d", i) }

// ask runs the part of a turn before its request.
func (w *world) ask(u *turn) {
	for _, i := range u.Out {
		w.files[i].full = false
	}
	for _, i := range u.In {
		w.files[i].full = w.files[i].exists
	}
	w.say("user", u.User, true)
}

// act adds a step of the current turn, counted from 0.
func (w *world) act(s step, number int) {
	w.say(fmt.Sprintf("step%d", number), s.tokens(), false)
	last := &w.messages[len(w.messages)-1]
	last.Open, last.Blocks = true, 1+2*(len(s)-stepResults)
}

// answer runs the part of a turn after its request.
func (w *world) answer(u *turn) {
	w.say("reply", u.Reply, false)
	for _, e := range u.Edits {
		w.files[e[editFile]].edit(e)
	}
	for _, i := range u.Deleted {
		w.files[i].exists, w.files[i].full = false, false
	}
	w.turns++
	w.compact(u.Compact == 1)
}

func (w *world) say(who string, tokens int, user bool) {
	name := fmt.Sprintf("%s:%d", who, w.turns)
	w.messages = append(w.messages, stability.Item{
		Key: "msg:" + name, Kind: stability.Message, Hash: name, Tokens: tokens, User: user,
	})
}

func (f *file) edit(e []int64) {
	f.full = f.full || !f.exists
	f.exists = true
	f.tokens, f.hash = int(e[editTokens]), e[editHash]
	if e[editOutline] > 0 {
		f.outline, f.outlineHash = int(e[editOutline]), e[editOutlineHash]
	}
	last := f.versions[len(f.versions)-1]
	f.versions = append(f.versions, version{f.hash, last.diffs + int(e[editDiff])})
}

// compact replaces all but the last messages with a summary if they have too many tokens or the user requests it.
func (w *world) compact(asked bool) {
	tokens := 0
	for i := range w.messages {
		tokens += w.messages[i].Tokens
	}
	if len(w.messages) <= compactMessages || tokens <= compactAbove && !asked {
		return
	}
	name := fmt.Sprintf("summary:%d", w.turns)
	summary := stability.Item{Key: name, Kind: stability.Summary, Hash: name, Tokens: summaryTokens}
	from := len(w.messages) - keepMessages
	for from > 0 && !w.messages[from].User { // steps stay with their prompt
		from--
	}
	if from == 0 {
		return
	}
	w.messages = append([]stability.Item{summary}, w.messages[from:]...)
}

// items returns the items of the next request.
func (w *world) items() []stability.Item {
	out := []stability.Item{{Key: "system", Kind: stability.System, Hash: "system", Tokens: w.sys}}
	if w.tools > 0 {
		out = append(out, stability.Item{Key: "tools", Kind: stability.Tools, Hash: "tools", Tokens: w.tools})
	}
	for i := range w.files {
		switch f := &w.files[i]; {
		case !f.exists:
		case f.full:
			rev := fmt.Sprint(f.hash)
			out = append(out, stability.Item{
				Key: fileKey(i), Kind: stability.File, Rev: rev,
				Hash: fmt.Sprintf("file:%d@%s", i, rev), Tokens: fileHeader + f.tokens,
			})
		case f.outline > 0:
			out = append(out, stability.Item{
				Key: outlineKey(i), Kind: stability.Outline,
				Hash: fmt.Sprintf("outline:%d@%d", i, f.outlineHash), Tokens: f.outline,
			})
		}
	}
	return append(out, w.messages...)
}

// diff returns the diff from a version to the current one: its size is the sum of the edits in between.
func (w *world) diff(key, from, to string) (hash string, tokens int, ok bool) {
	var i int
	if _, err := fmt.Sscanf(key, "file:%d", &i); err != nil {
		return "", 0, false
	}
	versions := w.files[i].versions
	last := versions[len(versions)-1]
	for j := len(versions) - 1; j >= 0; j-- {
		if fmt.Sprint(versions[j].hash) == from {
			return fmt.Sprintf("diff:%d@%s..%s", i, from, to), last.diffs - versions[j].diffs, true
		}
	}
	return "", 0, false
}
