package assembly

import (
	"slices"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
	"strata/session/fit"
	"strata/session/reads"
	"strata/stability"
	"strata/tokens"
)

// choose adds a file to the context.
func (d *readDesk) choose(name string) {
	d.t.Helper()
	d.Files = []filecontext.Entry{{Content: d.content(name), State: filecontext.Full}}
}

// content returns a file as it is on disk.
func (d *readDesk) content(name string) filecontext.Content {
	d.t.Helper()
	ref, err := d.Roots.Locate(name)
	if err != nil {
		d.t.Fatal(err)
	}
	c, err := d.Roots.Read(d.t.Context(), ref)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// edit adds a step that replaces the first line of a file.
func (d *readDesk) edit(name, line string) {
	d.t.Helper()
	before := d.content(name)
	_, rest, _ := strings.Cut(before.Text, "\n")
	d.write(name, line+"\n"+rest)
	d.edited(name, before, d.content(name), "")
}

// edited adds a step that replaces the first line of a file. disk is that of a text that the editor has not saved.
func (d *readDesk) edited(name string, before, after filecontext.Content, disk string) {
	d.t.Helper()
	d.stored.say(history.RoleAssistant, "I edit "+name)
	d.stored.say(history.RoleTool, "")
	m := &d.stored.messages[len(d.stored.messages)-1]
	call := &d.stored.messages[len(d.stored.messages)-2]
	call.Blocks = append(call.Blocks, history.Block{Type: history.BlockToolCall, CallID: m.ID, Name: "edit_file", Args: `{}`})
	first := history.LineHunk{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1}
	m.Blocks = []history.Block{{Type: history.BlockToolResult, CallID: m.ID, Content: []history.Block{{Type: history.BlockText, Text: "Edited.\n",
		Shows: []history.FileLines{{Path: name, Version: after.Version(), Lines: []history.Lines{{Start: 1, End: 1}}, Of: after.Lines, Disk: disk,
			From: &history.Derivation{Version: before.Version(), Hunks: []history.LineHunk{first}}}}}}}}
	m.Tokens = content.Tokens(d.t.Context(), tokens.For(""), m.Blocks)
	d.View = d.stored.view()
}

// shows returns the texts of the file in a request, which is answered.
func (d *readDesk) shows(name string) (all []string, layout history.Layout, blobs []history.Blob) {
	d.t.Helper()
	b, layout, blobs := asked(d.t, &d.State, d.stored)
	if !slices.Contains(b.Sent, SentFile{Path: name, Hash: d.content(name).Hash, Whole: true}) {
		d.t.Errorf("the present version does not count as sent: %+v", b.Sent)
	}
	for i := range b.Plan.Entries {
		if e := &b.Plan.Entries[i]; e.Key == fit.FilePrefix+name && !e.Dead {
			all = append(all, string(e.Kind)+" "+e.Rev)
		}
	}
	return all, layout, blobs
}

// The text to which a message led is kept for the diff of the next change by somebody else, whatever leaves meanwhile. While the
// message tells it, nothing is read from the store for a diff, and nothing is stored again.
func TestTheTextThatAMessageToldIsKept(t *testing.T) {
	for name, between := range map[string]func(d *readDesk, layout history.Layout){
		"at once": func(*readDesk, history.Layout) {},
		"after a restart": func(d *readDesk, layout history.Layout) {
			var err error
			if d.Layout, err = NewLayout(stability.Options{}, layout, func(string) *stability.Mirror { return d.Mirrors.Of("x", d.Now()) }); err != nil {
				t.Fatal(err)
			}
			d.Reads, d.Pictures, d.Diffs = new(reads.Reads), new(content.Gallery), new(Diffs)
		},
		"after a cut": func(d *readDesk, _ history.Layout) {
			d.View = slices.Delete(slices.Clone(d.View), 3, 4)
			d.shows("a.go")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newReadDesk(t, "log")
			d.write("a.go", strings.Repeat("package a\n", 1000))
			d.choose("a.go")
			first, _, _ := d.shows("a.go")
			d.edit("a.go", "package b")
			told := fit.Hash(d.content("a.go").Text)
			for n := range 2 {
				d.stored.fetched = nil
				now, layout, blobs := d.shows("a.go")
				if n == 1 && slices.Contains(d.stored.fetched, strings.TrimPrefix(first[0], "base ")) {
					t.Error("the text before the edit was read, although no diff begins with it")
				}
				if !slices.Equal(now, first) {
					t.Fatalf("the layout has %q, before the edit %q", now, first)
				}
				if stored := slices.ContainsFunc(blobs, func(b history.Blob) bool { return b.Hash == told }); stored != (n == 0) {
					t.Errorf("request %d after the edit: the text is stored: %t", n+1, stored)
				}
				replied(&d.State, d.stored, "go on")
				if n == 1 {
					between(d, layout)
				}
			}
			d.write("a.go", strings.Replace(d.content("a.go").Text, "package b", "package c", 1))
			b, _, _ := asked(t, &d.State, d.stored)
			at := slices.IndexFunc(b.Plan.Entries, func(e stability.Entry) bool { return e.Kind == stability.Diff })
			if at < 0 || !strings.Contains(string(d.stored.blobs[b.Plan.Entries[at].Blob]), "-package b\n+package c\n") {
				t.Errorf("there is no diff from the text that was told: %+v", b.Plan.Entries)
			}
		})
	}
}

// If the message leaves the view, the text is told by a diff. If a part of it is patched, nothing is known exactly: the text is told
// whole.
func TestAChangeWhoseMessageLeavesIsTold(t *testing.T) {
	for want, leave := range map[string]func(view []history.Viewed) []history.Viewed{
		"diff": func(view []history.Viewed) []history.Viewed { return append(view[:1], view[3:]...) }, // it leaves
		"base": func(view []history.Viewed) []history.Viewed {
			view[1].Patches = []history.Patch{{Text: "notice"}}
			return view
		},
	} {
		d := newReadDesk(t, "log")
		d.write("a.go", strings.Repeat("package a\n", 1000))
		d.choose("a.go")
		d.shows("a.go")
		d.edit("a.go", "package b")
		d.shows("a.go")
		replied(&d.State, d.stored, "go on")
		d.View = leave(slices.Clone(d.View))
		for range 2 {
			now, _, _ := d.shows("a.go")
			if want := want + " " + fit.Hash(d.content("a.go").Text); now[len(now)-1] != want {
				t.Errorf("the layout has %q, want %s", now, want)
			}
		}
	}
}

// While an editor has not saved the text of an edit, the file has its former text. Once it is saved it is told.
func TestAnEditThatIsNotSavedYet(t *testing.T) {
	d := newReadDesk(t, "log")
	d.write("a.go", strings.Repeat("package a\n", 1000))
	d.choose("a.go")
	first, _, _ := d.shows("a.go")
	before := d.content("a.go")
	d.write("a.go", strings.Replace(before.Text, "package a", "package b", 1))
	after := d.content("a.go")
	d.write("a.go", before.Text)
	d.edited("a.go", before, after, before.Hash)
	for _, text := range []string{before.Text, before.Text, after.Text, after.Text} {
		d.write("a.go", text)
		if now, _, _ := d.shows("a.go"); !slices.Equal(now, first) {
			t.Errorf("the layout has %q, want %q", now, first)
		}
		replied(&d.State, d.stored, "go on")
	}
}
