package changing

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/filecontext/change"
)

// eachLine returns a formatter of lines without their ends.
func eachLine(format func(line string) string) func(string) string {
	return func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			body := strings.TrimRight(line, "\r\n")
			lines[i] = format(body) + line[len(body):]
		}
		return strings.Join(lines, "")
	}
}

func addEnd(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// editors are those that a property must hold for, by what they do.
func manyEditors() map[string]*fakeEditor {
	return map[string]*fakeEditor{
		"writes what it gets":  {},
		"keeps line ends":      {keeps: true},
		"makes line ends LF":   {format: unix},
		"makes line ends CRLF": {format: func(text string) string { return strings.ReplaceAll(unix(text), "\n", "\r\n") }},
		"ends the last line":   {format: addEnd},
		"trims lines":          {format: eachLine(func(line string) string { return strings.TrimRight(line, " ") })},
		"indents lines":        {format: eachLine(func(line string) string { return strings.ReplaceAll(line, "    ", "\t") })},
		"removes empty lines":  {format: func(text string) string { return strings.ReplaceAll(unix(text), "\n\n", "\n") }},
		"saves later":          {lazy: true, keeps: true},
		"saves later, formats": {lazy: true, keeps: true, format: addEnd},
		"cannot read":          {writeOnly: true},
		"cannot read, formats": {writeOnly: true, format: func(text string) string { return addEnd(unix(text)) }},
	}
}

// play is random changes of a file by a model and a user.
type play struct {
	*desk
	r    *rand.Rand
	next int
}

// line returns a line that no other is equal to.
func (p *play) line() string {
	p.next++
	return strings.Repeat("    ", p.r.IntN(3)) + fmt.Sprintf("line %d.", p.next) + strings.Repeat(" ", p.r.IntN(3)) + strings.Repeat("\n", p.r.IntN(2))
}

// fileText returns the text of a file.
func (p *play) fileText() string {
	end := []string{"\n", "\r\n"}[p.r.IntN(2)]
	var b strings.Builder
	for range 10 + p.r.IntN(20) {
		b.WriteString(p.line() + "\n")
	}
	text := strings.ReplaceAll(b.String(), "\n", end)
	if p.r.IntN(2) == 0 {
		text = strings.TrimSuffix(text, end)
	}
	return text
}

// present returns the text that the model edits.
func (p *play) present() string {
	p.t.Helper()
	if p.editor.writeOnly {
		return unix(p.onDisk("a.txt"))
	}
	text, err := p.editor.text("a.txt")
	must(p.t, err)
	return unix(text)
}

// pick returns some lines of a text that are in it once.
func (p *play) pick(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for {
		start := p.r.IntN(len(lines))
		some := strings.Join(lines[start:min(start+1+p.r.IntN(3), len(lines))], "")
		if some != "" && strings.Index(text, some) == strings.LastIndex(text, some) {
			return some
		}
	}
}

// disturb changes the file behind the model's back: on disk, in the editor, or by saving it.
func (p *play) disturb() {
	_, isOpen := p.editor.buffers["a.txt"]
	switch {
	case isOpen && p.r.IntN(2) == 0:
		must(p.t, p.editor.save("a.txt"))
	case p.editor.writeOnly || p.r.IntN(2) == 0:
		delete(p.editor.buffers, "a.txt")
		write(p.t, filepath.Join(p.folder, "a.txt"), p.fileText())
	case p.editor.keeps:
		p.editor.buffers["a.txt"] = unix(p.fileText())
	default:
		p.editor.buffers["a.txt"] = p.fileText()
	}
}

// edit edits lines, after the guard has refused it and they were read if isKnown is not set. It returns the text after.
func (p *play) edit(old string, isKnown bool) {
	p.t.Helper()
	before, disk, hash := p.present(), p.onDisk("a.txt"), p.hash("a.txt")
	text := p.line() + p.line() + old[len(strings.TrimRight(old, "\n")):]
	prepared := p.prepare("edit_file", edit("a.txt", old, text))
	if prepared.Refusal != nil && isKnown {
		p.t.Fatalf("%q in %q: %s", old, before, shownText(*prepared.Refusal))
	}
	if prepared.Refusal != nil {
		hasAll(p.t, shownText(*prepared.Refusal), "which you were not shown in their present version")
		p.read("a.txt", 0, 0)
		prepared = p.prepare("edit_file", edit("a.txt", old, text))
	}
	if prepared.Refusal != nil {
		p.t.Fatal(shownText(*prepared.Refusal))
	}
	equal(p.t, "image", string(prepared.Image), disk)
	r, err := prepared.Make(p.t.Context())
	must(p.t, err)

	want := strings.Replace(before, old, text, 1)
	if p.editor.format != nil {
		want = p.editor.format(want)
	}
	if equal(p.t, "text", p.present(), unix(want)); p.t.Failed() {
		p.t.FailNow()
	}
	if strings.Contains(shownText(r), "has not saved it yet") {
		must(p.t, p.editor.save("a.txt"))
		p.editor.buffers["a.txt"], err = p.editor.text("a.txt") // it is open still
		must(p.t, err)
	}
	if r.Made.Image != nil {
		equal(p.t, "image", unix(string(r.Made.Image)), before)
		hash = sha(string(r.Made.Image))
	}
	if isUnsaved := unix(disk) != before; isUnsaved != (r.Made.Image != nil) {
		p.t.Errorf("an image of %q, with %q on disk", r.Made.Image, disk)
	}
	p.wantMade(r, "a.txt", change.Done, hash)
}

// changed returns lines that are in a text and were not in the one before, "" for none.
func (p *play) changed(before string) string {
	text := p.present()
	old := strings.SplitAfter(before, "\n")
	isNew := func(line string) bool {
		return line != "" && !slices.Contains(old, line) && strings.Index(text, line) == strings.LastIndex(text, line)
	}
	var news []string
	for _, line := range strings.SplitAfter(text, "\n") {
		if isNew(line) {
			news = append(news, line)
		}
	}
	if len(news) == 0 {
		return ""
	}
	return news[p.r.IntN(len(news))]
}

// Editors that normalise or format do not make the next edit stale: lines that the editor made can be edited without a read. The
// bytes before and after are those of the disk, or those of the text before that was not saved.
func TestManyChangesThroughManyEditors(t *testing.T) {
	for name, editor := range manyEditors() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, uint64(len(name))))
			p := &play{desk: newDesk(t, map[string]string{"a.txt": ""}, editor), r: r}
			p.disturb()
			own := 0
			for range 60 {
				if r.IntN(6) == 0 || len(p.present()) > 3000 {
					p.disturb()
				}
				before := p.present()
				p.edit(p.pick(before), false)
				if line := p.changed(before); line != "" {
					p.edit(line, true)
					own++
				}
			}
			if own < 20 {
				t.Errorf("%d lines were edited again", own)
			}
		})
	}
}
