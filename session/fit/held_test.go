package fit

import "testing"

func TestP02ACopyIsTheWholeFile(t *testing.T) {
	const file = "package a\n\nfunc f() {\n}\n"
	for _, tt := range []struct {
		name, shown string
		open        bool
		want        bool
	}{
		{"the same", file, false, true},
		{"between tags", "\n" + file, false, true},
		{"without the last line end", "package a\n\nfunc f() {\n}", false, true},
		{"with CRLF", "package a\r\n\r\nfunc f() {\r\n}\r\n", false, true},
		{"with words after an open end", file + "\nWhat does it do?", true, true},
		{"with words after it", file + "\nWhat does it do?", false, false},
		{"in a fence", "```go\n" + file + "```\n", false, true},
		{"in a fence with words", "```go\n" + file + "```\nWhat does it do?", true, true},
		{"with numbers", "1\tpackage a\n2\t\n3\tfunc f() {\n4\t}\n", false, true},
		{"with aligned numbers", "     1→package a\n     2→\n     3→func f() {\n     4→}", false, true},
		{"with numbers and bars", "1 | package a\n2 |\n3 | func f() {\n4 | }\n", false, true},
		{"with numbers in a fence", "```\n1: package a\n2:\n3: func f() {\n4: }\n```", true, true},
		{"with numbers and words", "1\tpackage a\n2\t\n3\tfunc f() {\n4\t}\nWhat?", true, true},
		{"some lines with numbers", "3\tfunc f() {\n4\t}\n", false, false},
		{"the first lines with numbers", "1\tpackage a\n2\t\n", true, false},
		{"numbers without a mark", "1package a\n2\n3func f() {\n4}\n", false, false},
		{"its beginning", "package a\n\nfunc f() {\n", true, false},
		{"its beginning and a line that goes on", "package a\n\nfunc f() {\n}x\n", true, false},
		{"another", "package b\n", false, false},
		{"nothing", "", true, false},
	} {
		if got := (Copy{tt.shown, tt.open}).Is(file); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for shown, want := range map[string]bool{"": true, "\n": true, "words": false, "1\t": false, "\nwords": false} {
		if got := (Copy{shown, true}).Is(""); got != want {
			t.Errorf("%q is an empty file: %v, want %v", shown, got, want)
		}
	}
	if !(Copy{"1: a\n2: b\n", false}).Is("1: a\n2: b\n") {
		t.Error("a file whose lines are numbered is not itself")
	}
}
