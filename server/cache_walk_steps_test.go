package server

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"strata/internal/testclient"
	"strata/internal/upstream"
)

// acted is a turn with steps of a random session.
type acted struct {
	names   []string          // of the model's messages, one for each request that is answered
	written map[string]string // texts by path, written during the first step
	edited  []editedFile      // by the model, in order
}

// editedFile is the text of a file after an edit of a step.
type editedFile struct {
	step       int
	path, text string
}

// turnOfSteps makes a turn whose steps read, search and edit, and checks each of its requests. The turn ends with a text, with a
// refusal of the provider, or because the user cancels it.
func (w *walk) turnOfSteps(text string) {
	w.t.Helper()
	if w.r.IntN(2) == 0 {
		w.addPlain(w.path())
	}
	said, sent, plans := slices.Clone(w.messages), w.upstream.Last(), len(w.planned.since(0))
	turn := acted{written: map[string]string{}}
	w.steps = nil
	for range w.r.IntN(7) {
		words := w.say(2)
		turn.names = append(turn.names, w.messages[len(w.messages)-1])
		w.steps = append(w.steps, script("call_"+fmt.Sprint(w.n), words, append(w.calls(), w.edits(&turn)...)...))
	}
	steps := len(turn.names)
	w.writeDuring(&turn)
	w.messages = said
	switch end := w.r.IntN(6); {
	case end == 0:
		w.did("prompt, %s, refused after %d steps", w.model, steps)
		w.steps = append(w.steps, upstream.Script{Status: 400})
		if _, err := w.editor.Prompt(w.sid, text); err == nil {
			w.t.Fatal("the provider refused, the prompt did not fail")
		}
	case end == 1:
		w.did("prompt, %s, cancelled after %d steps", w.model, steps)
		w.cancelled(text, w.finalOf(&turn))
	default:
		w.did("prompt, %s, with %d steps", w.model, steps)
		w.answer = w.finalOf(&turn)
		w.prompt(text)
	}
	w.checkSteps(&turn, sent, plans)
	if w.messages = append(said, turn.names...); len(turn.names) == 0 {
		w.failed[said[len(said)-1]] = true
	}
}

// writeDuring makes the text of a file change while the model replies to the first request of a turn with steps.
func (w *walk) writeDuring(turn *acted) {
	path := w.path()
	text, there := w.disk[path]
	edited := slices.ContainsFunc(turn.edited, func(e editedFile) bool { return e.path == path })
	if !there || edited || len(turn.names) == 0 || w.r.IntN(2) == 0 {
		w.during = nil
		return
	}
	w.did("edit %s in the first step", path)
	turn.written[path] = w.edited(text)
	w.during = func() {
		if err := os.WriteFile(filepath.Join(w.work, path), []byte(turn.written[path]), 0o600); err != nil {
			w.t.Error(err)
		}
	}
}

// edits returns calls that edit files of the context, each after the one before. Some undo the edit before them.
func (w *walk) edits(turn *acted) (calls []toolCall) {
	paths := slices.Sorted(maps.Keys(w.files))
	for range min(w.r.IntN(4), len(paths)) {
		path := paths[w.r.IntN(len(paths))]
		f, text := w.files[path], w.disk[path]
		for _, e := range turn.edited {
			if e.path == path {
				text = e.text
			}
		}
		if *f != (walkFile{}) || strings.Contains(text, "\r") {
			continue
		}
		old := w.lineOnce(text)
		if old == "" {
			continue
		}
		for next := w.lineOf(); ; next = w.lineOf() {
			if strings.Contains(text, next) {
				continue
			}
			edit := func(old, next string) {
				text = strings.Replace(text, old, next, 1)
				calls = append(calls, toolCall{"edit_file", map[string]any{"path": path, "edits": []any{map[string]any{"old_text": old, "new_text": next}}}})
				w.did("edit of step %d: %s", len(turn.names)-1, path)
				turn.edited = append(turn.edited, editedFile{len(turn.names) - 1, path, text})
			}
			edit(old, next)
			if w.r.IntN(5) == 0 {
				edit(next, old)
			}
			break
		}
	}
	return calls
}

// addPlain writes a file and adds it, with nothing that keeps messages from telling its changes.
func (w *walk) addPlain(path string) {
	w.did("write and add %s", path)
	var all []string
	for range 10 + w.r.IntN(60) {
		all = append(all, w.lineOf())
	}
	w.put(path, strings.Join(all, "\n")+"\n")
	w.call("_strata/files/remove", map[string]any{"path": path})
	w.call("_strata/files/add", map[string]any{"path": path})
	w.files[path] = &walkFile{}
}

func (w *walk) lineOf() string { return fmt.Sprintf("line %d of the text", w.r.IntN(500)) }

var textLine = regexp.MustCompile(`line \d+ of the text`)

// lineOnce returns a line that is in a text once, "" for none.
func (w *walk) lineOnce(text string) string {
	all := slices.DeleteFunc(textLine.FindAllString(text, -1), func(line string) bool { return strings.Count(text, line) > 1 })
	if len(all) == 0 {
		return ""
	}
	return all[w.r.IntN(len(all))]
}

// finalOf returns the text of the last message of a turn.
func (w *walk) finalOf(turn *acted) string {
	before := w.messages
	text := w.say(5)
	turn.names = append(turn.names, w.messages[len(w.messages)-1])
	w.messages = before
	return text
}

// cancelled sends a prompt and cancels the turn when the text of its last message has come, maybe with a call behind it.
func (w *walk) cancelled(text, last string) {
	w.t.Helper()
	var calls []toolCall
	if w.r.IntN(2) == 0 && !w.exact {
		calls = w.calls()
	}
	final := script("late_"+fmt.Sprint(w.n), last, calls...)
	final.Steps = append(final.Steps, upstream.Hold(nil))
	w.steps = append(w.steps, final)
	turn := w.editor.Start(w.sid, text)
	w.editor.Expect(testclient.Says(w.sid, testclient.AgentChunk, last))
	if err := w.editor.Cancel(w.sid); err != nil {
		w.t.Fatal(err)
	}
	if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
		w.t.Fatalf("cancelled: %+v, %v", reply.StopReason, err)
	}
}

// writeNotes writes the files that steps read.
func (w *walk) writeNotes() {
	for i := range 5 {
		w.write(fmt.Sprintf("note%d.txt", i), lines(fmt.Sprint("note ", i), 5+20*i))
	}
}

// calls returns the calls of a step: up to four that read, some of them twice the same, and some that fail. The first call of
// each step is another one: a model that repeats its calls is stopped.
func (w *walk) calls() (calls []toolCall) {
	note := fmt.Sprintf("note%d.txt", w.r.IntN(5))
	all := []toolCall{
		readOf(note), readOf("note0.txt"), readOf(note, 2, 4), searchOf("line [0-9]* of", "note*.txt"), searchOf("words", "note1.txt"), listOf(""),
		readOf("missing.txt"), {"fly", map[string]any{"to": "the moon"}}, {"read_file", map[string]any{"path": 7}},
	}
	if w.exact { // copies are removed if nothing is known to be cached, and a restart loses the knowledge of earlier caches
		all = all[2:]
	}
	calls = append(calls, searchOf(fmt.Sprintf("line %d of", w.n), "note*.txt"))
	for range w.r.IntN(4) {
		calls = append(calls, all[w.r.IntN(len(all))])
	}
	return calls
}

// checkSteps checks the requests of a turn: what they contain, and what was read of them from the cache. They follow the
// request before and the first plans.
func (w *walk) checkSteps(turn *acted, before *upstream.Request, plans int) {
	w.t.Helper()
	said := w.messages
	requests := w.upstream.Requests()
	if before != nil {
		requests = slices.DeleteFunc(requests, func(r *upstream.Request) bool { return r.N <= before.N })
	}
	planned := w.planned.since(plans)
	if len(planned) != len(requests) || len(requests) < len(turn.names) {
		w.t.Fatalf("%d requests were sent and %d planned for %d messages", len(requests), len(planned), len(turn.names))
	}
	reads := make(map[int]upstream.Read)
	for _, read := range w.cache.Reads() {
		reads[read.N] = read
	}
	for i, req := range requests {
		if i == 1 {
			maps.Copy(w.disk, turn.written)
		}
		for _, e := range turn.edited {
			if e.step == i-1 {
				w.disk[e.path] = e.text
			}
		}
		for path := range w.files {
			w.look(path)
			w.gone(path)
		}
		w.messages = append(slices.Clone(said), turn.names[:i]...)
		w.checkContent(req)
		if read, answered := reads[req.N]; answered {
			w.checkRead(read, planned[i], req)
		}
	}
	for path, text := range w.disk {
		if now, err := os.ReadFile(filepath.Join(w.work, path)); err != nil || string(now) != text {
			w.t.Fatalf("%s is %q, want %q: %v", path, now, text, err)
		}
	}
	if len(requests) == len(turn.names) { // otherwise there is no reply yet
		maps.DeleteFunc(w.files, func(_ string, f *walkFile) bool { return f.once })
	}
}
