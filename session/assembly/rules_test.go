package assembly

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/content"
	"strata/session/reads"
	"strata/stability"
)

// withTools makes the requests of a desk have a tool, and rules files documents.
func (d *readDesk) withTools() {
	d.RulesFile = true
	d.Tools = []llm.Tool{{Name: "read_file", Description: "Read a file.", Schema: []byte(`{"type":"object"}`)}}
}

// rulesSent returns the headings of the documents with rules in the next request, sorted.
func (d *readDesk) rulesSent() (headings []string) {
	d.t.Helper()
	b, _, _ := asked(d.t, &d.State, d.stored)
	for _, e := range b.Request.Entries {
		if e.Kind != llm.EntrySystem && e.Kind != llm.EntryContext {
			continue
		}
		m := history.Message{Blocks: e.Blocks}
		for line := range strings.Lines(m.PlainText()) {
			if strings.HasPrefix(line, "# rules") {
				headings = append(headings, strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(headings)
	return headings
}

func (d *readDesk) wantRules(what string, want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.rulesSent()); diff != "" {
		d.t.Errorf("%s: %s", what, diff)
	}
}

// The rules files of folders with files of the session, or that tools read, are documents of requests with tools: AGENTS.md,
// or CLAUDE.md where there is none.
func TestRulesOfTouchedFolders(t *testing.T) {
	d := newReadDesk(t, "log")
	for name, text := range map[string]string{
		"CLAUDE.md": "root", "a/AGENTS.md": "of a", "a/CLAUDE.md": "not this", "a/b/CLAUDE.md": "of b", "a/b/c.go": "package b\n",
		"x/AGENTS.md": "of x", "x/x.go": "package x\n", "untouched/AGENTS.md": "of another", "a/b/deeper/AGENTS.md": "of a folder below",
	} {
		d.write(name, text)
	}
	d.RulesFile = true
	d.Files = []filecontext.Entry{unsaved("x/x.go", "package x\n")}
	d.read("a/b/c.go")
	d.wantRules("without tools", "# rules")
	d.withTools()
	all := []string{"# rules", "# rules:a (a/AGENTS.md)", "# rules:a/b (a/b/CLAUDE.md)", "# rules:x (x/AGENTS.md)"}
	d.wantRules("with tools", all...)

	d.Documents = []history.Document{{Name: "rules:a", Text: "the client's"}, {Name: "rules:x"}}
	d.wantRules("with documents of the client", "# rules", "# rules:a", "# rules:a/b (a/b/CLAUDE.md)")
	d.Documents, d.RulesFile = nil, false
	d.wantRules("turned off")
	d.RulesFile = true
	d.wantRules("turned on again", all...)

	if err := os.Remove(filepath.Join(d.folder, "a", "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	d.wantRules("without AGENTS.md", "# rules", "# rules:a (a/CLAUDE.md)", "# rules:a/b (a/b/CLAUDE.md)", "# rules:x (x/AGENTS.md)")
}

// Rules that were sent stay when the file that has brought them leaves, also after a restart; a file brings them behind what
// was sent.
func TestRulesOfFoldersDoNotComeAndGo(t *testing.T) {
	for _, layout := range []string{"log", "ripple"} {
		d := newReadDesk(t, layout)
		d.withTools()
		for name, text := range map[string]string{"AGENTS.md": words(3000), "a/AGENTS.md": words(40), "a/a.go": "package a\n", "first/AGENTS.md": words(40), "first/b.go": "package b\n"} {
			d.write(name, text)
		}
		d.Files = []filecontext.Entry{unsaved("first/b.go", "package b\n")}
		d.wantRules(layout, "# rules", "# rules:first (first/AGENTS.md)")
		before, _ := d.texts()
		d.read("a/a.go")
		after, stored := d.texts()
		kept := before
		if layout == "ripple" {
			kept = before[:1] // what is new stands before the messages that are in no cache
		}
		if !slices.Equal(kept, after[:min(len(kept), len(after))]) {
			t.Errorf("%s: what was sent has changed:\n%q\n%q", layout, before, after)
		}
		if !strings.Contains(strings.Join(after[len(kept):], "\n"), "# rules:a (a/AGENTS.md)") {
			t.Errorf("%s: %q", layout, after)
		}
		if layout == "log" && !strings.HasPrefix(after[len(after)-1], "# rules:a ") {
			t.Errorf("the rules do not follow the result of the tool: %q", after)
		}
		d.Files, d.View = nil, d.View[:1]
		d.wantRules(layout+": left", "# rules", "# rules:a (a/AGENTS.md)", "# rules:first (first/AGENTS.md)")
		var err error
		if d.Layout, err = NewLayout(stability.Options{Layout: layout}, stored, func(string) *stability.Mirror { return d.Mirrors.Of("x", d.Now()) }); err != nil {
			t.Fatal(err)
		}
		d.Reads, d.Pictures = new(reads.Reads), new(content.Gallery)
		d.wantRules(layout+": restarted", "# rules", "# rules:a (a/AGENTS.md)", "# rules:first (first/AGENTS.md)")
	}
}

// What may not be read is omitted, with the reason, and there are never too many rules; those that were sent stay.
func TestTheRulesOfFoldersAreBounded(t *testing.T) {
	d := newReadDesk(t, "log")
	d.withTools()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.write("out/a.go", "package out\n")
	if err := os.Symlink(secret, filepath.Join(d.folder, "out", "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	d.write("large/AGENTS.md", words(300_000))
	d.write("binary/AGENTS.md", "\x00\x01")
	d.Files = []filecontext.Entry{unsaved("out/a.go", ""), unsaved("large/a.go", ""), unsaved("binary/a.go", "")}
	b, err := d.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var omitted []string
	for _, o := range b.Omitted {
		omitted = append(omitted, o.Key+" "+o.Reason)
	}
	slices.Sort(omitted)
	if diff := cmp.Diff([]string{"doc:rules:binary binary", "doc:rules:large too_large", "doc:rules:out outside"}, omitted); diff != "" {
		t.Error(diff)
	}

	d.Files = nil
	for i := range maxFolderRules + 5 {
		name := fmt.Sprintf("z%02d", i)
		d.write(name+"/AGENTS.md", "short")
		d.Files = append(d.Files, unsaved(name+"/a.go", ""))
	}
	first := d.rulesSent()
	if len(first) != maxFolderRules {
		t.Errorf("%d documents", len(first))
	}
	d.write("a/AGENTS.md", "of a file that sorts before the others")
	d.Files = append([]filecontext.Entry{unsaved("a/a.go", "")}, d.Files...)
	d.wantRules("one more", first...)

	if folders := touchedFolders(d.Roots, []stability.Entry{{Key: "doc:rules:sent"}}, nil, []string{strings.Repeat("deep/", 3*maxTouched) + "a"}); len(folders) != maxTouched || folders[0] != "sent" {
		t.Errorf("%d folders, from %q", len(folders), folders[0])
	}
}

// A name that is no text of one line is quoted, and found again.
func TestNamesOfRules(t *testing.T) {
	for _, folder := range []string{"a", "a/b", "/other/root", "two\nlines", "ü", `"`} {
		name := rulesName(folder)
		if back, ok := folderOfRules("doc:" + name); !ok || back != folder || strings.Contains(name, "\n") {
			t.Errorf("%q is named %q, and found as %q", folder, name, back)
		}
	}
	if _, ok := folderOfRules("doc:rules"); ok {
		t.Error("the rules of the session's folder are taken for those of another")
	}
	if got := inFolder("file:", "AGENTS.md"); got != "./file:/AGENTS.md" {
		t.Errorf("%q", got)
	}
}
