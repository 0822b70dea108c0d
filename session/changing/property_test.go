//go:build unix

package changing

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"strata/filecontext"
	"strata/session/tools"
)

var (
	walkSeed = flag.Uint64("seed", 1, "seed of the first random walk of changes")
	walks    = flag.Int("walks", 12, "how many random walks of changes")
)

// knowledge is what the model knows of a line.
type knowledge int

const (
	unknown   knowledge = iota
	uncertain           // a result was too long to show all of it
	shown
)

// walk is random calls of the tools and changes of others in a folder, with what must come of them.
type walk struct {
	*bench
	r     *rand.Rand
	next  int
	mode  fs.FileMode          // of new files
	files map[string]*file     // by path without links
	links map[string]string    // the path where each leads
	past  map[string][]*sheet  // that a file once had
	knows map[string]knownText // by path, as the model names it

	edits, refusals, stale int
}

// knownText is what the model knows of the lines of each text that a path had.
type knownText map[string][]knowledge

// file is a file that must be there.
type file struct {
	sheet *sheet // nil: no text
	raw   string // then
	mode  fs.FileMode
}

func (f *file) bytes() string {
	if f.sheet == nil {
		return f.raw
	}
	return f.sheet.bytes()
}

var fileNames = []string{
	"a.txt", "naïve name.txt", "sub/b c.txt", "-rf", "tab\there.txt", "new\nline.txt", "quote\"`'.txt", "bidi\u202etxt.exe", "名前/深い.md", "trailing .txt ", "#x%20.txt",
	`back\slash.txt`, "sub/b (lines 1 to 2 of 3)",
}

var linkTargets = map[string]string{
	"link.txt": "a.txt", "sub/up": "../naïve name.txt", "chain": "sub/../link.txt", "folder": "sub", "名前/to": "../folder/b c.txt",
}

var pathNames = append(slices.Clone(fileNames), "link.txt", "sub/up", "chain", "folder/b c.txt", "名前/to", "a.txt", "sub/b c.txt")

func newWalk(t *testing.T, seed uint64) *walk {
	w := &walk{bench: newBench(t, map[string]string{"sub/keep": "", "名前/keep": ""}), r: rand.New(rand.NewPCG(seed, 15)),
		files: make(map[string]*file), past: make(map[string][]*sheet), knows: make(map[string]knownText), links: make(map[string]string)}
	for _, name := range []string{"sub/keep", "名前/keep"} {
		w.files[name] = &file{sheet: &sheet{code: "utf-8"}, mode: 0o600}
	}
	must(t, os.WriteFile(w.at("probe"), nil, 0o666))
	info, err := os.Stat(w.at("probe"))
	must(t, err)
	w.mode = info.Mode()
	must(t, os.Remove(w.at("probe")))
	for name, target := range linkTargets {
		must(t, os.Symlink(target, w.at(name)))
		w.links[name] = path.Join(path.Dir(name), target)
	}
	for _, name := range fileNames[:9] {
		w.put(name, w.newFile())
	}
	return w
}

func (w *walk) at(name string) string { return filepath.Join(w.folder, name) }

// one returns one of some things.
func one[T any](w *walk, things ...T) T { return things[w.r.IntN(len(things))] }

// chance reports true so many times in a hundred.
func (w *walk) chance(percent int) bool { return w.r.IntN(100) < percent }

// line returns a line without its end, mostly one that no other is equal to.
func (w *walk) line() string {
	w.next++
	switch w.r.IntN(30) {
	case 0, 1:
		return ""
	case 2:
		return "}"
	case 3:
		return fmt.Sprintf("%d ", w.next) + strings.Repeat("long ", 1+w.r.IntN(1500))
	case 4:
		return fmt.Sprintf("%d ```` [lines 2 omitted] @@ -1,2 +1,2 @@", w.next)
	case 5:
		return fmt.Sprintf("naïve 名 🙂 %d \u202e \u200b\ufffd \u2028x\u0085", w.next)
	}
	return strings.Repeat("\t", w.r.IntN(3)) + fmt.Sprintf("line %d;", w.next) + strings.Repeat(" ", w.r.IntN(2))
}

// text returns some lines.
func (w *walk) text(lines int, ends ...string) string {
	var b strings.Builder
	for range lines {
		b.WriteString(w.line() + one(w, ends...))
	}
	if text := b.String(); w.chance(70) {
		return text
	}
	return strings.TrimRight(b.String(), "\r\n")
}

// newFile returns a file with random content.
func (w *walk) newFile() *file {
	f := &file{mode: one[fs.FileMode](w, 0o600, 0o644, 0o755, 0o640, 0o666, 0o606, 0o755|fs.ModeSetuid, 0o775|fs.ModeSetgid)}
	if w.chance(3) {
		f.mode = 0o444
	}
	if w.chance(4) {
		f.raw = one(w, "caf\xe9 is not UTF-8, but text that is read\nline\n", "\xff\xfea\x00\x00\xd8b\x00"+strings.Repeat("c\x00", 300))
		return f
	}
	ends := one(w, []string{"\n"}, []string{"\n"}, []string{"\r\n"}, []string{"\r\n"}, []string{"\r"}, []string{"\n", "\r\n"}, []string{"\n", "\r", "\r\n"}, []string{"\n", "\n", "\n", "\r"})
	lines := one(w, 0, 1, 3, 10, 30, 30)
	if w.chance(1) {
		lines = 1000
	}
	f.sheet = sheetOf(one(w, codeNames...), w.text(lines, ends...))
	return f
}

// put makes the file at a path without links what it must be: in place, or as a new file.
func (w *walk) put(name string, f *file) {
	w.t.Helper()
	must(w.t, os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	path := w.at(name)
	if w.chance(50) {
		path = w.at(".new")
	}
	must(w.t, os.WriteFile(path, []byte(f.bytes()), 0o600))
	must(w.t, os.Chmod(path, f.mode))
	if path != w.at(name) {
		must(w.t, os.Rename(path, w.at(name)))
	}
	w.files[name] = f
	w.keep(name, f.sheet)
}

// keep remembers a text, so that somebody can put it back.
func (w *walk) keep(name string, s *sheet) {
	if s != nil {
		w.past[name] = append(w.past[name], s)
	}
}

// resolve returns where a path leads.
func (w *walk) resolve(name string) string {
	for range 10 {
		if target, ok := w.links[name]; ok {
			name = target
		} else if below, ok := strings.CutPrefix(name, "folder/"); ok {
			name = "sub/" + below
		}
	}
	return name
}

// named returns a path as a model may write it.
func (w *walk) named(name string) string {
	if w.chance(20) {
		return w.at(name)
	}
	return name
}

// check compares the folder with what must be there.
func (w *walk) check() {
	w.t.Helper()
	found := 0
	must(w.t, filepath.WalkDir(w.folder, func(path string, e fs.DirEntry, err error) error {
		must(w.t, err)
		name, _ := filepath.Rel(w.folder, path)
		switch f := w.files[name]; {
		case e.IsDir():
		case e.Type() == fs.ModeSymlink:
			if _, ok := w.links[name]; !ok {
				w.t.Fatalf("%q is a link", name)
			}
		case f == nil:
			w.t.Fatalf("%q is there", name)
		default:
			found++
			w.checkFile(name, f)
		}
		return nil
	}))
	if found != len(w.files) {
		w.t.Fatalf("%d files of %d are there", found, len(w.files))
	}
}

func (w *walk) checkFile(name string, f *file) {
	w.t.Helper()
	data, err := os.ReadFile(w.at(name))
	must(w.t, err)
	info, err := os.Stat(w.at(name))
	must(w.t, err)
	if string(data) != f.bytes() {
		equal(w.t, name, strconv.Quote(string(data)), strconv.Quote(f.bytes()))
		w.t.FailNow()
	}
	if info.Mode() != f.mode {
		w.t.Fatalf("%q has the mode %v, want %v", name, info.Mode(), f.mode)
	}
}

// state returns what the model knows of the lines of the present text of a path.
func (w *walk) state(name string, s *sheet) []knowledge {
	if w.knows[name] == nil {
		w.knows[name] = make(knownText)
	}
	text := s.shown()
	if w.knows[name][text] == nil {
		w.knows[name][text] = make([]knowledge, len(s.lines()))
	}
	return w.knows[name][text]
}

// knowsText reports whether the model was shown anything of the present text of a path; of an empty one, that it is empty.
func (w *walk) knowsText(name string, s *sheet) bool { _, ok := w.knows[name][s.shown()]; return ok }

// learn notes that a line of a text is shown, and checks that it is what is there.
func (w *walk) learn(state []knowledge, lines []string, number int, text string) {
	w.t.Helper()
	if number < 1 || number > len(lines) || strings.TrimSuffix(text, "\n") != strings.TrimSuffix(lines[number-1], "\n") {
		w.t.Fatalf("line %d is shown as %q, the lines are %q", number, text, lines)
	}
	state[number-1] = shown
}

// step makes one step.
func (w *walk) step() {
	w.t.Helper()
	name := one(w, pathNames...)
	switch n := w.r.IntN(100); {
	case n < 22:
		w.readSome(name)
	case n < 32:
		w.search(one(w, fileNames...))
	case n < 75:
		w.edit(name)
	case n < 83:
		w.write(name)
	case n < 86:
		w.remove(name)
	case n < 91:
		w.move(name, one(w, pathNames...))
	default:
		w.disturb(one(w, fileNames...))
	}
	w.check()
}

// disturb is a change by somebody else.
func (w *walk) disturb(name string) {
	f := w.files[name]
	switch n := w.r.IntN(8); {
	case f == nil || n == 0:
		w.put(name, w.newFile())
	case n == 1 && f.sheet != nil && len(f.sheet.marks) > 0: // one character
		s := &sheet{code: f.sheet.code, marks: slices.Clone(f.sheet.marks)}
		at := w.r.IntN(len(s.marks))
		s.marks[at] = mark{char: '?'}
		w.put(name, &file{sheet: sheetIn(s.code, s.bytes()), mode: f.mode})
	case n == 2 && f.sheet != nil: // the line ends
		w.put(name, &file{sheet: sheetOf(one(w, codeNames...), strings.ReplaceAll(f.sheet.shown(), "\n", one(w, "\n", "\r\n"))), mode: f.mode})
	case n == 3 && len(w.past[name]) > 0: // back to what it was
		w.put(name, &file{sheet: one(w, w.past[name]...), mode: f.mode})
	case n == 4:
		must(w.t, os.Chmod(w.at(name), 0o640))
		f.mode = 0o640
	case n == 5:
		w.put(name, f)
	case n == 6 && w.chance(50):
		must(w.t, os.Remove(w.at(name)))
		delete(w.files, name)
	case n == 7:
		target := one(w, fileNames[:3]...)
		must(w.t, os.Remove(w.at("link.txt")))
		must(w.t, os.Symlink(target, w.at("link.txt")))
		w.links["link.txt"] = target
	}
}

// readSome reads lines of a file.
func (w *walk) readSome(name string) {
	w.t.Helper()
	input := members{"path": w.named(name)}
	if f := w.files[w.resolve(name)]; f != nil && f.sheet != nil && w.chance(60) {
		n := max(len(f.sheet.lines()), 1)
		start := 1 + w.r.IntN(n)
		input["start_line"] = start
		if w.chance(80) {
			input["end_line"] = start + w.r.IntN(12)
		}
	}
	w.readLines(name, input)
}

var (
	headingLines = regexp.MustCompile(`^ \(lines (\d+) to (\d+) of (\d+)\)( \(no line end at the end\))?$`)
	shownAlready = regexp.MustCompile(`^(?:Lines (\d+) to (\d+) of )?(?s:.*)(?: is| are) already shown above`)
)

// readLines makes a call of read_file, and takes from its text which lines the model knows now.
func (w *walk) readLines(name string, input members) {
	w.t.Helper()
	r := call(w.t, w.work, "read_file", input)
	for _, lines := range shownLines(r) {
		w.view.Add(&lines)
	}
	f := w.files[w.resolve(name)]
	switch text := shownText(r); {
	case f == nil:
		hasAll(w.t, text, "does not exist")
		return
	case f.sheet == nil:
		return
	case r.IsError:
		hasAll(w.t, text, "has only")
		return
	}
	lines, had := f.sheet.lines(), w.knowsText(name, f.sheet)
	state := w.state(name, f.sheet)
	for _, b := range r.Content {
		heading, rest, _ := strings.Cut(b.Text, "\n")
		if m := shownAlready.FindStringSubmatch(heading); m != nil {
			w.wantKnown(state, had, m)
			continue
		}
		fence, body, ok := strings.Cut(rest, "\n")
		if !strings.HasPrefix(fence, "```") || !ok {
			if !strings.Contains(b.Text, "omitted; read them with start_line") && !strings.Contains(b.Text, "too many to show") {
				w.t.Fatalf("%.500q", b.Text)
			}
			continue
		}
		body = strings.TrimSuffix(body, fence+"\n")
		notes, ok := strings.CutPrefix(heading, filecontext.Printable(name))
		if !ok {
			w.t.Fatalf("the heading is %q", heading)
		}
		from, to := 1, len(lines)
		if m := headingLines.FindStringSubmatch(notes); m != nil {
			from, _ = strconv.Atoi(m[1])
			to, _ = strconv.Atoi(m[2])
		}
		got := strings.SplitAfter(body, "\n")
		if got[len(got)-1] == "" {
			got = got[:len(got)-1]
		}
		if len(got) != to-from+1 {
			w.t.Fatalf("%d lines are shown for %q", len(got), heading)
		}
		for i, line := range got {
			w.learn(state, lines, from+i, line)
		}
	}
}

// wantKnown checks a result that says that lines are shown already.
func (w *walk) wantKnown(state []knowledge, had bool, m []string) {
	w.t.Helper()
	from, to := 1, len(state)
	if m[1] != "" {
		from, _ = strconv.Atoi(m[1])
		to, _ = strconv.Atoi(m[2])
	}
	if !had || slices.Contains(state[from-1:to], unknown) {
		w.t.Fatalf("%q, but known is %v (%v)", m[0], state, had)
	}
}

var found = regexp.MustCompile(`^(\d+)[:-] (.*)$`)

// search finds a line of a file.
func (w *walk) search(name string) {
	w.t.Helper()
	f := w.files[name]
	if f == nil || f.sheet == nil {
		return
	}
	pattern := one(w, ";", "e", fmt.Sprint(w.r.IntN(w.next)), "naïve", "}")
	r := call(w.t, w.work, "search", members{"pattern": pattern, "path": w.named(name), "context": w.r.IntN(4)})
	for _, lines := range shownLines(r) {
		w.view.Add(&lines)
	}
	lines, state := f.sheet.lines(), []knowledge(nil)
	for line := range strings.SplitSeq(shownText(r), "\n") {
		m := found.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		number, _ := strconv.Atoi(m[1])
		if state == nil {
			state = w.state(name, f.sheet)
		}
		if body := strings.TrimSuffix(lines[number-1], "\n"); len(body) <= 400 || m[2] == body {
			w.learn(state, lines, number, m[2])
		}
	}
}

// spanOf returns a random part of a text: whole lines, or any characters.
func (w *walk) spanOf(s *sheet) string {
	lines := s.lines()
	if len(lines) == 0 {
		return "x"
	}
	start := w.r.IntN(len(lines))
	text := strings.Join(lines[start:min(start+1+w.r.IntN(4), len(lines))], "")
	if w.chance(50) {
		return text
	}
	all := []rune(text)
	from := w.r.IntN(len(all))
	return string(all[from : from+1+w.r.IntN(len(all)-from)])
}

// edits returns edits of a text, most of which are possible.
func (w *walk) replacings(s *sheet) (edits []replacing) {
	for range 1 + w.r.IntN(5)*w.r.IntN(2) {
		e := replacing{old: w.spanOf(s), text: one(w, "", "x", w.line(), w.text(1+w.r.IntN(4), "\n"), w.text(2, "\r\n"), "a\rb")}
		switch n := w.r.IntN(40); n {
		case 0:
			e.old = "does not occur"
		case 1:
			e.old = ""
		case 2:
			e.text = e.old
		case 3:
			e.old = one(w, "\n", "l", "}", "\n\n")
			e.all = true
		case 4, 5:
			e.all = true
		}
		if w.chance(15) { // as many lines as before
			e.text = strings.NewReplacer("l", "L", "e", "E", "\r\n", "\n", "\r", "\n").Replace(e.old)
		}
		if w.chance(30) {
			e.old = strings.ReplaceAll(strings.ReplaceAll(e.old, "\r", "\n"), "\n", one(w, "\n", "\r\n"))
		}
		edits = append(edits, e)
		next, _, fault := s.edited([]replacing{e})
		if fault != "" && w.chance(80) {
			edits = edits[:len(edits)-1]
		} else if fault == "" {
			s = next
		}
	}
	return edits
}

// edit makes a call of edit_file.
func (w *walk) edit(name string) {
	w.t.Helper()
	f := w.files[w.resolve(name)]
	if w.chance(60) && f != nil && f.sheet != nil {
		w.readSome(name)
	}
	before := &sheet{code: "utf-8"}
	if f != nil && f.sheet != nil {
		before = f.sheet
	}
	edits := w.replacings(before)
	if len(edits) == 0 {
		return
	}
	var inputs []members
	for _, e := range edits {
		in := members{"old_text": e.old, "new_text": e.text}
		if e.all {
			in["replace_all"] = true
		}
		inputs = append(inputs, in)
	}
	prepare := func() *tools.Prepared { return w.prepare("edit_file", members{"path": w.named(name), "edits": inputs}) }
	p := prepare()
	if w.cannot(p, name, f) {
		return
	}
	after, covered, fault := before.edited(edits)
	if fault != "" {
		w.wantRefusal(p, fault)
		return
	}
	if len(after.bytes()) > 1<<20 {
		w.wantRefusal(p, "is too large to change")
		return
	}
	if p = w.guarded(p, name, before, covered, prepare); p == nil {
		return
	}
	w.edits++
	if string(p.Image) != before.bytes() || string(p.Next) != after.bytes() {
		w.t.Fatalf("planned is %q -> %q, want %q -> %q", p.Image, p.Next, before.bytes(), after.bytes())
	}
	w.make(p, name, func(r tools.Result) {
		w.files[w.resolve(name)].sheet = after
		w.edited(name, before, after, r)
	})
}

// cannot checks the refusal of a path whose text cannot be changed, whatever the change.
func (w *walk) cannot(p *tools.Prepared, name string, f *file) bool {
	w.t.Helper()
	switch {
	case f == nil:
		w.wantRefusal(p, "does not exist")
	case f.mode.Perm()&0o200 == 0:
		w.wantRefusal(p, "is read-only")
	case f.sheet == nil:
		w.wantRefusal(p, "contains bytes that are not UTF-8")
	default:
		return false
	}
	return true
}

func (w *walk) wantRefusal(p *tools.Prepared, why string) {
	w.t.Helper()
	if p.Refusal == nil {
		w.t.Fatalf("not refused: want %q", why)
	}
	if text := shownText(*p.Refusal); !strings.Contains(text, why) || !strings.HasPrefix(text, "Nothing was changed") {
		w.t.Fatalf("refused with %q, want %q", text, why)
	}
}

var advice = regexp.MustCompile(`Read them first with read_file and start_line (\d+)`)

// guarded checks whether the guard lets an edit pass. If it does not, its advice is followed until it does.
func (w *walk) guarded(p *tools.Prepared, name string, s *sheet, covered []int, again func() *tools.Prepared) *tools.Prepared {
	w.t.Helper()
	for range 20 {
		state := w.state(name, s)
		first := slices.IndexFunc(covered, func(line int) bool { return state[line-1] == unknown })
		if first < 0 && p.Refusal != nil && !slices.ContainsFunc(covered, func(line int) bool { return state[line-1] == uncertain }) {
			w.t.Fatalf("refused, although all lines are known: %s; covered %v, known %v", shownText(*p.Refusal), covered, state)
		}
		if first >= 0 && p.Refusal == nil {
			w.t.Fatalf("line %d of %v is not known: %v", covered[first], covered, state)
		}
		if p.Refusal == nil {
			return p
		}
		w.refusals++
		why := shownText(*p.Refusal)
		if strings.Contains(why, tooLong) {
			w.wantTooLong(s, state, covered, why)
			return nil
		}
		hasAll(w.t, why, filecontext.Printable(name)+", which you have not seen in their current version", "Nothing was changed")
		m := advice.FindStringSubmatch(why)
		if m == nil {
			w.t.Fatalf("no advice: %s", why)
		}
		start, _ := strconv.Atoi(m[1])
		if first >= 0 {
			for first > 0 && covered[first-1] == covered[first]-1 {
				first--
			}
			if start != covered[first] || !strings.Contains(why, fmt.Sprintf("line %d", start)) && !strings.Contains(why, fmt.Sprintf("lines %d to ", start)) {
				w.t.Fatalf("the advice is %q, want line %d", why, covered[first])
			}
		}
		if w.chance(30) {
			return nil
		}
		w.readLines(name, members{"path": name, "start_line": start})
		p = again()
	}
	w.t.Fatalf("following the advice does not help: %s", shownText(*p.Refusal))
	return nil
}

const tooLong = ", too many to be shown to you whole"

var tooLongLine = regexp.MustCompile(`line (\d+) of (?s:.*), which has (\d+) bytes` + tooLong)

// wantTooLong checks that the line that a refusal names is one of some lines, too long for a result of 50 KB, and not known.
func (w *walk) wantTooLong(s *sheet, state []knowledge, covered []int, why string) {
	w.t.Helper()
	lines, m := s.lines(), tooLongLine.FindStringSubmatch(why)
	if m == nil {
		w.t.Fatal(why)
	}
	number, _ := strconv.Atoi(m[1])
	if !slices.Contains(covered, number) || state[number-1] == shown || m[2] != fmt.Sprint(len(lines[number-1])) || len(lines[number-1]) < 50_000 {
		w.t.Fatalf("of the lines %v, known as %v: %s", covered, state, why)
	}
}

// make makes a change, perhaps after another by somebody else. done notes what must be there then.
func (w *walk) make(p *tools.Prepared, name string, done func(tools.Result)) {
	w.t.Helper()
	real := w.resolve(name)
	before, was := w.identity(real), w.files[real]
	var had string
	if was != nil {
		had = was.bytes()
	}
	if w.chance(12) {
		w.disturb(real)
	}
	now := w.files[real]
	isOther := w.identity(real) != before || (now == nil) != (was == nil) || now != nil && now.bytes() != had || w.resolve(name) != real
	r, err := p.Make(context.WithoutCancel(w.t.Context()))
	must(w.t, err)
	switch {
	case isOther:
		w.stale++
		hasAll(w.t, shownText(r), "Nothing was changed", "has changed since the change was planned")
		if !r.IsError || r.Made.State != "not_done" {
			w.t.Fatalf("%+v", r)
		}
	case r.IsError:
		w.t.Fatalf("not made: %s", shownText(r))
	default:
		if r.Made == nil || r.Made.State != "done" {
			w.t.Fatalf("%+v", r)
		}
		done(r)
		if f := w.files[real]; f != nil {
			w.keep(real, f.sheet)
		}
	}
}

// identity returns what tells a file from another at its path.
func (w *walk) identity(name string) uint64 {
	info, err := os.Stat(w.at(name))
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// cutDiff is the line in a diff that stands for others, which begin with other characters.
var cutDiff = regexp.MustCompile(`\n\[\d+ (line|byte)s? omitted\]\n`)

var hunk = regexp.MustCompile(`^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$`)

// edited takes from the result of an edit which lines the model knows now: those that it shows, and those that it knew.
func (w *walk) edited(name string, before, after *sheet, r tools.Result) {
	w.t.Helper()
	old, lines := before.lines(), after.lines()
	state := w.state(name, after)
	known := slices.Clone(w.state(name, before))
	text := shownText(r)
	_, diff, isWhole := strings.Cut(text, "\nChanges to ")
	if !isWhole || cutDiff.MatchString(diff) {
		for i := range state {
			state[i] = max(state[i], uncertain)
		}
		return
	}
	heading, diff, _ := strings.Cut(diff, "\n")
	equal(w.t, "heading", heading, filecontext.Printable(name))
	fence, diff, _ := strings.Cut(diff, "\n")
	diff, isWhole = strings.CutSuffix(diff, fence+"\n")
	if !isWhole {
		w.t.Fatalf("the diff has no end: %q", text)
	}
	at, to := 0, 0 // lines of both that are done
	keep := func(n int) {
		for range n {
			if at >= len(old) || to >= len(lines) || old[at] != lines[to] {
				w.t.Fatalf("the diff does not show that line %d is now line %d:\n%s", at+1, to+1, diff)
			}
			state[to] = max(state[to], known[at])
			at, to = at+1, to+1
		}
	}
	left := []int{0, 0}
	for line := range strings.Lines(diff) {
		m := hunk.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, `\ no line end`):
		case left[0]+left[1] == 0 && m != nil:
			first, _ := strconv.Atoi(m[1])
			left[0], _ = strconv.Atoi(m[2])
			left[1], _ = strconv.Atoi(m[4])
			keep(first - 1 - at)
		case line[0] == '-':
			if at >= len(old) || strings.TrimSuffix(old[at], "\n") != strings.TrimSuffix(line[1:], "\n") {
				w.t.Fatalf("line %d is not %q", at+1, line)
			}
			at, left[0] = at+1, left[0]-1
		case line[0] == '+' || line[0] == ' ':
			w.learn(state, lines, to+1, line[1:])
			to, left[1] = to+1, left[1]-1
			if line[0] == ' ' {
				at, left[0] = at+1, left[0]-1
			}
		default:
			w.t.Fatalf("%q in the diff", line)
		}
	}
	keep(len(old) - at)
	if to != len(lines) {
		w.t.Fatalf("the diff leads to %d lines of %d", to, len(lines))
	}
}

// write makes a call of write_file.
func (w *walk) write(name string) {
	w.t.Helper()
	f := w.files[w.resolve(name)]
	content := w.text(w.r.IntN(12), one(w, "\n", "\n", "\r\n", "\r"))
	if f != nil && f.sheet != nil && w.chance(60) {
		lines := f.sheet.lines()
		n := w.r.IntN(len(lines) + 1)
		content = strings.Join(lines[:n], "") + content + strings.Join(lines[n:], "")
		w.readLines(name, members{"path": name})
	}
	p := w.prepare("write_file", members{"path": w.named(name), "content": content})
	if _, isLink := w.links[name]; isLink && f == nil {
		w.wantRefusal(p, "a symbolic link leads nowhere")
		return
	}
	if f == nil {
		w.make(p, name, func(tools.Result) {
			s := sheetOf("utf-8", content)
			w.files[w.resolve(name)] = &file{sheet: s, mode: w.mode}
			w.knowAll(name, s)
		})
		return
	}
	if w.cannot(p, name, f) {
		return
	}
	before := f.sheet
	if slices.Equal(chars(content), before.chars()) {
		w.wantRefusal(p, "already has this content")
		return
	}
	had := w.knowsText(name, before)
	state := w.state(name, before)
	if !had || slices.Contains(state, unknown) {
		if !had {
			delete(w.knows[name], before.shown())
		}
		if p.Refusal != nil && strings.Contains(shownText(*p.Refusal), tooLong) {
			all := make([]int, len(state))
			for i := range all {
				all[i] = i + 1
			}
			w.wantTooLong(before, state, all, shownText(*p.Refusal))
			return
		}
		if p.Refusal == nil {
			w.t.Fatalf("%q is replaced, of which the model knows %v (%v)", before.shown(), state, had)
		}
		w.wantRefusal(p, "exists, and you have not seen its current version in full")
		return
	}
	if p.Refusal != nil {
		if !slices.Contains(state, uncertain) {
			w.t.Fatalf("refused, although all is known: %s", shownText(*p.Refusal))
		}
		return
	}
	w.make(p, name, func(tools.Result) {
		data, err := os.ReadFile(w.at(w.resolve(name)))
		must(w.t, err)
		w.files[w.resolve(name)].sheet = w.rewritten(before, content, string(data))
		w.knowAll(name, w.files[w.resolve(name)].sheet)
	})
}

// rewritten returns what a file must be after its text was replaced. Which line ends new lines have among different ones is not
// defined.
func (w *walk) rewritten(before *sheet, content, data string) *sheet {
	w.t.Helper()
	ends := before.ends()
	if len(ends) < 2 {
		plain := strings.ReplaceAll(strings.ReplaceAll(content, "\r\n", "\n"), "\r", "\n")
		return sheetOf(before.code, strings.ReplaceAll(plain, "\n", append(ends, "\n")[0]))
	}
	after := sheetIn(before.code, data)
	if !slices.Equal(after.chars(), chars(content)) {
		w.t.Fatalf("%q was written for %q", data, content)
	}
	for i := range min(len(before.marks), len(after.marks)) { // whole lines at the start, which stay
		if before.marks[i].char != after.marks[i].char {
			break
		}
		if end := slices.Index(before.chars()[i:], '\n'); before.marks[i].end != after.marks[i].end && end > 0 {
			w.t.Fatalf("line end %d was changed from %q to %q", i, before.marks[i].end, after.marks[i].end)
		}
	}
	return after
}

// knowAll notes that the model knows all of a text.
func (w *walk) knowAll(name string, s *sheet) {
	state := w.state(name, s)
	for i := range state {
		state[i] = shown
	}
}

// remove makes a call of delete_file.
func (w *walk) remove(name string) {
	w.t.Helper()
	p := w.prepare("delete_file", members{"path": w.named(name)})
	if w.cannotTake(p, name) {
		return
	}
	w.make(p, name, func(tools.Result) { delete(w.files, w.resolve(name)) })
}

// cannotTake checks the refusal of a path that cannot be deleted or moved.
func (w *walk) cannotTake(p *tools.Prepared, name string) bool {
	w.t.Helper()
	_, isLink := w.links[name]
	switch {
	case w.files[w.resolve(name)] == nil:
		w.wantRefusal(p, "")
	case isLink:
		w.wantRefusal(p, "it is a symbolic link")
	default:
		return false
	}
	return true
}

// move makes a call of move_file.
func (w *walk) move(name, to string) {
	w.t.Helper()
	p := w.prepare("move_file", members{"from": w.named(name), "to": w.named(to)})
	if w.cannotTake(p, name) {
		return
	}
	if _, isLink := w.links[to]; isLink && w.files[w.resolve(to)] == nil {
		w.wantRefusal(p, "a symbolic link leads nowhere")
		return
	}
	if w.files[w.resolve(to)] != nil {
		w.wantRefusal(p, "already exists; choose another path")
		return
	}
	from := w.resolve(name)
	s := w.files[from].sheet
	w.make(p, name, func(tools.Result) {
		w.files[w.resolve(to)] = w.files[from]
		delete(w.files, from)
		w.keep(w.resolve(to), s)
		if s != nil && (w.knowsText(name, s) || len(s.marks) == 0) { // of an empty file there is nothing to lose
			now := w.state(to, s)
			for i, k := range w.state(name, s) {
				now[i] = max(now[i], k)
			}
		}
	})
}

// Whatever is in files, a change by the tools leaves everything byte for byte as it was but for what it is to change; the guard
// lets exactly those lines be changed that results have shown as they are; and its advice helps. The text of results is taken
// for what the model knows, and a model of files of this test for what they must be.
func TestAnythingButTheEditStaysByteForByte(t *testing.T) {
	edits, refusals, stale := 0, 0, 0
	for seed := *walkSeed; seed < *walkSeed+uint64(*walks); seed++ {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWalk(t, seed)
			for range 150 {
				w.step()
			}
			edits, refusals, stale = edits+w.edits, refusals+w.refusals, stale+w.stale
		})
		if !ok {
			t.Fatalf("run it with -seed %d -walks 1", seed)
		}
	}
	if n := *walks; edits < 15*n || refusals < 4*n || stale < n/2 {
		t.Errorf("%d edits, %d refusals by the guard, %d changes of others between plan and effect", edits, refusals, stale)
	}
	t.Logf("%d walks: %d edits, %d refusals by the guard, %d changes of others between plan and effect", *walks, edits, refusals, stale)
}
