package commands

import (
	"errors"
	"strings"
	"testing"
	"unicode"
)

func TestParseFile(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want File
	}{
		"without front matter": {"# Review a change\n\nLook at it.\n", File{Command: Command{Description: "Review a change"}, prompt: "# Review a change\n\nLook at it."}},
		"with front matter": {
			"---\ndescription: \"Review: a change\"\nargument-hint: '[path]'\nmodel: other\n---\n\nReview $ARGUMENTS.\n",
			File{Command: Command{Description: "Review: a change", Hint: "[path]"}, prompt: "Review $ARGUMENTS."},
		},
		"with Windows lines":         {"---\r\ndescription: Fix\r\n---\r\nFix it.\r\n", File{Command: Command{Description: "Fix"}, prompt: "Fix it."}},
		"with arguments and no hint": {"Fix $ARGUMENTS", File{Command: Command{Description: "Fix $ARGUMENTS", Hint: "ARGUMENTS"}, prompt: "Fix $ARGUMENTS"}},
		"with keys only":             {"---\n---\nGo.", File{Command: Command{Description: "Go."}, prompt: "Go."}},
		"with a rule later":          {"Go.\n---\ndescription: no\n---\n", File{Command: Command{Description: "Go."}, prompt: "Go.\n---\ndescription: no\n---"}},
		"with characters of control": {"---\ndescription: a\x1b[31m\u202eb\n---\nGo.", File{Command: Command{Description: "a [31m b"}, prompt: "Go."}},
		"with a heading only":        {"#", File{Command: Command{Description: "The prompt of a file"}, prompt: "#"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.Name, tt.want.Path = "name", "name.md"
			if got, err := ParseFile("name", "name.md", tt.text); err != nil || got != tt.want {
				t.Errorf("got %+v, error %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestParseFileRefusesFilesWithoutAPrompt(t *testing.T) {
	for text, want := range map[string]error{
		"":                              errNoPrompt,
		" \n\t\n":                       errNoPrompt,
		"---\ndescription: x\n---\n \n": errNoPrompt,
		"---\ndescription: x\n":         errUnclosed,
		"---\n":                         errUnclosed,
		"---\n" + strings.Repeat("\n", maxFront+1) + "---\nGo.": errLongFront,
	} {
		if got, err := ParseFile("name", "name.md", text); !errors.Is(err, want) {
			t.Errorf("%.30q: got %+v, error %v, want %v", text, got, err, want)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct{ prompt, arguments, want string }{
		{"Review $ARGUMENTS, then $ARGUMENTS.", "a.go", "Review a.go, then a.go."},
		{"Review $ARGUMENTS.", "", "Review ."},
		{"Review $ARGUMENTS.", "$ARGUMENTS", "Review $ARGUMENTS."},
		{"Review.", "a.go", "Review.\n\na.go"},
		{"Review.", "", "Review."},
	} {
		if got, err := (File{prompt: tt.prompt}).Expand(tt.arguments); err != nil || got != tt.want {
			t.Errorf("%q with %q: got %q, error %v, want %q", tt.prompt, tt.arguments, got, err, tt.want)
		}
	}
}

func TestExpandIsBounded(t *testing.T) {
	f := File{prompt: strings.Repeat(Arguments, MaxFileBytes/len(Arguments))}
	if got, err := f.Expand(strings.Repeat("x", 1000)); err == nil {
		t.Errorf("expanded to %d bytes", len(got))
	}
	if _, err := f.Expand("x"); err != nil {
		t.Error(err)
	}
	if got, err := (File{prompt: "x"}).Expand(strings.Repeat("x", MaxExpansion)); err == nil {
		t.Errorf("expanded to %d bytes", len(got))
	}
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{"", "Go.", "---\ndescription: x\n---\nGo $ARGUMENTS.", "---\r\n---\r\n#", "---\nargument-hint: \"\n---\n\xff"} {
		f.Add(seed, "arguments")
	}
	f.Fuzz(func(t *testing.T, text, arguments string) {
		file, err := ParseFile("name", "name.md", text)
		if err != nil {
			return
		}
		for _, line := range []string{file.Description, file.Hint} {
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) && r != '…' }) || len([]rune(line)) > maxShown {
				t.Errorf("%q is shown", line)
			}
		}
		if file.Description == "" || strings.TrimSpace(file.prompt) == "" {
			t.Errorf("got %+v", file)
		}
		prompt, err := file.Expand(arguments)
		if err == nil && len(prompt) > MaxExpansion+2 || err == nil && !strings.Contains(prompt, strings.TrimSpace(arguments)) {
			t.Errorf("%d bytes of a prompt", len(prompt))
		}
	})
}
