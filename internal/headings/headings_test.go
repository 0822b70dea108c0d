package headings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown returns files as "path|text of the file|rest that belongs to it", with * for an open end.
func shown(text string, files []File) []string {
	var out []string
	for _, f := range files {
		s := f.Path + "|" + text[f.Body:f.Stop] + "|" + text[f.Stop:f.End]
		if f.Open {
			s += "*"
		}
		out = append(out, s)
	}
	return out
}

func TestP03HeadingsOfFiles(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"nothing here", nil},
		{"--- FULL CONTENT: a b.go ---\r\nx\n--- FULL CONTENT: c ---\ny", []string{"a b.go|x\n|*", "c|y|*"}},
		{"so: <file_content path=\"a\">x</file_content> and <file_content path=\"b\">y", []string{"a|x|</file_content>", "b|y|*"}},
		{"FULL CONTENT of file: a\n", []string{"a||*"}},
		{" FULL CONTENT of file: indented", nil},
		{"<file_content path=\"a\"><file_content path=\"b\"></file_content>", []string{"a|<file_content path=\"b\">|</file_content>"}},

		// without "of file", and with it in other words
		{"FULL CONTENT: a.go\nx", []string{"a.go|x|*"}},
		{"FULL CONTENT of a.go\nx", []string{"a.go|x|*"}},
		{"FULL CONTENT of: a.go\nx", []string{"a.go|x|*"}},
		{"FULL CONTENT of the file a.go:\nx", []string{"a.go|x|*"}},
		{"FULL CONTENTS OF FILE: a.go\nx", []string{"a.go|x|*"}},
		{"FULL CONTENT of file: file.go\nx", []string{"file.go|x|*"}},
		{"FULL CONTENT: of.go\nx", []string{"of.go|x|*"}},
		// symbols before and after
		{"📄 FULL CONTENT of file: a.go\nx", []string{"a.go|x|*"}},
		{"### FULL CONTENT: a.go\nx", []string{"a.go|x|*"}},
		{"✅️ FULL CONTENT: a.go\nx", []string{"a.go|x|*"}},
		{"=== FULL CONTENT: a.go ===\nx", []string{"a.go|x|*"}},
		{"**FULL CONTENT of file:** a.go\nx", []string{"a.go|x|*"}},
		{"**FULL CONTENT of file: a.go**\nx", []string{"a.go|x|*"}},
		{"- FULL CONTENT: a-\nx", []string{"a-|x|*"}},
		// backticks and quotes
		{"FULL CONTENT of file: `a b.go`\nx", []string{"a b.go|x|*"}},
		{"FULL CONTENT `Makefile` (12 lines):\nx", []string{"Makefile|x|*"}},
		{"--- FULL CONTENT: 'a.go' ---\nx", []string{"a.go|x|*"}},
		{"**FULL CONTENT of file:** `a.go`\nx", []string{"a.go|x|*"}},
		// any case
		{"Full content of file: src/a.go\nx", []string{"src/a.go|x|*"}},
		{"full content: `a`\nx", []string{"a|x|*"}},
		{"<FILE_CONTENT PATH='a.go'>x</File_Content>", []string{"a.go|x|</File_Content>"}},
		{"[READ_FILE for 'a.go'] RESULT:\nx", []string{"a.go|x|*"}},
		// a closing line
		{"FULL CONTENT: a.go\nx\nEND FULL CONTENT\nand words", []string{"a.go|x\n|END FULL CONTENT\n"}},
		{"FULL CONTENT: a.go\r\nx\r\n--- END FULL CONTENT: a.go ---\r\nand words", []string{"a.go|x\r\n|--- END FULL CONTENT: a.go ---\r\n"}},
		{"FULL CONTENT: a.go\nx\nend of full content", []string{"a.go|x\n|end of full content"}},
		{"FULL CONTENT: a.go\nx\nFULL CONTENT: b.go\ny\nEND FULL CONTENT\nwords", []string{"a.go|x\n|*", "b.go|y\n|END FULL CONTENT\n"}},
		{"END FULL CONTENT\nFULL CONTENT: a.go\nx", []string{"a.go|x|*"}},
		// another tag
		{"<final_file_content path=\"a.go\">\nx\n</final_file_content>\nwords", []string{"a.go|\nx\n|</final_file_content>"}},
		{"<final_file_content path=\"a.go\">x</file_content>y</final_file_content>", []string{"a.go|x</file_content>y|</final_file_content>"}},
		{"<file_content path=\"a.go\">\nFULL CONTENT: b.go\nEND FULL CONTENT\n</file_content>", []string{"a.go|\nFULL CONTENT: b.go\nEND FULL CONTENT\n|</file_content>"}},
		{"<file_content path=\"a.go\">x</file_content>FULL CONTENT: b.go\ny", []string{"a.go|x|</file_content>"}},
		{"<file_content path=\"a.go\" lines=\"1-5\">x</file_content>", nil},
		// results of tools
		{"[read_file for 'a b.go'] Result:\nx\n[list_files for '.'] Result:\ny", []string{"a b.go|x\n|*"}},
		{"[read_file for 'a.go'] Result:\r\nx\n[attempt_completion] Result:\ndone", []string{"a.go|x\n|*"}},
		{"[read_file for 'a.go'] Result: x", []string{"a.go|x|*"}},
		{"[fs.view for `a.go`] Result:\nx", []string{"a.go|x|*"}},
		{"[write_to_file for 'a.go'] Result:\nsaved <final_file_content path=\"a.go\">x</final_file_content>", []string{"a.go|x|</final_file_content>"}},
		{"[read_file for 'a.go'] Result:\nError reading file: not there", nil},
		{"[read_file for 'a.go'] Result:\nThe tool execution failed with the following error:\n<error>no</error>", nil},
		{"[read_file for 'a.go'] Result:\n[[NOTE] This file read has been removed]", nil},
		{"[search_files for 'a.go'] Result:\nx", nil},
		{"[thread for 'a.go'] Result:\nx", nil},

		// sentences
		{"Full content follows below.", nil},
		{"FULL CONTENT follows", nil},
		{"Full content: see below.\nx", nil},
		{"Full content of the report is below\nx", nil},
		{"Full content of `a.go` is too long, so skip it.\nx", nil},
		{"Full content: please show me all of it\nx", nil},
		{"the full content: a.go\nx", nil},
		{"1. FULL CONTENT: a.go\nx", nil},
		{"FULL CONTENTMENT: a.go\nx", nil},
		{"FULL CONTENT:\nx", nil},
		{"FULL CONTENT: ``\nx", nil},
		{"FULL CONTENT: --- \nx", nil},
	} {
		if diff := cmp.Diff(c.want, shown(c.text, Find(c.text))); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

// However many headings there are, long ones too, they are found in one pass.
func TestP03HostileHeadings(t *testing.T) {
	long := strings.Repeat("x", maxPath+1)
	for name, text := range map[string]string{
		"unclosed tags":       strings.Repeat(`<file_content path="a">`, 20_000),
		"headings":            strings.Repeat("FULL CONTENT: a\n", 20_000),
		"ends":                strings.Repeat("END FULL CONTENT\n", 20_000),
		"headings in a line":  "x" + strings.Repeat("-FULL CONTENT: a", 20_000),
		"headings after tags": strings.Repeat("<file_content path=\"a\"></file_content>--- FULL CONTENT: b\n", 5_000),
		"symbols":             strings.Repeat("-", 300_000) + " FULL CONTENT: a",
		"a long path":         "FULL CONTENT: " + long + "\n" + `<file_content path="` + long + `">` + "\n[read_file for '" + long + "'] Result:\n",
		"quotes":              "FULL CONTENT: " + strings.Repeat("`", 300_000),
		"brackets":            strings.Repeat("[read_file for '", 20_000),
	} {
		end := 0
		for _, f := range Find(text) {
			if f.Start < end || f.Body < f.Start || f.Stop < f.Body || f.End < f.Stop || f.End > len(text) || len(f.Path) > maxPath {
				t.Fatalf("%s: %+v after %d", name, f, end)
			}
			end = f.End
		}
	}
	if n := len(Find(strings.Repeat("FULL CONTENT: a\n", 20_000))); n != 20_000 {
		t.Errorf("%d headings", n)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("--- FULL CONTENT: a ---\nx\n<file_content path=\"b\">y</file_content>z")
	f.Add("[read_file for 'a'] Result:\nx\nEND FULL CONTENT\n<final_file_content path='b'>")
	f.Add("**Full content of the file:** `a` (1)\r\nx\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, file := range Find(text) {
			if file.Path == "" || file.Start < end || file.Body < file.Start || file.Stop < file.Body || file.End < file.Stop || file.End > len(text) {
				t.Fatalf("%+v in %q, after %d", file, text, end)
			}
			end = file.End
		}
	})
}

func ExampleFind() {
	text := "FULL CONTENT of file: `a.go`\npackage a\nEND FULL CONTENT\nWhat does it do?\n"
	for _, f := range Find(text) {
		fmt.Printf("%s: %q", f.Path, text[f.Body:f.Stop])
	}
	// Output: a.go: "package a\n"
}
