package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/upstream"
	"strata/server/wire"
	"strata/session/compacting"
	"strata/stability"
)

var (
	walkSeed  = flag.Uint64("walkseed", 1, "seed of the random sessions on a caching provider")
	walkCount = flag.Int("walks", 2+2/less, "how many of them for each layout; every second one is restarted now and then")
)

// walk changes a session at random, and knows what its requests must contain. The changes depend only on the seed.
type walk struct {
	*stage
	r    *rand.Rand
	seed uint64

	model     string
	disk      map[string]string
	files     map[string]*walkFile // of the context
	documents map[string]string    // version by name
	messages  []string             // names
	failed    map[string]bool      // messages that are prompts without a reply
	n         int                  // for names and versions
	tools     bool                 // the model calls tools
	exact     bool                 // nothing depends on what of a cancelled reply has come, or on the known caches
	total     share
	trace     []string

	seq  int64    // sequence number to which the view can be restored; 0: none
	back []string // the messages in the view at that time
}

// walkFile is a file of the session.
type walkFile struct {
	buffer   *string // the client's unsaved text
	base     *string // text on disk when it came; nil: the file was missing
	from, to int     // lines; 0: all
	numbered bool
	once     bool
}

func newWalk(t *testing.T, layout string, seed uint64) *walk {
	w := &walk{
		stage: newStage(t, layout, func(opt *Options) {
			opt.Sessions.SummaryModel = "local/x"
			if seed%2 == 1 {
				withOutlines(t)(opt)
			}
			if hasTools(seed) {
				withTools(opt)
			}
		}), r: rand.New(rand.NewPCG(seed, 7)), seed: seed, tools: hasTools(seed), model: "claude/a",
		disk: map[string]string{}, files: map[string]*walkFile{}, documents: map[string]string{}, failed: map[string]bool{},
	}
	if w.tools {
		w.writeNotes()
		w.call("session/set_config_option", map[string]any{"configId": "approval", "value": "edits"})
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("steps:\n%s", strings.Join(w.trace, "\n"))
		}
	})
	return w
}

// hasTools reports whether the model has tools in the walk of a seed.
func hasTools(seed uint64) bool { return seed%4 >= 2 }

func (w *walk) did(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// ask returns the text of a message of the user. A prompt before it that failed without a reply leaves the view.
func (w *walk) ask(words int) (text string) {
	if n := len(w.messages); n > 0 && w.failed[w.messages[n-1]] {
		w.messages = w.messages[: n-1 : n-1]
	}
	return w.say(words)
}

// say returns a text that contains a new name for a message.
func (w *walk) say(words int) (text string) {
	w.n++
	name := fmt.Sprintf("MSG %d", w.n)
	w.messages = append(w.messages, name)
	return name + " " + strings.Repeat("and so on ", words)
}

var walkPaths = []string{"a.go", "b.go", "c.md", "lib/d.go", "lib/ünï code.txt", "e.crlf", "f.sh", "g"}

func (w *walk) path() string { return walkPaths[w.r.IntN(len(walkPaths))] }

// line returns one of a few lines, so that texts have many lines in common.
func (w *walk) line() string {
	all := []string{"x := 1", "", "// comment ünï", "```", "````go", "+added?", "-gone?", " indented", "@@ -1 +1 @@", `\ No newline`, "--- a", "+++ b", "}"}
	if w.r.IntN(3) > 0 {
		return fmt.Sprintf("line %d of the text", w.r.IntN(500))
	}
	return all[w.r.IntN(len(all))]
}

// text returns new content for a file.
func (w *walk) text() string {
	var all []string
	for range w.r.IntN(60) {
		all = append(all, w.line())
	}
	return w.joined(all)
}

func (w *walk) joined(all []string) string {
	end := "\n"
	if w.r.IntN(8) == 0 {
		end = "\r\n"
	}
	text := strings.Join(all, end)
	if len(all) > 0 && w.r.IntN(5) > 0 {
		text += end
	}
	return text
}

// edited returns a text with some lines changed.
func (w *walk) edited(text string) string {
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for range 1 + w.r.IntN(4) {
		at := w.r.IntN(len(all) + 1)
		switch w.r.IntN(3) {
		case 0:
			all = slices.Insert(all, at, w.line())
		case 1:
			if at < len(all) && len(all) > 1 {
				all = slices.Delete(all, at, at+1)
			}
		default:
			if at < len(all) {
				all[at] = w.line()
			}
		}
	}
	if w.r.IntN(6) == 0 {
		return strings.Join(all, "\n")
	}
	return strings.Join(all, "\n") + "\n"
}

func (w *walk) put(path, text string) {
	w.t.Helper()
	w.disk[path] = text
	full := filepath.Join(w.work, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// act makes one random change that is not a request.
func (w *walk) act() {
	w.t.Helper()
	path := w.path()
	switch n := w.r.IntN(27); n {
	case 0, 1:
		w.did("write %s", path)
		w.put(path, w.text())
	case 2, 3, 4, 5, 6:
		if text, ok := w.disk[path]; ok {
			w.did("edit %s", path)
			w.put(path, w.edited(text))
		}
	case 7:
		w.did("delete %s", path)
		delete(w.disk, path)
		os.Remove(filepath.Join(w.work, path))
	case 8, 9, 10, 11:
		w.add(path)
	case 12, 13:
		w.did("take out %s", path)
		delete(w.files, path)
		w.call("_strata/files/remove", map[string]any{"path": path})
	case 14:
		w.did("set back %s", path)
		if f := w.files[path]; f != nil && f.buffer != nil {
			f.buffer = nil
			w.gone(path)
		}
		w.call("_strata/files/changed", map[string]any{"paths": []string{path}})
		w.gone(path)
	case 15, 16:
		w.document()
	case 17:
		name := w.documentName()
		w.did("remove document %s", name)
		delete(w.documents, name)
		w.call("_strata/documents/remove", map[string]any{"name": name})
	case 18:
		w.n++
		w.did("rules v%d", w.n)
		w.documents["rules"] = fmt.Sprint(w.n)
		w.put("AGENTS.md", fmt.Sprintf("DOC rules v%d %s", w.n, strings.Repeat("obey ", 20)))
	case 19:
		w.did("append")
		w.stage.say(message("user", w.ask(20)), message("assistant", w.say(10)))
	case 20, 21:
		n := 1 + w.r.IntN(5)
		w.did("append %d calls", n)
		if len(w.messages) == 0 {
			w.stage.say(message("user", w.ask(5)))
		}
		w.stage.say(w.batch(n)...)
	case 22:
		if w.r.IntN(4) == 0 {
			w.did("clear")
			w.messages = nil
			w.call("_strata/history/clear", nil)
		}
	case 23:
		if w.r.IntN(4) == 0 {
			w.did("take all files out")
			clear(w.files)
			w.call("_strata/files/clear", nil)
		}
	case 24:
		w.did("checkpoint")
		w.back = slices.Clone(w.messages)
		w.seq = call[struct{ Seq int64 }](w.testServer, w.editor, "_strata/checkpoint/create", w.sid, map[string]any{"name": "here"}).Seq
	case 25:
		if w.seq > 0 && w.r.IntN(2) == 0 {
			w.did("restore")
			w.messages = slices.Clone(w.back)
			w.call("_strata/checkpoint/restore", map[string]any{"seq": w.seq})
		}
	case 26:
		if w.r.IntN(3) == 0 {
			w.compact([]string{"topic", "rolling", "prune"}[w.r.IntN(3)])
		}
	}
}

// compact compacts the history, and reads which messages remain.
func (w *walk) compact(strategy string) {
	w.answer = "This was said before."
	done := call[compacting.Result](w.testServer, w.editor, "_strata/history/compact", w.sid, map[string]any{"strategy": strategy})
	w.did("compact, %s: %s", strategy, done.Outcome)
	w.messages = nil
	for cursor := ""; ; {
		page := call[struct {
			Messages   []wire.Message
			NextCursor string
		}](w.testServer, w.editor, "_strata/history/list", w.sid, map[string]any{"cursor": cursor, "limit": 100})
		var names []string
		for _, m := range page.Messages {
			if text, err := json.Marshal(m.Blocks); err == nil && m.InView {
				names = append(names, messageName.FindAllString(string(text), -1)...)
			}
		}
		w.messages = append(names, w.messages...)
		if cursor = page.NextCursor; cursor == "" {
			return
		}
	}
}

// batch returns tool calls and their results, with names.
func (w *walk) batch(n int) []map[string]any {
	w.n++
	name := fmt.Sprint(w.n)
	return toolBatch(name, n, func(int) string { return w.say(8) })
}

func (w *walk) add(path string) {
	text, there := w.disk[path]
	params := map[string]any{"path": path}
	f := &walkFile{}
	w.look(path)
	if old := w.files[path]; old != nil && old.buffer != nil { // the client's text applies until the disk has a newer one
		f.buffer, f.base, text, there = old.buffer, old.base, *old.buffer, true
	}
	switch w.r.IntN(8) {
	case 0:
		buffer := w.edited(text)
		f.buffer, f.base, there = &buffer, nil, true
		if now, onDisk := w.disk[path]; onDisk {
			f.base = &now
			if strings.ReplaceAll(now, "\r\n", "\n") == strings.ReplaceAll(buffer, "\r\n", "\n") {
				f.buffer = nil
			}
		}
		params["content"] = buffer
	case 1:
		f.from = 1 + w.r.IntN(5)
		f.to = f.from + w.r.IntN(10)
		params["range"] = map[string]int{"start": f.from, "end": f.to}
	case 2:
		f.numbered = true
		params["lineNumbers"] = true
	case 3:
		f.once = true
		params["once"] = true
	}
	params["sessionId"] = w.sid
	err := w.editor.Call("_strata/files/add", params, nil)
	w.did("add %s %v: %v", path, params, err)
	if there && err == nil {
		w.files[path] = f
	} else if there && f.from == 0 {
		w.t.Fatalf("add %s: %v", path, err)
	} else if !there && err == nil {
		w.t.Fatalf("%s was added and is not there", path)
	}
}

// look gives up a client's text if the file on disk has changed since it came.
func (w *walk) look(path string) {
	f := w.files[path]
	if f == nil || f.buffer == nil {
		return
	}
	if now, there := w.disk[path]; there && (f.base == nil || *f.base != now) {
		f.buffer = nil
	}
}

// gone removes a file that no longer exists on disk.
func (w *walk) gone(path string) {
	if f := w.files[path]; f != nil && f.buffer == nil {
		if _, there := w.disk[path]; !there {
			delete(w.files, path)
		}
	}
}

func (w *walk) documentName() string {
	return []string{"design", "state", "types", "structure", "unit"}[w.r.IntN(5)]
}

func (w *walk) document() {
	name := w.documentName()
	w.n++
	w.did("document %s v%d", name, w.n)
	w.documents[name] = fmt.Sprint(w.n)
	w.call("_strata/documents/set", map[string]any{
		"name": name, "text": fmt.Sprintf("DOC %s v%d %s", name, w.n, strings.Repeat("so it is ", 5+w.r.IntN(60))), "priority": w.r.IntN(3) * 40,
	})
}

// turn makes one request, from the server or as a frontend, and checks it.
func (w *walk) turn() {
	w.t.Helper()
	text := w.ask(5 + w.r.IntN(30))
	kind := w.r.IntN(12)
	switch {
	case kind == 0:
		w.did("refused prompt")
		w.upstream.Push(upstream.Script{Status: 400})
		if _, err := w.editor.Prompt(w.sid, text); err == nil {
			w.t.Fatal("the provider refused, the prompt did not fail")
		}
		w.checkHeld()
		w.failed[w.messages[len(w.messages)-1]] = true
		return
	case kind < 4:
		w.did("own call, %s", w.model)
		w.stage.say(message("user", text))
		tools := []any{map[string]any{"name": "look"}, map[string]any{"name": "also"}, map[string]any{"name": "find"}}[:1+w.r.IntN(3)]
		w.r.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		said := slices.Clone(w.messages)
		var answer []map[string]any
		if w.r.IntN(2) == 0 {
			answer = w.batch(1 + w.r.IntN(14))
		} else {
			answer = append(answer, message("assistant", w.say(10)))
		}
		answered := w.messages
		w.messages = said
		w.own(tools, answer...)
		w.checkHeld()
		w.messages = answered
	case kind < 8 && w.tools:
		w.turnOfSteps(text)
		return
	default:
		w.did("prompt, %s", w.model)
		said := slices.Clone(w.messages)
		w.answer = w.say(5 + w.r.IntN(40))
		answered := w.messages
		w.messages = said
		w.prompt(text)
		w.checkHeld()
		w.messages = answered
	}
	maps.DeleteFunc(w.files, func(_ string, f *walkFile) bool { return f.once })
	w.checkCache()
}

// checkCache compares the tokens read from the cache with the expected ones.
func (w *walk) checkCache() {
	w.t.Helper()
	w.checkRead(w.cache.Last(), w.planned.last(), w.upstream.Last())
}

// checkRead compares the tokens read for a request from the cache with the expected ones.
func (w *walk) checkRead(read upstream.Read, plan plannedRequest, req *upstream.Request) {
	w.t.Helper()
	when := fmt.Sprint("request ", req.N)
	if strings.HasPrefix(w.model, "claude/") {
		w.total.add(w.asExpected(when, read, plan, req).Usage)
	} else if read := read.Usage.CacheRead; int64(read) < plan.expected*95/100-128 && plan.expected > 1200 {
		w.t.Errorf("%s: %d tokens were read, %d were expected", when, read, plan.expected)
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// checkHeld compares the content of the newest request with the expected content.
func (w *walk) checkHeld() {
	w.t.Helper()
	for path := range w.files {
		w.look(path)
		w.gone(path)
	}
	w.checkContent(w.upstream.Last())
}

// checkContent compares the content of a request with the expected content.
func (w *walk) checkContent(req *upstream.Request) {
	w.t.Helper()
	s, err := readRequest(req, w.layout == stability.LayoutLog)
	if err == nil {
		maps.DeleteFunc(s.files, func(path string, _ []shownFile) bool { return strings.HasPrefix(path, "note") }) // read by tools
		err = w.compare(s)
	}
	if err != nil {
		w.t.Fatalf("request %d: %v\n%s", req.N, err, req.Body)
	}
}

func (w *walk) compare(s *shown) error {
	if !slices.Equal(s.messages, w.messages) {
		return fmt.Errorf("messages are %v, want %v", s.messages, w.messages)
	}
	for name, version := range w.documents {
		if err := once("document "+name, s.documents[name], version); err != nil {
			return err
		}
	}
	for name, versions := range s.documents {
		if w.documents[name] == "" == (s.gone[name] < len(versions)) {
			return fmt.Errorf("document %s occurs %d times, exists: %v, notes revoke %d", name, len(versions), w.documents[name] != "", s.gone[name])
		}
	}
	available := map[string]string{}
	for path, f := range w.files {
		if err := w.compareFile(s, path, f); err != nil {
			return err
		}
		available[path] = "FULL"
		if f.from > 0 {
			available[path] = "SUMMARY"
		}
	}
	if !maps.Equal(s.available, available) {
		return fmt.Errorf("the notes list the files %v, want %v", s.available, available)
	}
	if w.layout == stability.LayoutRipple {
		return w.compareLean(s)
	}
	return nil
}

func (w *walk) compareFile(s *shown, path string, f *walkFile) error {
	text := w.disk[path]
	if f.buffer != nil {
		text = *f.buffer
	}
	all := splitLines(text)
	from, to := max(f.from-1, 0), len(all)
	if f.from > 0 {
		from, to = min(from, len(all)), min(f.to, len(all))
	}
	want := ""
	for i := from; i < to; i++ {
		if f.numbered {
			want += fmt.Sprintf("%d\t", i+1)
		}
		want += all[i]
	}
	var versions []string
	for _, v := range s.files[path] {
		heading := ""
		if _, lines, part := strings.Cut(v.heading, "lines "); part {
			heading = lines + ": "
		}
		versions = append(versions, heading+v.text)
	}
	if f.from > 0 {
		if n := len(versions); n > 0 && strings.Contains(versions[n-1], " of ") {
			heading, _, _ := strings.Cut(versions[n-1], ": ")
			want = heading + ": " + want
		}
	}
	return once(path, versions, want)
}

// compareLean checks that the request contains nothing that is not needed: this layout removes unused items
// immediately.
func (w *walk) compareLean(s *shown) error {
	for path, versions := range s.files {
		if w.files[path] == nil || len(versions) > 1 {
			return fmt.Errorf("%s is shown %d times, in context: %v", path, len(versions), w.files[path] != nil)
		}
	}
	for name, versions := range s.documents {
		if w.documents[name] == "" || len(versions) > 1 {
			return fmt.Errorf("document %s is shown %d times, there: %v", name, len(versions), w.documents[name] != "")
		}
	}
	return nil
}

// step makes some changes and then a request.
func (w *walk) step() {
	for range w.r.IntN(5) {
		w.act()
	}
	pause := []time.Duration{1, 1, 1, 1, 1, 2, 2, 6, 20, 70}[w.r.IntN(10)] * time.Minute
	w.clock.advance(pause)
	w.turn()
}

// TestRandomSessionsOnACachingProvider compares each request of random sessions with the expected content, and the
// tokens that the provider reads from its cache with the expected ones.
func TestRandomSessionsOnACachingProvider(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			seed := *walkSeed
			var total share
			for i := range *walkCount {
				if !t.Run(fmt.Sprintf("seed=%d", seed+uint64(i)), func(t *testing.T) {
					w := newWalk(t, layout, seed+uint64(i))
					for range 30 {
						switch n := w.r.IntN(12); {
						case n == 0 && i%2 == 1:
							w.did("restart")
							w.restart()
							w.more = true
						case n == 1:
							w.model = []string{"claude/a", "claude/b", "local/x"}[w.r.IntN(3)]
							w.did("model %s", w.model)
							w.choose(w.model)
						}
						w.step()
					}
					total.read += w.total.read
					total.input += w.total.input
				}) {
					t.Fatalf("repeat with -args -walks=%d -walkseed=%d", i+1, seed)
				}
			}
			t.Log(total)
		})
	}
}

// TestRestartsChangeNoByte runs the same script on two servers, restarts one of them now and then, and compares all
// requests.
func TestRestartsChangeNoByte(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		for seed := *walkSeed; seed < *walkSeed+2; seed++ {
			t.Run(fmt.Sprintf("%s seed=%d", layout, seed), func(t *testing.T) { compareRestarted(t, layout, seed) })
		}
	}
}

func compareRestarted(t *testing.T, layout string, seed uint64) {
	plain, restarted := newWalk(t, layout, seed), newWalk(t, layout, seed)
	plain.exact, restarted.exact = true, true
	when := rand.New(rand.NewPCG(seed, 8))
	for range 40 {
		plain.step()
		if when.IntN(4) == 0 {
			restarted.did("restart")
			restarted.restart()
			restarted.more = true
		}
		restarted.step()
		a, b := plain.upstream.Last(), restarted.upstream.Last()
		if a.N != b.N || plain.comparable(a) != restarted.comparable(b) {
			t.Fatalf("request %d with restarts is another:\n%s\n%s", a.N, a.Body, b.Body)
		}
	}
}

var ownCallID = regexp.MustCompile(`tc_[0-9A-Z]{26}`)

// comparable returns a request without what differs between sessions that do the same: their folders and ids.
func (w *walk) comparable(req *upstream.Request) string {
	names := map[string]string{}
	body := strings.ReplaceAll(string(req.Body), w.work, "/work")
	return ownCallID.ReplaceAllStringFunc(body, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprint("tc_", len(names))
		}
		return names[id]
	})
}
